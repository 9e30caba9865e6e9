"""Overall regret by brute force, and the theorems about it measured on CFR."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.tabular.theorems import (
    least_sampling_reach,
    measure_cfr,
    measure_outcome_sampling,
    measure_regret_matching,
)

import counterplay as cp


@pytest.mark.parametrize("spec", ["kuhn_poker", "kuhn_poker(players=3)", "king_ace_poker"])
def test_equals_brute_force_over_pure_policies(spec):
    tree = cp.build_tree(spec)
    policies = [cp.random_policy(tree, seed) for seed in range(4)]
    regret = cp.overall_regret(tree, policies)
    earned = sum(cp.expected_values(tree, policy) for policy in policies)
    for player in range(tree.num_players):
        is_own = np.repeat(tree.infoset_player == player, tree.num_actions)
        rng, best = np.random.default_rng(player), -np.inf
        sizes = tree.num_actions[tree.infoset_player == player]
        for number in range(min(int(np.prod(sizes)), 64)):
            choice = (
                np.unravel_index(number, sizes) if np.prod(sizes) <= 64 else rng.integers(sizes)
            )
            rows = [np.eye(n)[a] for n, a in zip(sizes, choice, strict=True)]
            total = 0.0
            for policy in policies:
                mixed = policy.probabilities.copy()
                mixed[is_own] = np.concatenate(rows)
                total += cp.expected_values(tree, cp.Policy(tree, mixed))[player]
            best = max(best, total)
        gap = regret[player] - (best - earned[player])
        assert gap == pytest.approx(0.0, abs=1e-9) if np.prod(sizes) <= 64 else gap >= -1e-9


def test_of_one_policy_is_the_gain_of_a_best_response():
    tree = cp.build_tree("leduc_poker")
    policy = cp.random_policy(tree, 1)
    judgement = cp.judge(tree, policy)
    gains = judgement.best_values - judgement.values
    np.testing.assert_allclose(cp.overall_regret(tree, [policy]), gains, atol=1e-9)
    other = cp.random_policy("kuhn_poker")
    with pytest.raises(cp.ConfigError):
        cp.overall_regret(tree, [other])


def test_theorems_hold_on_kuhn_poker():
    """2.1: NashConv is at most the sum of average regrets. 2.3 and 2.4: the bounds of CFR."""
    rows = measure_cfr("kuhn_poker", (1, 10, 100))
    for row in rows:
        assert row.nash_conv == pytest.approx(row.average_regret.sum(), abs=1e-9)
        assert (row.average_regret <= row.counterfactual_bound + 1e-12).all()
        assert (row.counterfactual_bound <= row.theorem_bound + 1e-12).all()
    assert rows[-1].average_regret.max() < rows[0].average_regret.max() / 5


def test_regret_matching_stays_below_its_bound():
    for row in measure_regret_matching(num_actions=4, num_rounds=(1, 10, 1000)):
        assert row.regret <= row.bound


def test_outcome_sampling_stays_below_its_probabilistic_bound():
    """The share of the seeds above the bound is at most 1 - p; regret falls as 1 / sqrt(T)."""
    early, late = measure_outcome_sampling("kuhn_poker", (20, 200), num_runs=10)
    for row in (early, late):
        for confidence in (0.5, 0.9):
            above = row.average_regret > row.bound(confidence)
            assert (above.mean(axis=0) <= 1.0 - confidence).all()
    assert late.average_regret.mean() < 0.7 * early.average_regret.mean()
    assert (late.bound(0.9) < early.bound(0.9)).all() and (late.bound(0.9) > late.bound(0.5)).all()
    np.testing.assert_allclose(early.delta, [0.3**2, 0.3])
    leduc = least_sampling_reach(cp.build_tree("leduc_poker"), 0.6)
    np.testing.assert_allclose(leduc, [(0.3 * 0.2) ** 2, (0.3 * 0.3) ** 2])
