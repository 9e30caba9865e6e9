"""Extensive-form regret minimisation against CFR, OpenSpiel and the gaps of its play."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from pytest import approx

import counterplay as cp
from counterplay.algorithms.cfr.efr import DEVIATIONS
from counterplay.kernels.sequence_form import deviations as kernels
from tests.random_games import RandomGame, random_games

NASH = [name for name in DEVIATIONS if "action" not in name]
OPENSPIEL = {
    "blind_action": "blind action",
    "informed_action": "informed action",
    "blind_cf": "blind cf",
    "informed_cf": "informed cf",
    "blind_partial_sequence": "bps",
    "cf_partial_sequence": "cfps",
}


@settings(max_examples=15)
@given(random_games())
def test_blind_counterfactual_deviations_are_cfr(game):
    tree = cp.build_tree(game)
    policies = []
    for algorithm in (cp.algorithms.EFR("blind_cf"), cp.algorithms.CFR(alternating=False)):
        memory = algorithm.step(tree, algorithm.init(tree), 6)
        policies.append(algorithm.policies(tree, memory)["average"].probabilities)
    assert policies[0] == approx(policies[1], abs=1e-9)


@pytest.mark.parametrize("name", NASH)
def test_kuhn_poker(name, kuhn):
    """OpenSpiel's test: the value of Kuhn poker to 1e-3 in 300 iterations."""
    result = cp.solve(kuhn, cp.algorithms.EFR(name), iterations=300)
    accuracy = (
        1.1e-3 if "partial" in name else 1e-3
    )  # OpenSpiel's partial sequences have duplicates
    assert cp.expected_values(kuhn, result.policy)[0] == approx(-1 / 18, abs=accuracy)


def repeat_empty_memory(layout):
    """The memory states of OpenSpiel's partial sequences: the empty one twice after an action."""

    def layout_with_duplicates(self, arena):
        memory_offset, memory_sequence, _, is_internal = layout(self, arena)
        rows = []
        for first, last in pairwise(memory_offset.tolist()):
            row = memory_sequence[first:last].tolist()
            rows.append([row[0], *row] if len(row) > 1 else row)
        counts = np.array([len(row) for row in rows])
        sizes = counts * np.asarray(arena.num_actions) ** (2 if is_internal else 1)
        offsets = [np.concatenate([[0], np.cumsum(part)]) for part in (counts, sizes)]
        return offsets[0], np.concatenate(rows), offsets[1], is_internal

    return layout_with_duplicates


@pytest.mark.parametrize("name", DEVIATIONS)
def test_policies_equal_those_of_openspiel(name, monkeypatch):
    if "partial" in name:
        layout = repeat_empty_memory(cp.algorithms.EFR._layout)
        monkeypatch.setattr(cp.algorithms.EFR, "_layout", layout)
    pyspiel = pytest.importorskip("pyspiel")
    efr = pytest.importorskip("open_spiel.python.algorithms.efr")
    tree = cp.build_tree("openspiel:kuhn_poker")
    solver = efr.EFRSolver(pyspiel.load_game("kuhn_poker"), OPENSPIEL[name])
    algorithm = cp.algorithms.EFR(name)
    memory = algorithm.init(tree)
    for _ in range(8):
        solver.evaluate_and_update_policy()
        memory = algorithm.step(tree, memory)
        current = algorithm.policies(tree, memory)["current"]
        for _, key, row in current.items():
            expected = solver.current_policy().policy_for_key(key)
            assert list(row.values()) == approx(expected, abs=1e-6), key


@pytest.mark.parametrize(
    ("name", "concept"),
    [("informed_action", "afce"), ("blind_action", "afcce"), ("blind_cf", "cce")],
)
def test_play_approaches_its_concept(name, concept):
    """The gap of the uniform distribution over iterates falls, also with three players."""
    tree = cp.build_tree(RandomGame(8, 3, 4, zero_sum=False))
    algorithm = cp.algorithms.EFR(name)
    memory, policies, gaps = algorithm.init(tree), [], []
    for count in range(1, 401):
        policies.append(algorithm.policies(tree, memory)["current"])
        memory = algorithm.step(tree, memory)
        if count in (20, 400):
            pairs = [(1.0 / count, policy) for policy in policies]
            gaps.append(cp.concepts.correlation_gaps(tree, pairs).total(concept))
    assert gaps[1] < max(0.3 * gaps[0], 1e-3)


def test_stationary_distributions():
    rng = np.random.default_rng(3)
    for count in (1, 2, 3, 5):
        rates = rng.random((count, count)) * (rng.random((count, count)) < 0.8)
        np.fill_diagonal(rates, 0.0)
        total = rates.sum() or 1.0
        policy = np.zeros(count)
        kernels.set_stationary(rates.copy(), count, total, policy, 0)
        flow = rates / total
        assert policy.sum() == approx(1.0)
        assert policy @ flow == approx(policy * flow.sum(axis=1), abs=1e-9)


def test_unknown_deviations_are_refused():
    with pytest.raises(cp.ConfigError, match="must be one of blind_action"):
        cp.algorithms.EFR("swap")
