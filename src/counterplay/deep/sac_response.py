"""A response by soft actor-critic, for actions that can be counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.deep.buffers import Buffer
from counterplay.deep.fitting import Trained, in_training
from counterplay.deep.gradients import log_of
from counterplay.deep.graph import Graph
from counterplay.deep.nets import new_nets, softmax
from counterplay.deep.responders import Experience, Players, Plays, improved, said
from counterplay.deep.ring_responses import RingResponder

COLDEST = 1e-3  # a lower temperature changes nothing


class State(NamedTuple):
    policy: Trained  # of each player
    critics: tuple[Trained, Trained]
    later: jax.Array  # [I + 1] soft value of every infoset, following; zero after the last decision
    ring: Buffer  # of (infoset, action, payoff, next infoset or I)


@dataclass(frozen=True, kw_only=True)
class SACResponse(RingResponder):
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
    is a quantal response. V' is kept as values, not as networks, and follows these. It tries
    something at random with probability epsilon.
    """

    follow: float = 0.05
    tau: float = 0.2
    epsilon: float = 0.2

    def start(self, graph: Graph, rng: np.random.Generator, players: Players) -> State:
        sizes = (graph.num_features, *self.units, graph.max_actions)
        policy, first, second = (
            new_nets(rng, len(players), sizes, zero_head=True) for _ in range(3)
        )
        critics = in_training(self.optimiser, first), in_training(self.optimiser, second)
        later = np.zeros(graph.num_infosets + 1, np.float32)
        return State(in_training(self.optimiser, policy), critics, later, self.new_ring())

    def plays(self, graph: Graph, players: Players, t: jax.Array, state: State) -> Plays:
        policy = softmax(said(graph, state.policy.params, players), graph.legal)
        return Plays(policy, self.epsilon)

    def learned(
        self, graph: Graph, players: Players, t: Any, state: State, seen: Experience, key: Any
    ) -> State:
        ring = self.with_transitions(graph, state.ring, seen)
        tau = self.tau * (1.0 - self.passed(t))
        policy, critics, later = state.policy, state.critics, state.later
        for draw_key in jax.random.split(key, self.updates):
            count, weight, total = self.drawn(graph, ring, later, draw_key)
            lower = jnp.minimum(*(said(graph, one.params, players) for one in critics))
            logits = said(graph, policy.params, players)
            soft = soft_values(graph.legal, lower, tau, logits)
            wanted = softmax(lower / jnp.maximum(tau, COLDEST), graph.legal)
            visits = count.sum(-1, keepdims=True)
            share = visits / (visits + self.even)
            down = lambda logits, w=share, p=wanted: w * (softmax(logits, graph.legal) - p)  # noqa: E731
            policy = improved(self.optimiser, graph, players, policy, down)
            error = lambda says, n=weight * count, y=total: n * says - y  # noqa: E731
            one, two = (improved(self.optimiser, graph, players, q, error) for q in critics)
            critics, later = (one, two), later + self.follow * (jnp.append(soft, 0.0) - later)
        return State(policy, critics, later, ring)


def soft_values(legal: jax.Array, values: jax.Array, tau: jax.Array, logits: jax.Array) -> Any:
    """What a policy expects of values [I, A] at every infoset [I], its entropy times tau added."""
    policy = softmax(logits, legal)
    soft = values - tau * log_of(policy)
    return jnp.where(legal, policy * soft, 0.0).sum(-1)
