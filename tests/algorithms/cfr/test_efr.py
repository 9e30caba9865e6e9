"""Extensive-form regret minimisation against CFR, OpenSpiel and the gaps of its play."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from pytest import approx

import counterplay as cp
from counterplay.algorithms.cfr.efr import DEVIATIONS
from counterplay.core.game import TERMINAL
from counterplay.kernels.sequence_form import deviations as kernels
from tests.random_games import RandomGame, random_games


@dataclass(frozen=True)
class Ladder:
    """A player chooses one of ten actions nine times in a row; the first ends the game."""

    num_players: int = 1

    def initial_state(self):
        return 0

    def player(self, state):
        return TERMINAL if state in (-1, 9) else 0

    def actions(self, state):
        return tuple(range(10))

    def chance_outcomes(self, state):
        return []

    def next_state(self, state, action):
        return state + 1 if action == 9 else -1

    def utilities(self, state):
        return (float(state),)

    def infoset_key(self, state, player):
        return str(state)

    def action_name(self, state, action):
        return str(action)


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
    as_published = cp.algorithms.EFR("blind_cf", regret_matching_plus=False)
    for algorithm in (as_published, cp.algorithms.CFR(alternating=False)):
        memory = algorithm.step(tree, algorithm.init(tree), 6)
        policies.append(algorithm.policies(tree, memory)["average"].probabilities)
    assert policies[0] == approx(policies[1], abs=1e-9)


@pytest.mark.parametrize("name", NASH)
def test_kuhn_poker(name, kuhn):
    """OpenSpiel's test: the value of Kuhn poker to 1e-3 in 300 iterations."""
    result = cp.solve(kuhn, cp.algorithms.EFR(name), iterations=300)
    assert cp.expected_values(kuhn, result.policy)[0] == approx(-1 / 18, abs=3e-4)
    published = cp.algorithms.EFR(name, regret_matching_plus=False)
    assert cp.solve(kuhn, published, iterations=300).exploitability > 1.4 * result.exploitability


def repeat_empty_memory(memory_states):
    """The memory states of OpenSpiel's partial sequences: the empty one twice after an action."""

    def states_with_duplicates(self, arena, infoset):
        states = memory_states(self, arena, infoset)
        return [states[0], *states] if len(states) > 1 else states

    return states_with_duplicates


@pytest.mark.parametrize("name", OPENSPIEL)
def test_policies_equal_those_of_openspiel(name, monkeypatch):
    if "partial" in name:
        states = repeat_empty_memory(cp.algorithms.EFR._memory_states)
        monkeypatch.setattr(cp.algorithms.EFR, "_memory_states", states)
    pyspiel = pytest.importorskip("pyspiel")
    efr = pytest.importorskip("open_spiel.python.algorithms.efr")
    tree = cp.build_tree("openspiel:kuhn_poker")
    solver = efr.EFRSolver(pyspiel.load_game("kuhn_poker"), OPENSPIEL[name])
    algorithm = cp.algorithms.EFR(name, regret_matching_plus=False)
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
    [
        ("informed_action", "afce"),
        ("blind_action", "afcce"),
        ("blind_cf", "cce"),
        ("blind_partial_sequence", "efcce"),
        ("causal_partial_sequence", "efce"),
        ("twice_informed_partial_sequence", "efce"),
        ("behavioural", "efce"),
    ],
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


def test_memory_states_of_a_long_game():
    """The second decision of Kuhn poker with three players after passing: one earlier infoset."""
    tree = cp.build_tree("leduc_poker(suit_isomorphism=true)")
    depth = np.zeros(tree.num_infosets, int)  # own actions before, and alternatives to them
    others, combinations = np.zeros(tree.num_infosets, int), np.ones(tree.num_infosets, int)
    for i, parent in enumerate(tree.form.parent.tolist()):
        if parent < tree.num_sequences:
            above = int(np.searchsorted(tree.form.offset, parent, side="right")) - 1
            depth[i] = depth[above] + 1
            others[i] = others[above] + tree.num_actions[above] - 1
            combinations[i] = combinations[above] * tree.num_actions[above]
    for name, expected in (
        ("cf_partial_sequence", depth + 1),
        ("causal_partial_sequence", others + 1),
        ("twice_informed_partial_sequence", others + 1),
        ("behavioural", combinations),
    ):
        memory_offset = cp.algorithms.EFR(name)._layout(tree)[0]
        assert np.diff(memory_offset).tolist() == expected.tolist()


def test_too_many_deviations_are_refused():
    with pytest.raises(cp.ConfigError, match="take twice_informed_partial_sequence instead"):
        cp.algorithms.EFR("behavioural").init(cp.build_tree(Ladder()))


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
