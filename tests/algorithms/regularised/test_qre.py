"""Quantal response equilibria against Gambit's and known figures; R-NaD on the tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.algorithms.regularised.tabular_r_nad import accumulate_rewards
from tests.conftest import game_tree


def solve_policy(tree, algorithm):
    memory = algorithm.step(tree, algorithm.init(tree), 100_000)
    assert memory.finished
    return algorithm.policies(tree, memory)["current"]


# Newton's method finds the same four values: benchmarks/tabular/kuhn_quantal_response.py
@pytest.mark.parametrize(
    ("temperature", "rest"), [(0.5, 0.22482), (0.2, 0.08715), (0.1, 0.03779), (0.05, 0.014402)]
)
def test_agent_form(kuhn, temperature, rest):
    path = {"initial_temperature": max(0.2, temperature), "cooling_factor": 0.5}
    policy = solve_policy(kuhn, cp.algorithms.QRE(temperature=temperature, tolerance=1e-7, **path))
    assert cp.nash_conv(kuhn, policy) == approx(rest, abs=1e-5)
    q = cp.infoset_values(kuhn, policy).action_value.reshape(-1, 2)
    odds = np.exp((q[:, 1] - q[:, 0]) / temperature)
    assert policy.probabilities[1::2] == approx(odds / (1.0 + odds), abs=2e-7)


def test_reduced_normal_form(kuhn):
    policy = solve_policy(
        kuhn, cp.algorithms.QRE(temperature=0.1, reduced_normal_form=True, tolerance=1e-8)
    )
    assert cp.nash_conv(kuhn, policy) == approx(0.207388, abs=1e-6)
    assert policy["0"]["bet"] == approx(0.246358, abs=1e-6)


def test_tabular_r_nad_reaches_nash(kuhn):
    algorithm = cp.algorithms.TabularRNaD(temperature=0.2, eta=0.5)
    result = cp.solve(kuhn, algorithm, iterations=3000)
    assert result.exploitability < 1e-8


def test_rewards_sum_to_zero():
    tree = game_tree("kuhn_poker")
    given = np.random.default_rng(0).normal(size=tree.num_sequences)
    paid = accumulate_rewards(tree, given)
    assert np.abs(paid).max() > 0.1 and paid.sum(axis=1) == approx(0.0, abs=1e-12)
    policy = cp.random_policy(tree, 1)
    values = cp.infoset_values(tree, policy)
    expected = (
        values.reach
        * values.cf_reach
        * np.add.reduceat(policy.probabilities * given, tree.offset[:-1])
    )
    mine = expected[tree.infoset_player == 0].sum() - expected[tree.infoset_player == 1].sum()
    changed = cp.expected_values(tree, policy)[0] + mine

    other = replace(tree, utility=tree.utility + paid)
    reach = terminal_reach(tree, policy)
    assert (reach * other.utility[:, 0]).sum() == approx(changed, abs=1e-12)


def terminal_reach(tree, policy):
    """The probability of every terminal."""
    reach = np.ones(tree.num_nodes)
    for node in range(1, tree.num_nodes):
        above, sequence = tree.parent[node], tree.incoming_sequence[node]
        own = policy.probabilities[sequence] if sequence >= 0 else tree.chance[node]
        reach[node] = reach[above] * own
    return reach[tree.terminals]
