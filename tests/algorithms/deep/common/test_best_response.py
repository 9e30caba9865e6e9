"""Responders alone: near the best response, the same for the same seed, on from where they were."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import optax  # noqa: E402

import counterplay as cp  # noqa: E402
from counterplay.algorithms.deep.common import best_response, returns  # noqa: E402
from counterplay.algorithms.deep.common.best_response import (  # noqa: E402
    apply_output_gradient,
    infosets_where,
    next_own_infosets,
    own_utility,
)
from counterplay.algorithms.deep.common.dqn_response import DQNResponse  # noqa: E402
from counterplay.algorithms.deep.common.episodes import sample_episodes  # noqa: E402
from counterplay.algorithms.deep.common.graph import graph_from_tree  # noqa: E402
from counterplay.algorithms.deep.common.networks import new_nets, softmax  # noqa: E402
from counterplay.algorithms.deep.common.ppo_response import PPOResponse, ppo_surrogate  # noqa: E402
from counterplay.algorithms.deep.common.sac_response import SACResponse  # noqa: E402
from counterplay.algorithms.deep.common.training import init_train_states  # noqa: E402
from counterplay.algorithms.deep.policy_gradient.base import behaviour_from_table, safe_log  # noqa: E402
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


def two_opponents(tree):
    """A mixture of two policies, drawn for each episode, which is not the mean of the two."""
    return [
        WeightedPolicy(0.3, cp.uniform_policy(tree)),
        WeightedPolicy(0.7, cp.random_policy(tree, 4)),
    ]


@pytest.mark.parametrize("responder", RESPONDERS, ids=class_name)
def test_a_response_earns_nearly_all_there_is(kuhn, responder):
    opponents = two_opponents(kuhn)
    plain = sum(w * cp.expected_values(kuhn, policy)[1] for w, policy in opponents)
    best = ExactResponse().respond(kuhn, 1, opponents).value
    found = responder.respond(kuhn, 1, opponents, seed=2)
    assert found.value - plain > 0.97 * (best - plain)
    own = np.repeat(kuhn.infoset_player == 1, kuhn.num_actions)
    mixtures = [np.where(own, found.policy.probabilities, p.probabilities) for _, p in opponents]
    earned = [cp.expected_values(kuhn, cp.Policy(kuhn, mixed))[1] for mixed in mixtures]
    assert found.value == approx(0.3 * earned[0] + 0.7 * earned[1])
    others = found.policy.probabilities[~own]
    assert others == approx(opponents[0].policy.probabilities[~own])


@pytest.mark.parametrize("responder", RESPONDERS[:2], ids=class_name)
@pytest.mark.parametrize("spec", ["kuhn_poker", "kuhn_poker(players=3)"])
def test_responses_are_reproducible_and_can_be_continued(responder, spec):
    tree = game_tree(spec)
    player = tree.num_players - 1
    opponents = two_opponents(tree)  # the program of the test above serves two players
    first, second = (responder.respond(tree, player, opponents, seed=5) for _ in range(2))
    assert np.array_equal(first.policy.probabilities, second.policy.probabilities)
    more, again = (
        responder.respond(tree, player, opponents, seed=6, previous=response.policy)
        for response in (first, second)
    )
    assert np.array_equal(more.policy.probabilities, again.policy.probabilities)
    assert more.value > first.value - 0.02
    with pytest.raises(cp.ConfigError, match="only go on from a response of its own"):
        responder.respond(tree, player, opponents, previous=cp.uniform_policy(tree))
    with pytest.raises(cp.ConfigError, match=f"must be from 0 to {player}"):
        responder.respond(tree, tree.num_players, opponents)


def test_networks_are_asked_where_there_are_visits(kuhn, monkeypatch):
    """The update equals one at all infosets: with visits to one infoset per player, and to five."""
    monkeypatch.setattr(best_response, "MIN_GATHER_ROWS", 0)
    graph, rng, optimiser = graph_from_tree(kuhn), np.random.default_rng(0), optax.adam(0.1)
    nets = new_nets(rng, 2, (graph.num_features, 8, graph.max_actions))
    trained = init_train_states(optimiser, nets)

    @jax.jit
    def both(weight, visits):
        def slope(says):
            return weight * visits[:, None] * (says - 1.0)

        here = apply_output_gradient(optimiser, graph, (0, 1), trained, slope, visits, 5)
        return here.params, apply_output_gradient(optimiser, graph, (0, 1), trained, slope).params

    for count in (1, 5):
        visits = np.zeros(graph.num_infosets, np.float32)
        for first in graph.first_infoset[:-1]:
            visits[first + rng.choice(6, count, replace=False)] = 1.0
        here, everywhere = map(jax.tree.leaves, both(rng.normal(size=graph.legal.shape), visits))
        for mine, theirs, old in zip(here, everywhere, jax.tree.leaves(nets), strict=True):
            assert np.asarray(mine) == approx(np.asarray(theirs), abs=1e-4)
            assert not np.allclose(mine, old)


def test_what_follows_a_decision(leduc):
    graph, seen = some_episodes(leduc)
    infoset = np.asarray(infosets_where(graph, seen, seen.live))
    after, paid = np.asarray(next_own_infosets(graph, seen)), np.asarray(own_utility(seen))
    player, utility = np.asarray(seen.player), np.asarray(seen.utility)
    for column in range(infoset.shape[1]):
        for turn in np.flatnonzero(player[:, column] >= 0):
            who = player[turn, column]
            later = np.flatnonzero(player[turn + 1 :, column] == who)
            wanted = infoset[turn + 1 + later[0], column] if later.size else graph.num_infosets
            assert after[turn, column] == wanted
            assert paid[turn, column] == utility[column, who]


def test_generalised_advantages(leduc):
    graph, seen = some_episodes(leduc)
    guess = jnp.asarray(np.random.default_rng(0).normal(size=graph.num_infosets), jnp.float32)
    value, paid = guess[graph.infoset[seen.decision]], own_utility(seen)
    live = np.asarray(seen.live)
    whole = returns.compute_gae(seen, value, paid, 1.0)
    assert np.asarray(whole)[live] == approx(np.asarray(paid - value)[live], abs=1e-5)
    after = np.asarray(next_own_infosets(graph, seen))
    known = np.append(np.asarray(guess), 0.0)[after]
    last = after == graph.num_infosets
    step = np.where(last, np.asarray(paid), known) - np.asarray(value)
    found = np.asarray(returns.compute_gae(seen, value, paid, 1e-9))
    assert found[live] == approx(step[live], abs=1e-5)


def test_samples_added_up_by_their_sign_are_the_samples():
    """PPO's objective and its gradient, against one sample at a time."""
    rng = np.random.default_rng(3)
    legal = jnp.ones((4, 3), bool)
    old = softmax(jnp.asarray(rng.normal(size=(4, 3)), jnp.float32), legal)
    infoset, action = rng.integers(4, size=50), rng.integers(3, size=50)
    advantage = jnp.asarray(rng.normal(size=50), jnp.float32)
    zero = jnp.zeros((4, 3))
    gain = zero.at[infoset, action].add(jnp.maximum(advantage, 0.0))
    loss = zero.at[infoset, action].add(jnp.minimum(advantage, 0.0))

    def surrogate_sum(logits):
        return ppo_surrogate(softmax(logits, legal), old, legal, gain, loss, 0.2).sum()

    def surrogate_sum_by_decision(logits):
        ratio = (softmax(logits, legal) / old)[infoset, action]
        return jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage).sum()

    moved = safe_log(old) + jnp.asarray(rng.normal(size=(4, 3)), jnp.float32)
    assert float(surrogate_sum(moved)) == approx(float(surrogate_sum_by_decision(moved)), rel=1e-5)
    slopes = np.asarray(jax.grad(surrogate_sum_by_decision)(moved))
    assert np.abs(slopes).max() > 0.1
    assert np.asarray(jax.grad(surrogate_sum)(moved)) == approx(slopes, abs=1e-5)
