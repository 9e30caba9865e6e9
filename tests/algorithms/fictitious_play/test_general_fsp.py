"""General fictitious self-play: schedules against their definition, and replaced learners."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.algorithms.fictitious_play.general_fsp import Behaviour, CountingModel


@pytest.fixture(scope="module")
def kuhn():
    return cp.build_tree("kuhn_poker")


class RandomResponses:
    """A reinforcement learner with a different random response in every iteration."""

    def __init__(self, tree, rng):
        self.tree, self.num_updates = tree, 0

    def update(self, episodes):
        assert all(step.next_infoset != step.infoset for steps in episodes for step in steps)
        self.num_updates += 1

    def policy(self):
        return cp.random_policy(self.tree, self.num_updates).probabilities


class SoftmaxNetwork:
    """A supervised learner: a linear network on one-hot infosets, trained by gradient descent."""

    def __init__(self, tree, rng):
        self.tree, self.data, self.weight = tree, [], []
        self.logits = np.zeros(tree.num_sequences)

    def update(self, behaviour, decay):
        self.weight = [w * decay for w in self.weight] + [1.0] * len(behaviour)
        self.data += [(b.infoset, b.action) for b in behaviour]
        infoset, action = np.array(self.data).T
        entries = self.tree.offset[infoset] + action
        target = np.bincount(entries, self.weight, self.tree.num_sequences)
        visits = np.add.reduceat(target, self.tree.offset[:-1])
        mass = np.repeat(np.maximum(visits, 1e-9), self.tree.num_actions)
        for _ in range(20):
            self.logits += 0.5 * (target / mass - self.policy()) * (mass > 1e-8)

    def policy(self):
        weights = np.exp(self.logits)
        sums = np.add.reduceat(weights, self.tree.offset[:-1])
        return weights / np.repeat(sums, self.tree.num_actions)


@pytest.mark.parametrize("mixing", [lambda t: 1 / (t + 1), lambda t: 0.3, lambda t: t**-0.5 / 2])
def test_counts_follow_the_mixing_schedule(kuhn, mixing):
    """average_t = (1 - eta) * average_{t-1} + eta * response_t, at an infoset visited each time."""
    model, rows = CountingModel(kuhn, None), [np.array([p, 1 - p]) for p in (0.1, 0.7, 0.4, 0.9)]
    expected = None
    for t, row in enumerate(rows, 1):
        decay = mixing(max(t - 1, 1)) * (1 - mixing(t)) / mixing(t)
        model.update([Behaviour(0, 0, row)], decay)
        eta = mixing(t)
        if t == 1:
            expected = row  # the first response replaces the uniform policy
            total = 1.0
        else:
            # weights of earlier responses, each multiplied by its decays
            total = total * decay
            expected = (total * expected + row) / (total + 1.0)
            total += 1.0
        np.testing.assert_allclose(model.policy()[:2], expected)
        if t > 1 and eta == 0.3:
            assert decay == pytest.approx(0.7)


def test_tables_solve_kuhn_poker(kuhn):
    algorithm = cp.algorithms.GeneralFSP()
    policy = cp.solve(kuhn, algorithm, iterations=1500, evaluate_at=lambda t: t + 1500).policy
    assert cp.exploitability(policy) < 0.1
    assert cp.exploitability(cp.uniform_policy(kuhn)) > 0.4


def test_constant_mixing_forgets(kuhn):
    """With eta = 1 the average is the last response, as far as it was visited."""
    algorithm = cp.algorithms.GeneralFSP(
        mixing=lambda t: 1.0, new_reinforcement=RandomResponses, num_response_episodes=60
    )
    memory = algorithm.step(kuhn, algorithm.init(kuhn, 0), 3)
    played = cp.random_policy(kuhn, 2).probabilities  # the response of the third iteration
    np.testing.assert_allclose(memory.average[:2], played[:2])
    harmonic = cp.algorithms.GeneralFSP(new_reinforcement=RandomResponses, num_response_episodes=60)
    other = harmonic.step(kuhn, harmonic.init(kuhn, 0), 3)
    assert np.abs(other.average[:2] - played[:2]).max() > 1e-3


def test_learners_can_be_replaced_by_networks(kuhn):
    algorithm = cp.algorithms.GeneralFSP(new_supervised=SoftmaxNetwork)
    policy = cp.solve(kuhn, algorithm, iterations=300, evaluate_at=lambda t: t + 300).policy
    assert cp.exploitability(policy) < 0.3


def test_wrong_schedules_are_refused(kuhn):
    algorithm = cp.algorithms.GeneralFSP(mixing=lambda t: 0.0)
    with pytest.raises(cp.ConfigError, match="above 0 and at most 1"):
        algorithm.step(kuhn, algorithm.init(kuhn), 1)
