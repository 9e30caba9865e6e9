"""Liar's dice as a generated arena equals its tree and OpenSpiel's game."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from tests.arenas.factored.test_phantom import on_tree, place_in

SIZES = [(1, 2), (1, 3), (1, 4), (2, 2)]


@pytest.fixture(scope="module")
def pairs():
    made = {}

    def pair(dice, sides):
        if (dice, sides) not in made:
            game = cp.load_game("liars_dice", numdice=dice, dice_sides=sides)
            arena, tree = cp.build_arena(game, "generated"), cp.build_tree(game)
            made[dice, sides] = arena, tree, place_in(tree, arena)
        return made[dice, sides]

    return pair


@pytest.mark.parametrize(("dice", "sides"), SIZES)
def test_gradient_and_judgement(pairs, dice, sides):
    arena, tree, place = pairs(dice, sides)
    assert sorted(place) == list(range(tree.num_sequences))
    reach = np.random.default_rng(1).uniform(size=arena.num_sequences + 1)
    there = np.append(reach[np.argsort(place)], reach[-1])
    for player in range(2):
        ours, theirs = np.full_like(reach, 7.0), np.full_like(reach, 7.0)
        arena.gradient(player, reach, ours)
        tree.gradient(player, there, theirs)
        own = np.repeat(arena.infoset_player == player, arena.num_actions)
        assert ours[:-1][own] == approx(theirs[place][own], abs=1e-12)
        assert (ours[:-1][~own] == 7.0).all()
    policy = cp.random_policy(arena, seed=2)
    ours, theirs = cp.judge(arena, policy), cp.judge(tree, on_tree(tree, place, policy))
    assert ours.values == approx(theirs.values, abs=1e-12)
    assert ours.best_values == approx(theirs.best_values, abs=1e-12)


def test_parents_are_those_of_the_tree(pairs):
    arena, tree, place = pairs(2, 2)
    where = np.append(place, tree.num_sequences)
    first = arena.form.offset[:-1]
    infoset = np.searchsorted(tree.offset, place[first], side="right") - 1
    assert (where[arena.form.parent] == tree.form.parent[infoset]).all()
    assert (arena.form.parent[1:] < arena.form.offset[1:-1]).sum() > 0


@pytest.mark.parametrize("spec", ["cfr", "pcfr_plus", "xfp"])
def test_algorithms_go_the_same_way(pairs, spec):
    arena, tree, place = pairs(2, 2)
    algorithm = cp.load_algorithm(spec)
    one, other = algorithm.init(arena), algorithm.init(tree)
    for _ in range(5):
        one, other = algorithm.step(arena, one), algorithm.step(tree, other)
        ours, theirs = algorithm.policies(arena, one), algorithm.policies(tree, other)
        for name in ours:
            assert ours[name].probabilities == approx(theirs[name].probabilities[place], abs=1e-9)


def test_levels_and_threads(pairs, monkeypatch):
    arena, _, _ = pairs(2, 2)
    one = cp.solve(arena, cp.algorithms.PCFRPlus(), iterations=5)
    monkeypatch.setattr("counterplay.arenas.factored.base.MIN_LEVEL_INFOSETS_FOR_THREADS", 2)
    monkeypatch.setattr("counterplay.kernels.runtime.threads._num_threads", 3)
    seen, cuts = 0, 0
    for player in range(2):
        for parts in arena.levels(player, 3):
            owners = [set(arena.form.parent[first:last].tolist()) for first, last in parts]
            if parts[0][0] not in (0, arena.form.player_infoset[1]):
                assert sum(map(len, owners)) == len(set.union(*owners)) or len(parts) == 1
            cuts += len(parts) - 1
            for first, last in parts:
                assert first == seen
                seen = last
    assert seen == arena.num_infosets and cuts > 0
    three = cp.solve(arena, cp.algorithms.PCFRPlus(), iterations=5)
    assert (one.policy.probabilities == three.policy.probabilities).all()


def test_infoset_keys_are_those_of_the_tree(pairs):
    arena, _, _ = pairs(2, 2)
    numbers = range(arena.num_infosets)
    assert [
        arena.find_infoset(arena.infoset_key(i), int(arena.infoset_player[i])) for i in numbers
    ] == [*numbers]
    for key, player in (("3,3", 0), ("1,1 9-9", 1), ("", 0), ("1,1 1-2 1-1", 0), ("1,1", 1)):
        with pytest.raises(cp.ConfigError, match="has no infoset"):
            arena.find_infoset(key, player)


@pytest.mark.parametrize(
    ("dice", "sides", "exploitability"), [(1, 3, 0.555555555556), (2, 2, 0.8203125)]
)
def test_uniform_play_as_openspiel_has_it(pairs, dice, sides, exploitability):
    arena, _, _ = pairs(dice, sides)
    found = cp.exploitability(arena, cp.uniform_policy(arena))
    assert found == approx(exploitability, abs=1e-9)


def test_too_many_dice_are_refused_at_once():
    for dice, sides in ((2, 6), (5, 6), (100, 100)):
        with pytest.raises(cp.RunError, match="infosets: its arena and an algorithm take at least"):
            cp.build_arena(cp.load_game("liars_dice", numdice=dice, dice_sides=sides), "generated")
