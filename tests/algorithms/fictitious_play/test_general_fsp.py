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


ROWS = [np.array([p, 1 - p]) for p in (0.1, 0.7, 0.4, 0.9)]  # responses of four iterations


class FixedBehaviour(CountingModel):
    """A counting model that is shown the next of ROWS in every iteration, at infoset 0."""

    def __post_init__(self):
        super().__post_init__()
        self.rows = iter(ROWS)

    def update(self, behaviour, decay):
        super().update([Behaviour(0, 0, next(self.rows))], decay)


@pytest.mark.parametrize("mixing", [lambda t: 1 / (t + 1), lambda t: 0.3, lambda t: t**-0.5 / 2])
def test_counts_follow_the_mixing_schedule(kuhn, mixing):
    """average_t = (1 - eta) * average_{t-1} + eta * response_t; the first response is the start."""
    algorithm = cp.algorithms.GeneralFSP(mixing=mixing, new_supervised=FixedBehaviour)
    memory = algorithm.init(kuhn, 0)
    weights = []
    for t, _ in enumerate(ROWS, 1):
        memory = algorithm.step(kuhn, memory, 1)
        weights = [weight * (1 - mixing(t)) for weight in weights] + [mixing(t)]
        expected = np.array(weights) @ ROWS[:t] / sum(weights)
        np.testing.assert_allclose(memory.average[:2], expected)


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


class LastAction:
    """A reinforcement learner that always responds with the last action, and keeps its data."""

    def __init__(self, tree, rng):
        self.tree, self.iterations = tree, []

    def update(self, episodes):
        self.iterations.append(episodes)

    def policy(self):
        return point_policy(self.tree, self.tree.offset[1:] - 1)


class FirstAction:
    """A supervised learner whose average policy always plays the first action."""

    def __init__(self, tree, rng):
        self.tree, self.behaviour = tree, []

    def update(self, behaviour, decay):
        self.behaviour += behaviour

    def policy(self):
        return point_policy(self.tree, self.tree.offset[:-1])


def point_policy(tree, sequences):
    probabilities = np.zeros(tree.num_sequences)
    probabilities[sequences] = 1.0
    return probabilities


def test_players_follow_the_response_or_the_average_for_whole_episodes():
    """Algorithm 5: the mixture is drawn per episode and player; the m episodes are responses."""
    tree = cp.build_tree("leduc_poker")
    algorithm = cp.algorithms.GeneralFSP(
        mixing=lambda t: 0.5,
        new_reinforcement=LastAction,
        new_supervised=FirstAction,
        num_mixture_episodes=60,
        num_response_episodes=20,
    )
    memory = algorithm.step(tree, algorithm.init(tree), 1)  # from the uniform policy
    memory = algorithm.step(tree, memory, 1)
    for player in range(2):
        episodes = memory.reinforcement[player].iterations[1]
        assert len(episodes) == 80
        kinds = [{s.action == 0 for s in steps} for steps in episodes]
        assert all(len(kind) == 1 for kind in kinds)  # no episode mixes the two
        num_average = sum(kind == {True} for kind in kinds[:60])
        assert 15 < num_average < 45
        assert all(kind == {False} for kind in kinds[60:])
        decisions = [step for steps in episodes[60:] for step in steps]
        stored = memory.supervised[player].behaviour[-len(decisions) :]
        assert [b.infoset for b in stored] == [s.infoset for s in decisions]
    shared = [memory.reinforcement[p].iterations[1][:60] for p in range(2)]
    together = [(a[0].action == 0) == (b[0].action == 0) for a, b in zip(*shared, strict=True)]
    assert 15 < sum(together) < 45  # players draw independently
