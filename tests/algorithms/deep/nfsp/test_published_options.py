"""Options that follow published pseudocode to the letter: who learns, who explores, losses."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp

jax = pytest.importorskip("jax")

from counterplay.algorithms.deep.common.graph import graph_from_tree  # noqa: E402
from counterplay.algorithms.deep.common.networks import infoset_outputs  # noqa: E402
from counterplay.algorithms.deep.common.sac_response import (  # noqa: E402
    mean_excess_entropy,
    reverse_gradient,
    soft_values,
)

SMALL_SETTINGS = {"hidden_sizes": (8,), "num_episodes": 64, "schedule_iterations": 20}


@pytest.fixture(scope="module")
def tree():
    yield cp.build_tree("rock_paper_scissors")
    jax.clear_caches()


def state_after_one_iteration(tree, algorithm):
    memory = algorithm.init(tree, 0)
    return algorithm.step(tree, memory, 1).state


@pytest.mark.parametrize("eta", [0.0, 0.5])
def test_opponents_play_the_average_only_without_anticipation(tree, eta):
    """Each player decides once: the reservoir has one response per episode, and no other."""
    algorithm = cp.algorithms.NFSPPPO(anticipatory_param=eta, average_power=0.0, **SMALL_SETTINGS)
    stored = float(state_after_one_iteration(tree, algorithm).counts.sum())
    assert (stored == 64) == (eta == 0.0) and stored >= 64


def test_all_players_learn_at_once(tree):
    """The ring has the decisions of all players, and every response is averaged."""
    options = {"batch_size": 32, "average_batch_size": 32, "epsilon": 1.0, "epsilon_end": 1.0}
    rotating, together = (
        state_after_one_iteration(
            tree,
            cp.algorithms.NFSP(
                anticipatory_param=0.25, all_players_learn=learn, **SMALL_SETTINGS, **options
            ),
        )
        for learn in (False, True)
    )
    ring_sizes = [int(np.sum(s.response.replay_buffer.num_seen)) for s in (rotating, together)]
    assert ring_sizes == [64, 128]
    # exploring learners are left out in rotation; together, a quarter of 128 decisions is stored
    assert float(rotating.counts.sum()) < 32 and 16 < float(together.counts.sum()) < 50


def test_gradient_of_the_printed_actor_loss_is_its_derivative():
    rng = np.random.default_rng(0)
    logits, values = rng.normal(size=(2, 4, 3)).astype(np.float32)
    legal = np.array([[1, 1, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1]], bool)

    def policy(outputs):
        return jax.nn.softmax(jax.numpy.where(legal, outputs, -1e9))

    def loss(outputs):
        probs = policy(outputs)
        terms = probs * (0.3 * jax.numpy.log(jax.numpy.maximum(probs, 1e-30)) - values)
        return jax.numpy.where(legal, terms, 0.0).sum()

    expected = jax.grad(loss)(logits)
    actual = reverse_gradient(policy(logits), legal, values, 0.3)
    np.testing.assert_allclose(actual, expected, atol=1e-5)


def test_excess_entropy_is_zero_at_the_target():
    legal = np.array([[True, True, False], [True, True, True]])
    uniform = legal / legal.sum(1, keepdims=True)
    visits = np.array([3.0, 1.0])
    assert mean_excess_entropy(uniform, legal, visits, 1.0) == pytest.approx(0.0, abs=1e-6)
    half = mean_excess_entropy(uniform, legal, visits, 0.5)
    assert half == pytest.approx((3 * np.log(2) + np.log(3)) / 8, rel=1e-5)


def test_learned_temperature_rises_when_the_policy_is_too_certain(tree):
    """The first policy is uniform: with a target below its entropy the temperature falls."""
    temperatures = []
    for target in (0.0, 1.0):
        algorithm = cp.algorithms.NFSPSAC(
            learn_temperature=True,
            reverse_divergence=True,
            target_entropy=target,
            learning_rate=0.1,
            learning_rate_end=0.1,
            batch_size=32,
            average_batch_size=32,
            **SMALL_SETTINGS,
        )
        state = state_after_one_iteration(tree, algorithm).response
        temperatures.append(float(np.exp(state.log_temperature)))
    assert temperatures[0] < 0.2 * 0.99 and temperatures[1] >= 0.2 - 1e-6


def test_targets_are_renewed_periodically(tree):
    """Algorithm 8: Q' stays at its first values, zero, until the third update."""
    algorithm = cp.algorithms.NFSP(
        num_updates=1, target_update_every=3, batch_size=32, average_batch_size=32, **SMALL_SETTINGS
    )
    memory = algorithm.step(tree, algorithm.init(tree, 0), 2)
    assert not np.any(memory.state.response.target)
    memory = algorithm.step(tree, memory, 1)
    assert np.any(memory.state.response.target)


def test_both_critics_learn_the_payoffs_and_values_are_soft():
    """Algorithm 10: each critic regresses on the return; V adds the entropy to the mean of Q."""
    game = cp.load_game("matrix_game(payoffs=(((1,1),(0,0)),((-1,-1),(0,0))))")
    arena = cp.build_tree(game)
    settings = SMALL_SETTINGS | {"schedule_iterations": 100, "learning_rate": 0.02}
    algorithm = cp.algorithms.NFSPSAC(batch_size=64, average_batch_size=32, **settings)
    state = algorithm.step(arena, algorithm.init(arena, 0), 60).state
    graph = graph_from_tree(arena)
    critics = [infoset_outputs(graph, critic.params, (0, 1)) for critic in state.response.critics]
    for values in critics:
        high, low = map(float, values[0])
        assert high > 0.3 and abs(low) < 0.3 * high
    assert np.any(critics[0] != critics[1])
    policy, values = np.array([0.25, 0.75]), np.array([2.0, 4.0])
    soft = soft_values(np.ones((1, 2), bool), values[None], 0.5, np.log(policy)[None])
    assert soft[0] == pytest.approx(3.5 - 0.5 * (policy * np.log(policy)).sum())
