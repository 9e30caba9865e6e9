"""Optimal EFCE: two programmes against each other, matrix games, published examples."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.concepts import optimal_correlation
from counterplay.core.game import CHANCE
from tests.concepts.test_correlation import SIGNALLING, load_efg
from tests.conftest import game_tree
from tests.random_games import RandomGame


def test_both_programmes_agree_without_chance(monkeypatch):
    compared = 0
    for seed in range(120):
        tree = cp.build_tree(RandomGame(seed, 2, 4, zero_sum=False))
        counts = cp.matrix.count_pure_policies(tree) if tree.num_infosets else (0, 0)
        if (
            (tree.player == CHANCE).any()
            or tree.num_infosets < 3
            or not 4 <= np.prod(counts) <= 600
        ):
            continue
        by_pairs = {goal: cp.concepts.optimal_efce(tree, goal) for goal in ("welfare", 0, 1)}
        with monkeypatch.context() as patch:
            patch.setattr(optimal_correlation, "_SequencePairs", optimal_correlation._JointPlans)
            for goal, plan in by_pairs.items():
                other = cp.concepts.optimal_efce(tree, goal)
                pick = slice(None) if goal == "welfare" else goal
                assert plan.values[pick].sum() == approx(other.values[pick].sum(), abs=1e-7)
                gaps = cp.concepts.correlation_gaps(tree, other.distribution)
                assert gaps.total("efce") < 1e-7
                assert gaps.values == approx(other.values, abs=1e-9)
        compared += 1
    assert compared >= 5


@pytest.mark.parametrize("name", ["chicken", "battle_of_the_sexes", "shapleys_game"])
def test_correlated_equilibria_of_matrix_games(name):
    """With one decision each, an EFCE is a correlated equilibrium."""
    form = cp.matrix.normal_form_from_game(cp.load_game(name))
    expected = cp.matrix.correlated_equilibrium(form)
    welfare = (expected.joint_distribution * form.utility).sum()
    assert cp.concepts.optimal_efce(name).values.sum() == approx(welfare, abs=1e-7)


def test_signalling_game(tmp_path):
    """The EFCE of von Stengel and Forges is optimal for the sender and for welfare."""
    tree = load_efg(SIGNALLING, tmp_path)
    best = cp.concepts.optimal_efce(tree)
    gaps = cp.concepts.correlation_gaps(tree, best.distribution)
    assert gaps.total("efce") < 1e-9
    assert best.values.sum() >= 10.0 - 1e-7
    assert cp.concepts.optimal_efce(tree, 0).values[0] >= 3.5 - 1e-7


def test_three_players():
    tree = cp.build_tree(RandomGame(5, 3, 3, zero_sum=False))
    plan = cp.concepts.optimal_efce(tree)
    gaps = cp.concepts.correlation_gaps(tree, plan.distribution)
    assert gaps.total("efce") < 1e-7


def test_zero_sum_values_are_those_of_nash():
    """In a two-player zero-sum game every EFCE has the value of the game."""
    tree = cp.build_tree("goofspiel(num_cards=3,points_order=descending)")
    plan = cp.concepts.optimal_efce(tree, 0)
    assert plan.values[0] == approx(cp.algorithms.solve_sequence_form_lp(tree).value, abs=1e-9)


def test_games_without_an_optimal_efce_are_refused(kuhn):
    with pytest.raises(cp.ConfigError, match="objective is 2, must be"):
        cp.concepts.optimal_efce(kuhn, 2)
    with pytest.raises(cp.ConfigError, match="run efr with causal_partial_sequence"):
        cp.concepts.optimal_efce("kuhn_poker(players=3)")
    alone = cp.build_tree(RandomGame(1, 1, zero_sum=False))
    with pytest.raises(cp.ConfigError, match=r"at least two players.*best_response"):
        cp.concepts.optimal_efce(alone)
    with pytest.raises(cp.ConfigError, match="perfect_recall_tree"):
        cp.concepts.optimal_efce(game_tree("goofspiel(forgetful=true)"))


@pytest.mark.parametrize("num_players", [2, 3])
def test_column_generation_equals_enumeration_of_plans(num_players):
    """Games with chance or three players; the distribution is an EFCE, and the gap is zero."""
    compared = 0
    for seed in range(80):
        tree = cp.build_tree(RandomGame(seed, num_players, 4, zero_sum=False))
        counts = cp.matrix.count_pure_policies(tree) if tree.num_infosets else (0,)
        has_chance = (tree.player == CHANCE).any()
        if tree.num_infosets < 3 or not 16 <= np.prod(counts) <= 100:
            continue
        if num_players == 2 and not has_chance:
            continue
        plan = optimal_correlation._generate_columns(tree, "welfare")
        expected = cp.concepts.optimal_efce(tree).values.sum()
        assert plan.values.sum() == approx(expected, abs=1e-5)
        gaps = cp.concepts.correlation_gaps(tree, plan.distribution)
        assert gaps.total("efce") < 1e-6
        assert gaps.values == approx(plan.values, abs=1e-9)
        assert plan.gap < 1e-6
        compared += 1
        if compared == 4:
            break
    assert compared == 4


def test_column_generation_on_kuhn_poker_with_four_cards():
    """20,736 joint plans; in a zero-sum game every EFCE has the value of the game, -1/24."""
    plan = cp.concepts.optimal_efce("kuhn_poker(num_cards=4)", 0)
    assert plan.values[0] == approx(-1 / 24, abs=1e-6)
    assert plan.gap < 1e-6
