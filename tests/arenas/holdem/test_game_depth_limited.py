"""Depth-limited solving of hold'em games: against whole games and trees on small decks."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_depth_limited import (
    ContinuationChoice,
    ContinuationValues,
    CutSubgames,
    bias_holdem_policy,
    solve_nested,
    solve_to_street,
)
from counterplay.arenas.holdem.game_subgames import CFRPlusTables, StreetSubgames, cfr_plus_tables
from counterplay.arenas.public_states import public_states
from counterplay.arenas.subgame import build_subgame
from counterplay.kernels.holdem import street_walk
from counterplay.search.depth_limited import continuation_leaves
from tests.arenas.holdem.test_game_arena import GAMES, LEDUC, table_indices


@cache
def solve_game(spec, iterations=100, isomorphism=True):
    arena = HoldemGameArena(cp.load_game(spec), "float64", isomorphism)
    return arena, cp.solve(arena, cp.algorithms.CFRPlus(), iterations=iterations).policy


class WholeGame:
    """Leaves below which the rest of the game is walked, and learned."""

    def __init__(self, blueprint, street):
        self.street, self.subgames = street, StreetSubgames(blueprint, street)

    def walk(self, player, tables, mode, own, other):
        return self.subgames.walk(player, tables, mode, own, other)


def tree_policy(tree, policy):
    """The policy of an arena without isomorphism, on the tree of its game."""
    indices, flat = table_indices(policy.arena), []
    for infoset, key in enumerate(tree.infoset_keys):
        weights = policy.weights[indices[int(tree.infoset_player[infoset]), key]]
        total = weights.sum()
        flat.append(weights / total if total > 0.0 else np.ones(weights.size) / weights.size)
    return cp.Policy(tree, np.concatenate(flat))


@pytest.mark.parametrize(
    ("name", "cut"),
    [("leduc", 1), ("one card, three streets", 1), ("one card, three streets", 2)],
)
def test_with_the_game_itself_at_leaves_the_solution_is_the_games(name, cut):
    """CFR+ above a cut and below it makes the regrets and averages of CFR+ on the whole game."""
    arena, blueprint = solve_game(GAMES[name], 2)
    cut_game = CutSubgames(blueprint, 0, WholeGame(blueprint, cut))
    size = arena.num_sequences
    parts, whole = np.zeros((2, size)), np.zeros((2, size))
    fallback, ones = np.zeros(0), np.ones((1, arena.num_hands(0)))
    for t in range(1, 8):
        for player in (0, 1):
            split = cfr_plus_tables(parts[0], parts[1:], fallback, float(t))
            tables = cfr_plus_tables(whole[0], whole[1:], fallback, float(t))
            values = cut_game.walk(player, split, street_walk.MODE_LEARN, ones, ones)
            expected = arena.walk(player, tables, street_walk.MODE_LEARN)
            np.testing.assert_allclose(values[0], expected, atol=1e-12)
    np.testing.assert_allclose(parts, whole, atol=1e-10)
    assert np.abs(whole).max() > 1.0


def test_leaf_values_equal_walks_for_any_range():
    arena, blueprint = solve_game(GAMES["one card, three streets"], 20)
    values = ContinuationValues(blueprint, 1, 1, [blueprint])
    leaves, subgames = ContinuationChoice(values), StreetSubgames(blueprint, 1)
    tables = arena.policy_tables(blueprint)
    for player in (0, 1):
        own, other = subgames.ranges[player], subgames.ranges[1 - player]
        expected = subgames.walk(player, tables, street_walk.MODE_MEAN, own, other)
        actual = leaves.walk(player, tables, street_walk.MODE_MEAN, own, other)
        np.testing.assert_allclose(actual, expected, atol=1e-12)
        assert np.abs(expected).max() > 0.1


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("num_continuations", [1, 4])
def test_value_of_the_cut_game_equals_the_trees(player, num_continuations):
    """The same leaves on the tree of Leduc poker, solved by linear programming."""
    arena, blueprint = solve_game(LEDUC, 10, isomorphism=False)
    continuations = bias_holdem_policy(blueprint)[:num_continuations]
    tree = cp.build_tree(arena.game)
    leaves = continuation_leaves(
        tree,
        tree_policy(tree, blueprint),
        1 - player,
        public_states(tree).after_chance(),
        [tree_policy(tree, policy) for policy in continuations],
    )
    game = build_subgame(
        tree, tree_policy(tree, blueprint), 0, player, "unsafe", leaves=leaves
    ).tree
    exact = cp.solve(game, cp.algorithms.SequenceFormLP(), iterations=1).policy
    expected = cp.expected_values(game, exact)[player]

    choice = ContinuationChoice(ContinuationValues(blueprint, 1, 1 - player, continuations))
    subgames = CutSubgames(blueprint, 0, choice)
    tables = CFRPlusTables(subgames, 2000, np.zeros(0))
    tables.regret = np.zeros(arena.num_sequences)
    tables.policy_sum = np.zeros((1, arena.num_sequences))
    ones, total, mass = np.ones((1, arena.num_hands(0))), 0.0, 0.0
    for t in range(1, 601):
        for walker in (0, 1):
            values = tables.update(walker, t, ones, ones)
            if walker == player:
                total, mass = total + t * values.sum(), mass + t
    assert total / mass == pytest.approx(expected, abs=2e-3)


def test_more_continuations_make_a_cut_game_safer():
    """With the blueprint alone at leaves the opponent cannot adapt there, and does so in play."""
    arena, blueprint = solve_game(LEDUC, 30)
    before = cp.exploitability(arena, blueprint)
    alone = solve_to_street(blueprint, 1, iterations=200, continuations=[blueprint])
    several = solve_to_street(blueprint, 1, iterations=200)
    first, second = cp.exploitability(arena, alone), cp.exploitability(arena, several)
    assert second < first
    again = solve_nested(blueprint, iterations=200)
    assert cp.exploitability(arena, again) < first
    assert before > 0.0


def test_nested_solving_keeps_a_good_blueprint():
    arena, blueprint = solve_game(GAMES["one card, three streets"], 2000)
    before = cp.exploitability(arena, blueprint)
    after = cp.exploitability(arena, solve_nested(blueprint, iterations=400))
    assert after < before + 0.02


def test_biased_policies():
    arena, blueprint = solve_game(LEDUC, 10)
    policies = bias_holdem_policy(blueprint, 3.0)
    assert len(policies) == 4 and policies[0] is blueprint
    node = next(n for n, one in enumerate(arena.betting.nodes) if one.kind < 2)
    actions = arena.betting.nodes[node].actions
    row = blueprint.probabilities_at(node, 0)
    scale = np.array([1.0 if action in ("call", "check") else 3.0 for action in actions])
    assert "fold" not in actions
    expected = row * scale[:, None]
    raised = policies[3].probabilities_at(node, 0)
    np.testing.assert_allclose(raised, expected / expected.sum(axis=0))


@pytest.mark.parametrize(
    ("cut", "options", "message"),
    [
        (0, {}, "cannot be cut|street is 0"),
        (2, {}, "street is 2"),
        (1, {"street": 1}, "cannot be cut at street 1"),
        (1, {"method": "magic"}, "method is 'magic'"),
        (1, {"iterations": 0}, "iterations is 0"),
        (1, {"continuations": []}, "continuations is empty"),
    ],
)
def test_wrong_arguments_are_refused(cut, options, message):
    with pytest.raises(cp.ConfigError, match=message):
        solve_to_street(solve_game(LEDUC, 10)[1], cut, **options)


def test_policies_of_spots_are_refused():
    class Spot:
        arena = None

    with pytest.raises(cp.ConfigError, match="policy of a spot"):
        solve_to_street(Spot(), 1)
