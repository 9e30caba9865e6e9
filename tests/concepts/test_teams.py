"""Team equilibria: all joint plans enumerated on small games, three-player Kuhn poker."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.core.policy import policy_from_weights
from counterplay.matrix.policy_enumeration import list_pure_plans
from tests.random_games import RandomGame


def enumerate_value(tree, teams):
    """The value of the matrix game of all joint plans."""
    policies = []
    for team in teams:
        plans = [list_pure_plans(tree, player, 2_000) for player in team]
        policies.append([sum(parts) for parts in product(*plans)])
    matrix = np.zeros((len(policies[0]), len(policies[1])))
    for i, first in enumerate(policies[0]):
        for j, second in enumerate(policies[1]):
            weights = first[:-1] + second[:-1]
            policy = policy_from_weights(tree, weights)
            matrix[i, j] = cp.expected_values(tree, policy)[list(teams[0])].sum()
    return cp.matrix.zero_sum_lp(cp.matrix.NormalForm(matrix)).values[0]


@pytest.mark.parametrize("teams", [[[0, 1], [2]], [[2], [1, 0]], [[0], [1, 2]]])
def test_equal_to_the_game_of_all_joint_plans(teams):
    compared = 0
    for seed in range(60):
        tree = cp.build_tree(RandomGame(seed, 3, 4))
        counts = cp.matrix.count_pure_policies(tree)
        if tree.num_infosets < 4 or not 8 <= np.prod(counts) <= 300:
            continue
        solution = cp.concepts.team_equilibrium(tree, teams)
        assert solution.value == approx(enumerate_value(tree, teams), abs=1e-7), seed
        assert solution.gap < 1e-7
        compared += 1
        if compared == 4:
            break
    assert compared == 4


def test_teams_of_three_and_of_two_against_two():
    """Four players: the programme over terminals, and plans on both sides."""
    compared = {3: 0, 2: 0}
    for seed in range(200):
        tree = cp.build_tree(RandomGame(seed, 4, 4))
        counts = cp.matrix.count_pure_policies(tree) if tree.num_infosets else (0,)
        if tree.num_infosets < 4 or not 8 <= np.prod(counts) <= 300:
            continue
        for teams in ([[0, 1, 3], [2]], [[0, 3], [1, 2]]):
            if compared[len(teams[0])] < 3:
                solution = cp.concepts.team_equilibrium(tree, teams)
                assert solution.value == approx(enumerate_value(tree, teams), abs=1e-7), seed
                compared[len(teams[0])] += 1
    assert compared == {3: 3, 2: 3}


VALUES = {4: -1 / 24, 6: -0.02365, 8: -0.01935}  # of the first two players


@pytest.mark.parametrize("num_cards", VALUES)
def test_three_player_kuhn_poker_with_more_cards(num_cards):
    game = f"kuhn_poker(players=3,num_cards={num_cards})"
    solution = cp.concepts.team_equilibrium(game, [[0, 1], [2]], tolerance=2e-4)
    assert solution.value == approx(VALUES[num_cards], abs=1e-5 + solution.gap)
    assert solution.gap < 1e-3


def test_mixtures_guarantee_the_value():
    """The mixtures of plans earn the value against each other."""
    tree = cp.build_tree(RandomGame(12, 3, 4))
    solution = cp.concepts.team_equilibrium(tree, [[0, 2], [1]])
    value = 0.0
    for p, first in zip(solution.mixtures[0], solution.plans[0], strict=True):
        for q, second in zip(solution.mixtures[1], solution.plans[1], strict=True):
            owner = np.repeat(tree.infoset_player, tree.num_actions)
            rows = np.where(owner == 1, second.probabilities, first.probabilities)
            value += p * q * cp.expected_values(tree, cp.Policy(tree, rows))[[0, 2]].sum()
    assert value == approx(solution.value, abs=1e-9)


def test_three_player_kuhn_poker():
    """The last player against the others, who coordinate beforehand: -1/24 for the team."""
    tree = cp.build_tree("kuhn_poker(players=3)")
    solution = cp.concepts.team_equilibrium(tree, [[0, 1], [2]])
    assert solution.value == approx(-1 / 24, abs=1e-9)
    assert solution.gap < 1e-8


def test_teams_of_one_play_the_game_itself(kuhn):
    assert cp.concepts.team_equilibrium(kuhn, [[0], [1]]).value == approx(-1 / 18)


def test_wrong_teams_are_refused():
    name = "kuhn_poker(players=3)"
    with pytest.raises(cp.ConfigError, match="must name each of the players 0 to 2 once"):
        cp.concepts.team_equilibrium(name, [[0], [1]])
    with pytest.raises(cp.ConfigError, match="must be two lists of players"):
        cp.concepts.team_equilibrium(name, [[0], [1], [2]])
    for teams in ([0, 1], [[0, "a"], [1]], [[0, 1, 2], []]):
        with pytest.raises(cp.ConfigError, match="must be two lists of players"):
            cp.concepts.team_equilibrium(name, teams)
    with pytest.raises(cp.ConfigError, match=r"sum to a constant.*optimal_efce"):
        cp.concepts.team_equilibrium("chicken", [[0], [1]])
