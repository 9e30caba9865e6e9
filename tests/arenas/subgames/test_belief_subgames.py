"""Classes and layouts of public states for searches with public beliefs."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.arenas.belief_subgames import belief_game
from counterplay.arenas.public_states import own_reach, public_states, public_values
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError
from counterplay.search.belief_solver import BeliefSolver
from tests.conftest import game_tree

RNG = np.random.default_rng(0)
DICE = "liars_dice(dice_sides=3)"


def random_policy(tree):
    weights = RNG.random(tree.num_sequences)
    totals = np.add.reduceat(weights, tree.offset[:-1])
    return Policy(tree, weights / np.repeat(totals, tree.num_actions))


def test_public_states_with_the_same_last_bid_form_one_class():
    tree = game_tree(DICE)
    game = belief_game(tree)
    keys = [game.states.describe(k, 1).removesuffix(" ...").split(" ") for k in range(64)]
    keys = [[word for word in key[1:] if "-" in word] for key in keys]
    by_last_bid: dict[str, set[int]] = {}
    for state, bids in enumerate(keys):
        by_last_bid.setdefault(bids[-1] if bids else "", set()).add(int(game.state_class[state]))
    assert all(len(classes) == 1 for classes in by_last_bid.values())
    assert game.num_classes == len(by_last_bid) == 7


def test_classes_of_leduc_differ_by_pot_and_card():
    game = belief_game(game_tree("leduc_poker"))
    assert game.num_classes < len(game.states)
    sizes = game.states.end - np.arange(len(game.states))
    for kind in range(game.num_classes):
        members = np.flatnonzero(game.state_class == kind)
        assert np.unique(sizes[members]).size == 1


@pytest.mark.parametrize("spec", ["kuhn_poker", "leduc_poker", DICE])
def test_one_iteration_has_the_values_of_the_uniform_policy(spec):
    tree = game_tree(spec)
    game, uniform = belief_game(tree), cp.uniform_policy(tree)
    solver = BeliefSolver(game, None)
    values, states = public_values(tree, uniform), public_states(tree)
    for kind, state in enumerate(game.class_state.tolist()):
        ranges = (np.arange(game.max_views) < game.views[kind][:, None]).astype(float)
        rng = np.random.default_rng(0)
        solution = solver.solve(np.array([kind]), ranges[None], None, 1, rng)
        reach = own_reach(states, uniform.probabilities)[states.entry_rows(state)]
        chance = states.chance_reach[states.entry_rows(state)]
        for seat in range(2):
            player = int(game.first_player[state]) ^ seat
            view = states.view[states.entry_rows(state), player]
            expected = values.counterfactual_values(player)[np.unique(view)]
            mass = np.bincount(np.unique(view, return_inverse=True)[1], chance)
            # under uniform play all hands of the opponent get here with the same probability
            expected = expected / mass / reach[0, 1 - player]
            assert solution.values[0, seat, : expected.size] == approx(expected, abs=1e-12)


@pytest.mark.parametrize("spec", ["kuhn_poker", "leduc_poker", DICE])
def test_solver_to_the_end_solves_the_game(spec):
    tree = game_tree(spec)
    solver = BeliefSolver(belief_game(tree), None)
    game = solver.game
    ranges = (np.arange(game.max_views) < game.views[0][:, None]).astype(float)
    rng = np.random.default_rng(0)
    solution = solver.solve(np.zeros(1, np.int64), ranges[None], None, 500, rng)
    sequence, leaves = solver.state_sequences(0)
    assert not leaves.size
    probabilities = np.zeros(tree.num_sequences)
    inside = sequence >= 0
    probabilities[sequence[inside]] = solution.average[0, : sequence.size][inside]
    assert cp.exploitability(tree, Policy(tree, probabilities)) < 5e-3
    # a game solved to its end is played by the average, not by a drawn iteration
    assert (solution.drawn[0] == solution.average[0]).all()


def test_exact_values_at_leaves_solve_the_game_through_every_cut():
    tree = game_tree(DICE)
    game = belief_game(tree)
    to_end = BeliefSolver(game, None)
    rng = np.random.default_rng(1)

    def exact(classes):
        def values(inputs):
            ranges = inputs.reshape(len(inputs), 2, -1).astype(float)
            solution = to_end.solve(classes, ranges, None, 60, rng)
            return solution.values.reshape(len(inputs), -1).astype(np.float32)

        return values

    for depth in (2, 3):
        cut = BeliefSolver(game, depth)
        root = (np.arange(game.max_views) < game.views[0][:, None]).astype(float)
        solution = cut.solve(np.zeros(1, np.int64), root[None], exact, 60, rng)
        assert solution.values[0, 0, 0] == approx(1 / 9, abs=0.02)


def test_games_without_two_players_are_refused():
    tree = cp.build_tree("kuhn_poker(players=3)")
    with pytest.raises(ConfigError, match="two-player zero-sum"):
        belief_game(tree)
