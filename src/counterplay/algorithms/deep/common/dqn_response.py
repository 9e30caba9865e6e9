"""A response by deep Q-learning."""

from __future__ import annotations

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
from counterplay.algorithms.deep.common.networks import Net, greedy, new_nets
from counterplay.algorithms.deep.common.replay_response import ReplayResponder
from counterplay.algorithms.deep.common.training import TrainState, init_train_states
from counterplay.core.settings import settings


class DQNState(NamedTuple):
    q: TrainState  # of each player
    target: Any  # [I + 1] the best of Q' at every infoset, zero after the last; on rules Q'
    replay_buffer: ReplayBuffer  # of (where, action, payoff, where next)


@settings(kw_only=True)
class DQNResponse(ReplayResponder):
    """Deep Q-learning (Mnih and others, 2015). At t = 1, 2, ...:

        ring: the decisions of players that learn, what they were paid, their next infosets
        `updates` times, on a minibatch of the ring:
        Q = Q - lr_t * grad mean of (Q(I, a) - payoff - max over legal b of Q'(I', b))^2

    with Q' the Q of up to `target_every` updates ago, zero after the last decision. It plays what Q
    likes best, the first of equals, and tries something at random with probability epsilon_t. On a
    tree Q' is remembered by its values, which is all that is asked of it. The mean is over the
    actions in the minibatch, each weighed by n / (n + even) if it is there n times: by n alone,
    actions that are rarely played would be fitted last, and those are what a best response turns
    on.
    """

    target_update_every: int = 50
    epsilon: float = 0.2
    epsilon_end: float = 0.2

    def init_state(self, graph: Graph, rng: np.random.Generator, players: Players) -> DQNState:
        sizes = (graph.num_features, *self.hidden_sizes, graph.max_actions)
        nets = new_nets(rng, len(players), sizes, zero_head=True)
        values = np.zeros(graph.num_infosets + 1, np.float32)
        later = jax.tree.map(np.copy, nets) if graph.is_rollout_batch else values
        return DQNState(
            init_train_states(self.optimiser, nets), later, self.new_replay_buffer(graph)
        )

    def behaviour(
        self, graph: Graph, players: Players, t: jax.Array, state: DQNState
    ) -> ResponseBehaviour:
        policy = greedy(infoset_outputs(graph, state.q.params, players), graph.legal)
        return ResponseBehaviour(policy, self.epsilon_at(t))

    def epsilon_at(self, t: jax.Array) -> jax.Array:
        return self.epsilon + self.progress(t) * (self.epsilon_end - self.epsilon)

    def networks(self, state: DQNState) -> tuple[Net, str]:
        return state.q.params, "greedy"

    def fit(self, graph: Graph, players: Players, t: Any, state: DQNState, key: Any) -> DQNState:

        def best_later(later: Any) -> Any:
            if not graph.is_rollout_batch:
                return later
            return lambda there: best_values(there, infoset_outputs(there, later, players))[:-1]

        def update(given: tuple[TrainState, Any], now: tuple[jax.Array, jax.Array]) -> Any:
            (q, later), (number, draw_key) = given, now
            some = self.sample_minibatch(graph, state.replay_buffer, best_later(later), draw_key)
            error = lambda says: some.weight * some.visits * says - some.weighted_target_sum  # noqa: E731
            visits = some.visits.sum(-1)
            q = apply_output_gradient(
                self.optimiser, some.graph, players, q, error, visits, self.batch_size
            )
            done = (t - 1) * self.num_updates + number + 1
            later = jax.lax.cond(
                done % self.target_update_every == 0,
                lambda q: (
                    q
                    if graph.is_rollout_batch
                    else best_values(graph, infoset_outputs(graph, q, players))
                ),
                lambda q: later,
                q.params,
            )
            return (q, later), None

        draws = jnp.arange(self.num_updates), jax.random.split(key, self.num_updates)
        start, few = (state.q, state.target), self.num_updates <= 2 and not graph.is_rollout_batch
        (q, later), _ = jax.lax.scan(update, start, draws, unroll=few)
        return DQNState(q, later, state.replay_buffer)


def best_values(graph: Graph, values: jax.Array) -> jax.Array:
    """The largest value at every infoset [I + 1]; zero past the last."""
    return jnp.append(jnp.where(graph.legal, values, -jnp.inf).max(-1), 0.0)
