"""A response by soft actor-critic, for actions that can be counted."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common.best_response import (
    Players,
    ResponseBehaviour,
    apply_output_gradient,
    infoset_outputs,
)
from counterplay.algorithms.deep.common.buffers import ReplayBuffer
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.networks import Net, new_nets, softmax
from counterplay.algorithms.deep.common.replay_response import ReplayResponder
from counterplay.algorithms.deep.common.training import TrainState, init_train_states
from counterplay.algorithms.deep.policy_gradient.base import polyak_update, safe_log
from counterplay.core.settings import settings

MIN_TEMPERATURE = 1e-3  # a lower temperature changes nothing


class SACState(NamedTuple):
    policy: TrainState  # of each player
    critics: tuple[TrainState, TrainState]
    target: Any  # [I + 1] soft value of every infoset, following, zero past the last; or Q'
    replay_buffer: ReplayBuffer  # of (where, action, payoff, where next)


@settings(kw_only=True)
class SACResponse(ReplayResponder):
    """Discrete SAC (Christodoulou, 2019). At t = 1, 2, ..., `updates` times, on minibatches of the
    ring, in which are the decisions of players that learn:

        Q_k     = Q_k - lr_t * grad mean of (Q_k(I, a) - payoff - V'(I'))^2,   k = 1, 2
        soft(I) = sum over a of policy(a) * (min Q(I, a) - tau_t * log policy(a))
        W       = W + lr_t * grad mean of sum over a of wanted(a) * log policy(a)
        wanted  = softmax of min Q(I, a) / tau_t
        V'      = V' + follow * (soft - V')

    with min Q the smaller of the two critics. The loss of SAC is the divergence between policy and
    wanted the other way round, whose gradient fades where an action is hardly played, so that a
    response could not turn when the others do. tau falls linearly to zero: at a constant one this
    is a quantal response. On a tree V' is kept as values, not as networks, and follows these; on
    rules critics Q' follow Q in the same way, and V' is what soft makes of them. It tries something
    at random with probability epsilon.
    """

    target_update_rate: float = 0.05
    temperature: float = 0.2
    epsilon: float = 0.2

    def init_state(self, graph: Graph, rng: np.random.Generator, players: Players) -> SACState:
        sizes = (graph.num_features, *self.hidden_sizes, graph.max_actions)
        policy, first, second = (
            new_nets(rng, len(players), sizes, zero_head=True) for _ in range(3)
        )
        critics = (
            init_train_states(self.optimiser, first),
            init_train_states(self.optimiser, second),
        )
        values = np.zeros(graph.num_infosets + 1, np.float32)
        later = jax.tree.map(np.copy, (first, second)) if graph.is_rollout_batch else values
        return SACState(
            init_train_states(self.optimiser, policy), critics, later, self.new_replay_buffer(graph)
        )

    def behaviour(
        self, graph: Graph, players: Players, t: jax.Array, state: SACState
    ) -> ResponseBehaviour:
        policy = softmax(infoset_outputs(graph, state.policy.params, players), graph.legal)
        return ResponseBehaviour(policy, self.epsilon_at(t))

    def epsilon_at(self, t: jax.Array) -> float:
        return self.epsilon

    def networks(self, state: SACState) -> tuple[Net, str]:
        return state.policy.params, "softmax"

    def fit(self, graph: Graph, players: Players, t: Any, state: SACState, key: Any) -> SACState:
        tau = self.temperature * (1.0 - self.progress(t))
        policy, critics, later = state.policy, state.critics, state.target

        def soft(there: Graph, policy: Net, critics: tuple[Net, Net]) -> jax.Array:
            lower = jnp.minimum(*(infoset_outputs(there, one, players) for one in critics))
            return soft_values(there.legal, lower, tau, infoset_outputs(there, policy, players))

        for draw_key in jax.random.split(key, self.num_updates):
            old, both = policy.params, (critics[0].params, critics[1].params)
            worth = partial(soft, policy=old, critics=later) if graph.is_rollout_batch else later
            some = self.sample_minibatch(graph, state.replay_buffer, worth, draw_key)
            visits = some.visits.sum(-1)
            step = partial(apply_output_gradient, self.optimiser, some.graph, players)
            lower = jnp.minimum(*(infoset_outputs(some.graph, one, players) for one in both))
            wanted = softmax(lower / jnp.maximum(tau, MIN_TEMPERATURE), some.graph.legal)
            share = (visits / (jnp.maximum(visits, 1.0) + self.visit_saturation))[:, None]
            legal = some.graph.legal
            down = lambda logits, w=share, p=wanted, e=legal: w * (softmax(logits, e) - p)  # noqa: E731
            policy = step(policy, down, visits, self.batch_size)
            weight, target = some.weight * some.visits, some.weighted_target_sum
            error = lambda says, n=weight, y=target: n * says - y  # noqa: E731
            one, two = (step(q, error, visits, self.batch_size) for q in critics)
            critics = one, two
            if graph.is_rollout_batch:
                later = polyak_update(later, both, self.target_update_rate)
            else:
                later = later + self.target_update_rate * (
                    jnp.append(soft(graph, old, both), 0.0) - later
                )
        return SACState(policy, critics, later, state.replay_buffer)


def soft_values(
    legal: jax.Array, values: jax.Array, temperature: jax.Array, logits: jax.Array
) -> Any:
    """What a policy expects of values [I, A] at every infoset [I], its entropy times tau added."""
    policy = softmax(logits, legal)
    soft = values - temperature * safe_log(policy)
    return jnp.where(legal, policy * soft, 0.0).sum(-1)
