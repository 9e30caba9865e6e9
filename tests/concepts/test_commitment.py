"""Strong Stackelberg equilibria of trees against the normal form."""

from __future__ import annotations

import pytest
from pytest import approx

import counterplay as cp
from tests.random_games import RandomGame


@pytest.mark.parametrize("leader", [0, 1])
def test_equal_to_the_normal_form(leader):
    compared = 0
    for seed in range(25):
        tree = cp.build_tree(RandomGame(seed, 2, 4, zero_sum=False))
        if tree.num_infosets < 3 or max(cp.matrix.count_pure_policies(tree)) > 100:
            continue
        form = cp.matrix.pure_policies(tree).normal_form
        expected = cp.matrix.stackelberg_equilibrium(form, leader)
        solution = cp.concepts.optimal_commitment(tree, leader)
        assert solution.values[leader] == approx(expected.values[leader], abs=1e-6), seed
        compared += 1
    assert compared > 5


def test_zero_sum_commitment_is_worth_the_value(kuhn):
    for leader in range(2):
        solution = cp.concepts.optimal_commitment(kuhn, leader)
        assert solution.values == approx([-1 / 18, 1 / 18], abs=1e-7)
        worst = cp.best_response(kuhn, solution.policy, 1 - leader).value
        assert worst == approx(solution.values[1 - leader], abs=1e-7)


def test_commitment_is_worth_more_than_any_equilibrium():
    tree = cp.build_tree("battle_of_the_sexes")
    solution = cp.concepts.optimal_commitment(tree, 0)
    form = cp.matrix.normal_form_from_game(tree.game)
    best = max(e.values[0] for e in cp.matrix.nash_equilibria(form).equilibria)
    assert solution.values[0] == approx(best)


def test_other_games_are_refused(kuhn):
    with pytest.raises(cp.ConfigError, match="has 3 players"):
        cp.concepts.optimal_commitment("kuhn_poker(players=3)")
    with pytest.raises(cp.ConfigError, match="leader is 7"):
        cp.concepts.optimal_commitment(kuhn, 7)
    with pytest.raises(cp.ConfigError, match="for small trees"):
        cp.concepts.optimal_commitment("leduc_poker")
