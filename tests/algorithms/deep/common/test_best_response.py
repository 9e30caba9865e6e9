"""Responders: near the best response, deterministic, able to continue; their building blocks."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import optax  # noqa: E402

import counterplay as cp  # noqa: E402
from counterplay.algorithms.deep.common import best_response, returns  # noqa: E402
from counterplay.algorithms.deep.common.best_response import (  # noqa: E402
    Experience,
    apply_output_gradient,
    infosets_where,
    next_own_infosets,
    own_utility,
)
from counterplay.algorithms.deep.common.dqn_response import DQNResponse  # noqa: E402
from counterplay.algorithms.deep.common.episodes import (  # noqa: E402
    behaviour_from_table,
    sample_episodes,
)
from counterplay.algorithms.deep.common.graph import graph_from_tree  # noqa: E402
from counterplay.algorithms.deep.common.networks import (  # noqa: E402
    infoset_outputs,
    new_nets,
    safe_log,
    softmax,
)
from counterplay.algorithms.deep.common.ppo_response import PPOResponse, ppo_surrogate  # noqa: E402
from counterplay.algorithms.deep.common.sac_response import SACResponse  # noqa: E402
from counterplay.algorithms.deep.common.training import init_train_states  # noqa: E402
from counterplay.algorithms.population.oracles import ExactResponse, WeightedPolicy  # noqa: E402
from tests.conftest import game_tree  # noqa: E402

SMALL_SETTINGS = {"hidden_sizes": (16,), "iterations": 400, "num_episodes": 128}
SMALL_SETTINGS |= {"learning_rate": 1e-2, "learning_rate_end": 1e-3}
RESPONDERS = [
    DQNResponse(
        **SMALL_SETTINGS, replay_buffer_size=20_000, target_update_every=20, batch_size=1024
    ),
    PPOResponse(**SMALL_SETTINGS, value_learning_rate=1e-2),
    SACResponse(
        **SMALL_SETTINGS, replay_buffer_size=20_000, target_update_rate=0.05, batch_size=1024
    ),
]


def class_name(responder):
    return type(responder).__name__


def some_episodes(tree, batch=64):
    graph = graph_from_tree(tree)
    policy = softmax(jnp.zeros(graph.legal.shape), graph.legal)
    return graph, sample_episodes(graph, behaviour_from_table(policy), jax.random.PRNGKey(0), batch)


@pytest.mark.parametrize("responder", RESPONDERS, ids=class_name)
def test_a_response_gains_nearly_as_much_as_a_best_response(kuhn, responder):
    """The opponent is one of two policies, drawn for each episode, not the mean of both."""
    opponents = [
        WeightedPolicy(0.3, cp.uniform_policy(kuhn)),
        WeightedPolicy(0.7, cp.random_policy(kuhn, 4)),
    ]
    plain = sum(w * cp.expected_values(kuhn, policy)[1] for w, policy in opponents)
    best = ExactResponse().respond(kuhn, 1, opponents).value
    response = responder.respond(kuhn, 1, opponents, seed=2)
    assert response.value - plain > 0.97 * (best - plain)
    is_own = np.repeat(kuhn.infoset_player == 1, kuhn.num_actions)
    own = response.policy.probabilities
    pairs = [cp.Policy(kuhn, np.where(is_own, own, p.probabilities)) for _, p in opponents]
    values = [cp.expected_values(kuhn, pair)[1] for pair in pairs]
    assert response.value == approx(0.3 * values[0] + 0.7 * values[1])
    assert own[~is_own] == approx(opponents[0].policy.probabilities[~is_own])


class OpponentTuple(NamedTuple):
    weight: float
    policy: cp.Policy


@pytest.mark.parametrize("responder", RESPONDERS[:2], ids=class_name)
def test_responses_are_deterministic_and_can_continue(responder):
    tree = game_tree("kuhn_poker(players=3)")
    opponents = [OpponentTuple(1.0, cp.uniform_policy(tree))]
    first, second = (responder.respond(tree, 2, opponents, seed=5) for _ in range(2))
    assert np.array_equal(first.policy.probabilities, second.policy.probabilities)
    later, same = (
        responder.respond(tree, 2, opponents, seed=6, previous=response.policy)
        for response in (first, second)
    )
    assert np.array_equal(later.policy.probabilities, same.policy.probabilities)
    assert later.value > first.value - 0.02
    with pytest.raises(cp.ConfigError, match="must be a response of the same responder"):
        responder.respond(tree, 2, opponents, previous=cp.uniform_policy(tree))
    with pytest.raises(cp.ConfigError, match="player is 3, must be from 0 to 2"):
        responder.respond(tree, 3, opponents)


def test_gradient_at_visited_infosets_equals_that_at_all(kuhn, monkeypatch):
    """With visits at one infoset of each player, and at five."""
    monkeypatch.setattr(best_response, "MIN_GATHER_ROWS", 0)
    graph, rng, optimiser = graph_from_tree(kuhn), np.random.default_rng(0), optax.adam(0.1)
    nets = new_nets(rng, 2, (graph.num_features, 8, graph.max_actions))
    trained = init_train_states(optimiser, nets)

    @jax.jit
    def both(weight, visits):
        def loss_gradient(outputs):
            return weight * visits[:, None] * (outputs - 1.0)

        step = partial(apply_output_gradient, optimiser, graph, (0, 1), trained, loss_gradient)
        return step(visits, 5).params, step().params

    for count in (1, 5):
        visits = np.zeros(graph.num_infosets, np.float32)
        for first in graph.first_infoset[:-1]:
            visits[first + rng.choice(6, count, replace=False)] = 1.0
        at_visits, at_all = map(jax.tree.leaves, both(rng.normal(size=graph.legal.shape), visits))
        for array, expected, before in zip(at_visits, at_all, jax.tree.leaves(nets), strict=True):
            assert np.asarray(array) == approx(np.asarray(expected), abs=1e-4)
            assert not np.allclose(array, before)


def test_next_own_infosets_and_own_utility(leduc):
    graph, episodes = some_episodes(leduc)
    infoset = np.asarray(infosets_where(graph, episodes, episodes.live))
    next_infoset = np.asarray(next_own_infosets(graph, episodes))
    own = np.asarray(own_utility(episodes))
    player, utility = np.asarray(episodes.player), np.asarray(episodes.utility)
    for column in range(infoset.shape[1]):
        for turn in np.flatnonzero(player[:, column] >= 0):
            actor = player[turn, column]
            later = np.flatnonzero(player[turn + 1 :, column] == actor)
            expected = infoset[turn + 1 + later[0], column] if later.size else graph.num_infosets
            assert next_infoset[turn, column] == expected
            assert own[turn, column] == utility[column, actor]


def test_targets_of_q_learning_are_payoffs_at_the_end_and_legal_maxima_before(leduc):
    """r + max over legal b of Q'(s', b), without the maximum after the player's last decision."""
    graph, rng = graph_from_tree(leduc), np.random.default_rng(0)
    settings = SMALL_SETTINGS | {"num_updates": 1, "target_update_every": 1, "batch_size": 64}
    responder = DQNResponse(**settings, replay_buffer_size=16, utility_scale=2.0)
    nets = new_nets(rng, 2, (graph.num_features, 16, graph.max_actions))
    start = responder.init_state(graph, rng, (0, 1))
    start = start._replace(q=init_train_states(responder.optimiser, nets))
    uniform = behaviour_from_table(softmax(jnp.zeros(graph.legal.shape), graph.legal))

    @jax.jit
    def learn_from_an_episode(key):
        episodes = sample_episodes(graph, uniform, key, 1)
        experience = Experience(episodes, episodes.live, episodes.live)
        state = responder.observe(graph, (0, 1), 1, start, experience)
        state = responder.fit(graph, (0, 1), 1, state, key)
        minibatch = responder.sample_minibatch(graph, state.replay_buffer, state.target, key)
        sums = minibatch.visits, minibatch.weighted_target_sum / minibatch.weight
        return episodes, infoset_outputs(graph, state.q.params, (0, 1)), sums

    num_followed = num_illegal_maxima = 0
    for seed in range(20):
        learned = learn_from_an_episode(jax.random.PRNGKey(seed))
        episodes, outputs, (visits, target_sum) = jax.tree.map(np.asarray, learned)
        infoset = np.asarray(graph.infoset)[episodes.decision[:, 0]]
        for turn in np.flatnonzero(episodes.live[:, 0]):
            player, entry = episodes.player[turn, 0], (infoset[turn], episodes.action[turn, 0])
            later = np.flatnonzero(episodes.player[turn + 1 :, 0] == player)
            target = episodes.utility[0, player] / (2.0 * leduc.utility_scale)
            if later.size:
                following = infoset[turn + 1 + later[0]]
                target = outputs[following][np.asarray(graph.legal[following])].max()
                num_followed += 1
                num_illegal_maxima += outputs[following].max() > target
            assert target_sum[entry] == approx(visits[entry] * target, abs=1e-4)
        assert visits.sum() == 64
    assert num_followed > 10 and num_illegal_maxima > 2


