"""A response by deep Q-learning."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.deep.buffers import Buffer
from counterplay.deep.fitting import Trained, in_training
from counterplay.deep.graph import Graph
from counterplay.deep.nets import Net, greedy, new_nets
from counterplay.deep.responders import Players, Plays, improved, said
from counterplay.deep.ring_responses import RingResponder
from counterplay.settings import settings


class State(NamedTuple):
    q: Trained  # of each player
    later: Any  # [I + 1] the best of Q' at every infoset, zero after the last; on rules Q'
    ring: Buffer  # of (where, action, payoff, where next)


@settings(kw_only=True)
class DQNResponse(RingResponder):
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

    target_every: int = 50
    epsilon: float = 0.2
    epsilon_end: float = 0.2

    def start(self, graph: Graph, rng: np.random.Generator, players: Players) -> State:
        sizes = (graph.num_features, *self.units, graph.max_actions)
        nets = new_nets(rng, len(players), sizes, zero_head=True)
        values = np.zeros(graph.num_infosets + 1, np.float32)
        later = jax.tree.map(np.copy, nets) if graph.is_batch else values
        return State(in_training(self.optimiser, nets), later, self.new_ring(graph))

    def plays(self, graph: Graph, players: Players, t: jax.Array, state: State) -> Plays:
        policy = greedy(said(graph, state.q.params, players), graph.legal)
        return Plays(policy, self.epsilon_at(t))

    def epsilon_at(self, t: jax.Array) -> jax.Array:
        return self.epsilon + self.passed(t) * (self.epsilon_end - self.epsilon)

    def networks(self, state: State) -> tuple[Net, str]:
        return state.q.params, "greedy"

    def fitted(self, graph: Graph, players: Players, t: Any, state: State, key: Any) -> State:

        def best_later(later: Any) -> Any:
            if not graph.is_batch:
                return later
            return lambda there: best_values(there, said(there, later, players))[:-1]

        def update(given: tuple[Trained, Any], now: tuple[jax.Array, jax.Array]) -> Any:
            (q, later), (number, draw_key) = given, now
            some = self.drawn(graph, state.ring, best_later(later), draw_key)
            error = lambda says: some.weight * some.visits * says - some.total  # noqa: E731
            visits = some.visits.sum(-1)
            q = improved(self.optimiser, some.graph, players, q, error, visits, self.batch)
            done = (t - 1) * self.updates + number + 1
            later = jax.lax.cond(
                done % self.target_every == 0,
                lambda q: q if graph.is_batch else best_values(graph, said(graph, q, players)),
                lambda q: later,
                q.params,
            )
            return (q, later), None

        draws = jnp.arange(self.updates), jax.random.split(key, self.updates)
        start, few = (state.q, state.later), self.updates <= 2 and not graph.is_batch
        (q, later), _ = jax.lax.scan(update, start, draws, unroll=few)
        return State(q, later, state.ring)


def best_values(graph: Graph, values: jax.Array) -> jax.Array:
    """The largest value at every infoset [I + 1]; zero past the last."""
    return jnp.append(jnp.where(graph.legal, values, -jnp.inf).max(-1), 0.0)
