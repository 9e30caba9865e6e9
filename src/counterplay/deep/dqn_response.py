"""A response by deep Q-learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.deep.buffers import Buffer
from counterplay.deep.fitting import Trained, in_training
from counterplay.deep.graph import Graph
from counterplay.deep.nets import new_nets
from counterplay.deep.responders import Experience, Players, Plays, improved, said
from counterplay.deep.ring_responses import RingResponder


class State(NamedTuple):
    q: Trained  # of each player
    later: jax.Array  # [I + 1] the best of Q' at every infoset; zero after the last decision
    ring: Buffer  # of (infoset, action, payoff, next infoset or I)


@dataclass(frozen=True, kw_only=True)
class DQNResponse(RingResponder):
    """Deep Q-learning (Mnih and others, 2015). At t = 1, 2, ...:

        ring: the decisions of players that learn, what they were paid, their next infosets
        `updates` times, on a minibatch of the ring:
        Q = Q - lr_t * grad mean of (Q(I, a) - payoff - max over legal b of Q'(I', b))^2

    with Q' the Q of up to `target_every` updates ago, zero after the last decision. It plays what Q
    likes best, the first of equals, and tries something at random with probability epsilon_t. Q'
    is remembered by its values, which is all that is asked of it. The mean is over the actions in
    the minibatch, each weighed by n / (n + even) if it is there n times: by n alone, actions that
    are rarely played would be fitted last, and those are what a best response turns on.
    """

    target_every: int = 50
    epsilon: float = 0.2
    epsilon_end: float = 0.2

    def start(self, graph: Graph, rng: np.random.Generator, players: Players) -> State:
        sizes = (graph.num_features, *self.units, graph.max_actions)
        nets = new_nets(rng, len(players), sizes, zero_head=True)
        return State(
            in_training(self.optimiser, nets),
            np.zeros(graph.num_infosets + 1, np.float32),
            self.new_ring(),
        )

    def plays(self, graph: Graph, players: Players, t: jax.Array, state: State) -> Plays:
        values = jnp.where(graph.legal, said(graph, state.q.params, players), -jnp.inf)
        policy = jax.nn.one_hot(values.argmax(-1), graph.max_actions)
        epsilon = self.epsilon + self.passed(t) * (self.epsilon_end - self.epsilon)
        return Plays(policy, epsilon)

    def learned(
        self, graph: Graph, players: Players, t: Any, state: State, seen: Experience, key: Any
    ) -> State:
        ring = self.with_transitions(graph, state.ring, seen)
        q, later = state.q, state.later
        for number, draw_key in enumerate(jax.random.split(key, self.updates)):
            count, weight, total = self.drawn(graph, ring, later, draw_key)
            q = improved(
                self.optimiser,
                graph,
                players,
                q,
                lambda says, n=weight * count, y=total: n * says - y,
            )
            done = (t - 1) * self.updates + number + 1
            later = jax.lax.cond(
                done % self.target_every == 0,
                lambda q: best_values(graph, said(graph, q, players)),
                lambda q, kept=later: kept,
                q.params,
            )
        return State(q, later, ring)


def best_values(graph: Graph, values: jax.Array) -> jax.Array:
    """The largest value at every infoset [I + 1]; zero past the last."""
    return jnp.append(jnp.where(graph.legal, values, -jnp.inf).max(-1), 0.0)
