"""A response by deep Q-learning."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common.best_response import (
    Iteration,
    ResponseBehaviour,
    apply_output_gradient,
)
from counterplay.algorithms.deep.common.buffers import ReplayBuffer
from counterplay.algorithms.deep.common.graph import Graph, Players
from counterplay.algorithms.deep.common.networks import Net, greedy, infoset_outputs, new_nets
from counterplay.algorithms.deep.common.replay_response import ReplayResponder, target_store
from counterplay.algorithms.deep.common.training import TrainState, init_train_states
from counterplay.core.settings import PositiveInt, Probability, settings

MAX_UNROLLED_UPDATES = 2  # up to this many updates are compiled without a loop


class DQNState(NamedTuple):
    """The state of `DQNResponse`."""

    q: TrainState  # of each player
    target: Any  # on a tree the largest value of Q' by infoset [I + 1]; on rules Q' itself
    replay_buffer: ReplayBuffer  # of (infoset, action, payoff, next infoset)


@settings(kw_only=True)
class DQNResponse(ReplayResponder[DQNState]):
    """Deep Q-learning (Mnih et al., 2015). At t = 1, 2, ...:

        ring buffer: decisions of learning players, with payoffs and next own infosets
        `num_updates` times, on a minibatch of the ring buffer:
        Q = Q - lr_t * grad mean of (Q(I, a) - payoff - max over legal b of Q'(I', b))^2

    with Q' the Q of up to `target_update_every` updates ago, zero after the last decision. The
    response is the greedy policy of Q, the first of equal actions; with probability epsilon_t the
    action is random. On a tree only the values of Q' are stored, not its weights. The mean is over
    the (infoset, action) pairs in the minibatch, of which one with n samples weighs
    n / (n + visit_saturation): weighed by n, rarely played actions would be fitted last, and a best
    response depends on them.
    """

    target_update_every: PositiveInt = 50
    epsilon: Probability = 0.2
    epsilon_end: Probability = 0.2

    def init_state(self, graph: Graph, rng: np.random.Generator, players: Players) -> DQNState:
        sizes = (graph.num_features, *self.hidden_sizes, graph.max_actions)
        nets = new_nets(rng, len(players), sizes, zero_head=True)
        target = target_store(graph).init(graph, nets)
        return DQNState(
            init_train_states(self.optimiser, nets), target, self.new_replay_buffer(graph)
        )

    def behaviour(
        self, graph: Graph, players: Players, t: Iteration, state: DQNState
    ) -> ResponseBehaviour:
        policy = greedy(infoset_outputs(graph, state.q.params, players), graph.legal)
        return ResponseBehaviour(policy, self.epsilon_at(t))

    def epsilon_at(self, t: Iteration) -> jax.Array:
        return self.epsilon + self.progress(t) * (self.epsilon_end - self.epsilon)

    def networks(self, state: DQNState) -> tuple[Net, str]:
        return state.q.params, "greedy"

    def fit(
        self, graph: Graph, players: Players, t: Iteration, state: DQNState, key: jax.Array
    ) -> DQNState:
        store = target_store(graph)

        def evaluate(rows: Graph, nets: Net) -> jax.Array:
            outputs = infoset_outputs(rows, nets, players)
            return jnp.where(rows.legal, outputs, -jnp.inf).max(-1)

        def update(
            networks: tuple[TrainState, Any], draw: tuple[jax.Array, jax.Array]
        ) -> tuple[tuple[TrainState, Any], None]:
            (q, target), (number, sample_key) = networks, draw
            next_values = store.next_values(target, evaluate)
            minibatch = self.sample_minibatch(graph, state.replay_buffer, next_values, sample_key)

            def error(outputs: jax.Array) -> jax.Array:
                weighted = minibatch.weight * minibatch.visits * outputs
                return weighted - minibatch.weighted_target_sum

            visits = minibatch.visits.sum(-1)
            q = apply_output_gradient(
                self.optimiser, minibatch.graph, players, q, error, visits, self.batch_size
            )
            num_updates = (t - 1) * self.num_updates + number + 1
            target = jax.lax.cond(
                num_updates % self.target_update_every == 0,
                lambda nets: store.refresh(graph, nets, evaluate),
                lambda nets: target,
                q.params,
            )
            return (q, target), None

        draws = jnp.arange(self.num_updates), jax.random.split(key, self.num_updates)
        unroll = self.num_updates <= MAX_UNROLLED_UPDATES and store.unrolls_updates
        (q, target), _ = jax.lax.scan(update, (state.q, state.target), draws, unroll=unroll)
        return DQNState(q, target, state.replay_buffer)
