"""Constant-sum games: solved as zero-sum ones, with values in the game's units."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.core.constant_sum import constant_of, describe_shift, estimate_constant
from counterplay.core.game import TERMINAL
from tests.algorithms import contract
from tests.changed_games import Changed
from tests.random_games import RandomGame

KUHN_VALUE = -1 / 18


def kuhn_plus(constant, second=None):
    other = constant if second is None else second
    return Changed(cp.games.KuhnPoker(), (1.0, 1.0), (constant, other))


def test_constant_is_the_mean_utility_of_constant_sums():
    assert constant_of(np.array([[1.0, -1.0], [0.0, 0.0]])) == 0.0
    assert constant_of(np.array([[11.0, 9.0], [8.0, 12.0]])) == 10.0
    assert constant_of(np.array([[11.0, 9.0], [8.0, 12.1]])) == 0.0
    assert constant_of(np.array([[5.0], [5.0]])) == 0.0  # one player
    assert constant_of(np.array([[1.1, -0.9], [-1.9, 2.1]])) == approx(0.1)
    assert constant_of(np.array([[4.0, 1.0, 1.0], [2.0, 2.0, 2.0]])) == 2.0


def test_shifted_tree_has_the_bits_of_the_tree_without_the_constant():
    for game in (RandomGame(seed=3, num_players=2), cp.load_game("kuhn_poker(players=3)")):
        constants = (4.0,) * game.num_players
        tree = cp.build_tree(Changed(game, (1.0,) * game.num_players, constants))
        expected = cp.build_tree(Changed(game, (1.0,) * game.num_players))
        assert tree.utility_shift == 4.0 and not tree.is_zero_sum and tree.is_constant_sum
        shifted = tree.zero_sum_arena
        assert shifted.is_zero_sum and shifted.zero_sum_arena is shifted
        assert (tree.utility == expected.utility + 4.0).all()
        if np.array_equal(tree.utility - 4.0, expected.utility):
            assert shifted.utility.tolist() == expected.utility.tolist()
            for array, same in zip(shifted.form, expected.form, strict=True):
                assert array.dtype == same.dtype and array.tolist() == same.tolist()


def test_shift_with_imperfect_recall():
    game = cp.load_game("goofspiel(num_cards=4,points_order=descending,forgetful=true)")
    tree, expected = (
        cp.build_tree(Changed(game, (1.0, 1.0), (constant,) * 2)) for constant in (2.0, 0.0)
    )
    for array, same in zip(tree.zero_sum_arena.form, expected.form, strict=True):
        assert array.tolist() == same.tolist()


def test_general_sum_games_are_not_shifted():
    tree = cp.build_tree("battle_of_the_sexes")
    assert tree.utility_shift == 0.0 and tree.zero_sum_arena is tree
    assert not tree.is_constant_sum
    rules = cp.RulesArena(tree.game)
    assert rules.utility_shift == 0.0 and rules.zero_sum_arena is rules


def test_values_are_in_the_units_of_the_game():
    tree = cp.build_tree(kuhn_plus(10.0))
    result = cp.solve(tree, "cfr_plus", iterations=2000)
    assert cp.expected_values(result.policy) == approx([10 + KUHN_VALUE, 10 - KUHN_VALUE], abs=1e-3)
    assert result.exploitability < 1e-3
    equilibrium = cp.algorithms.solve_sequence_form_lp(tree)
    assert equilibrium.value == approx(10 + KUHN_VALUE)
    assert cp.concepts.exact_equilibrium(tree).value == approx(10 + KUHN_VALUE)
    joint = cp.solve(tree, "jpsro", iterations=20)
    assert joint.exploitability < 1e-6
    assert cp.judge(tree, joint.policy).values == approx([10 + KUHN_VALUE, 10 - KUHN_VALUE])


def test_constants_that_differ_between_players_are_accepted():
    tree = cp.build_tree(kuhn_plus(10.0, -4.0))
    assert tree.utility_shift == 3.0
    for name, count in (("sequence_form_lp", 1), ("double_oracle", 20), ("tabular_r_nad", 100)):
        policy = cp.solve(tree, name, iterations=count).policy
        assert cp.exploitability(tree, policy) < 0.2
        assert cp.expected_values(tree, policy)[0] == approx(10 + KUHN_VALUE, abs=0.2)


def test_policies_on_rules_belong_to_the_game():
    game = kuhn_plus(10.0)
    arena = cp.RulesArena(game)
    assert arena.utility_shift == 10.0
    policy = cp.solve(arena, "outcome_sampling", iterations=1000).policy
    expected = cp.solve(cp.RulesArena(kuhn_plus(0.0)), "outcome_sampling", iterations=1000).policy
    assert dict(policy.rows) == dict(expected.rows)
    assert policy.game is game
    assert cp.expected_values(policy).sum() == approx(20.0)


def test_searching_agents_accept_constants():
    tree = cp.build_tree(kuhn_plus(10.0))
    blueprint = cp.solve(tree, "cfr_plus", iterations=100).policy
    agent = cp.search.Resolving(iterations=50).make_agent(tree, blueprint)
    plain = cp.build_tree(kuhn_plus(0.0))
    other = cp.search.Resolving(iterations=50).make_agent(
        plain, cp.Policy(plain, blueprint.probabilities)
    )
    state = tree.game.initial_state()
    for _ in range(2):
        state = tree.game.next_state(state, tree.game.chance_outcomes(state)[0][0])
    answer = agent.action_probabilities(state, 0)
    assert answer == approx(other.action_probabilities(state, 0), abs=1e-6)
    board = Changed(cp.load_game("tic_tac_toe"), (1.0, 1.0), (3.0, 3.0))
    states = board.initial_state()
    for action in (0, 4, 1, 2):
        states = board.next_state(states, action)
    result = cp.search.AlphaBeta().search(board, states)
    plain_value = cp.search.AlphaBeta().search(cp.load_game("tic_tac_toe"), states).value
    assert result.value == approx(3.0 + plain_value)


def test_broken_rules_have_no_constant():
    class Broken(contract.OneDecision):
        def utilities(self, state):
            raise ZeroDivisionError

    class Odd(contract.OneDecision):
        def player(self, state):
            return TERMINAL

        def utilities(self, state):
            return (float("nan"), 1.0)

    assert estimate_constant(Broken(num_players=2)) == 0.0
    assert estimate_constant(Odd(num_players=2)) == 0.0


def test_shift_is_stated():
    tree = cp.build_tree(kuhn_plus(10.0))
    assert "add up to 20): 10 per player is subtracted" in describe_shift(tree)
    assert describe_shift(cp.build_tree("kuhn_poker")) == ""


@pytest.mark.parametrize("name", ["anytime_psro", "p2sro", "rectified_psro", "sp_psro"])
def test_population_methods_end_where_they_do_without_the_constant(name):
    tree, plain = cp.build_tree(kuhn_plus(10.0)), cp.build_tree(kuhn_plus(0.0))
    with_constant = cp.solve(tree, name, iterations=5)
    without = cp.solve(plain, name, iterations=5)
    assert with_constant.exploitability == approx(without.exploitability, abs=1e-12)