def test_generalised_advantages(leduc):
    graph, episodes = some_episodes(leduc)
    table = jnp.asarray(np.random.default_rng(0).normal(size=graph.num_infosets), jnp.float32)
    value, utility = table[graph.infoset[episodes.decision]], own_utility(episodes)
    live = np.asarray(episodes.live)
    with_lambda_1 = np.asarray(returns.compute_gae(episodes, value, utility, 1.0))
    assert with_lambda_1[live] == approx(np.asarray(utility - value)[live], abs=1e-5)
    next_infoset = np.asarray(next_own_infosets(graph, episodes))
    next_value = np.append(np.asarray(table), 0.0)[next_infoset]
    is_last = next_infoset == graph.num_infosets
    expected = np.where(is_last, np.asarray(utility), next_value) - np.asarray(value)
    with_lambda_0 = np.asarray(returns.compute_gae(episodes, value, utility, 1e-9))
    assert with_lambda_0[live] == approx(expected[live], abs=1e-5)


def test_surrogate_of_summed_advantages_equals_that_of_samples():
    """PPO's objective and its gradient, compared with a sum over samples."""
    rng = np.random.default_rng(3)
    legal = jnp.ones((4, 3), bool)
    old = softmax(jnp.asarray(rng.normal(size=(4, 3)), jnp.float32), legal)
    infoset, action = rng.integers(4, size=50), rng.integers(3, size=50)
    advantage = jnp.asarray(rng.normal(size=50), jnp.float32)
    zero = jnp.zeros((4, 3))
    gain = zero.at[infoset, action].add(jnp.maximum(advantage, 0.0))
    loss = zero.at[infoset, action].add(jnp.minimum(advantage, 0.0))

    def by_sums(logits):
        return ppo_surrogate(softmax(logits, legal), old, legal, gain, loss, 0.2).sum()

    def by_samples(logits):
        ratio = (softmax(logits, legal) / old)[infoset, action]
        return jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage).sum()

    moved = safe_log(old) + jnp.asarray(rng.normal(size=(4, 3)), jnp.float32)
    assert float(by_sums(moved)) == approx(float(by_samples(moved)), rel=1e-5)
    slopes = np.asarray(jax.grad(by_samples)(moved))
    assert np.abs(slopes).max() > 0.1
    assert np.asarray(jax.grad(by_sums)(moved)) == approx(slopes, abs=1e-5)
