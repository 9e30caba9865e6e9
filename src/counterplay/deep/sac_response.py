"""A response by soft actor-critic, for actions that can be counted."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.deep.buffers import Buffer
from counterplay.deep.fitting import Trained, in_training
from counterplay.deep.gradients import blend, log_of
from counterplay.deep.graph import Graph
from counterplay.deep.nets import Net, new_nets, softmax
from counterplay.deep.responders import Players, Plays, improved, said
from counterplay.deep.ring_responses import RingResponder
from counterplay.settings import settings

COLDEST = 1e-3  # a lower temperature changes nothing


class State(NamedTuple):
    policy: Trained  # of each player
    critics: tuple[Trained, Trained]
    later: Any  # [I + 1] soft value of every infoset, following, zero past the last; or Q'
    ring: Buffer  # of (where, action, payoff, where next)


@settings(kw_only=True)
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
    is a quantal response. On a tree V' is kept as values, not as networks, and follows these; on
    rules critics Q' follow Q in the same way, and V' is what soft makes of them. It tries something
    at random with probability epsilon.
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
        values = np.zeros(graph.num_infosets + 1, np.float32)
        later = jax.tree.map(np.copy, (first, second)) if graph.is_batch else values
        return State(in_training(self.optimiser, policy), critics, later, self.new_ring(graph))

    def plays(self, graph: Graph, players: Players, t: jax.Array, state: State) -> Plays:
        policy = softmax(said(graph, state.policy.params, players), graph.legal)
        return Plays(policy, self.epsilon_at(t))

    def epsilon_at(self, t: jax.Array) -> float:
        return self.epsilon

    def networks(self, state: State) -> tuple[Net, str]:
        return state.policy.params, "softmax"

    def fitted(self, graph: Graph, players: Players, t: Any, state: State, key: Any) -> State:
        tau = self.tau * (1.0 - self.passed(t))
        policy, critics, later = state.policy, state.critics, state.later

        def soft(there: Graph, policy: Net, critics: tuple[Net, Net]) -> jax.Array:
            lower = jnp.minimum(*(said(there, one, players) for one in critics))
            return soft_values(there.legal, lower, tau, said(there, policy, players))

        for draw_key in jax.random.split(key, self.updates):
            old, both = policy.params, (critics[0].params, critics[1].params)
            worth = partial(soft, policy=old, critics=later) if graph.is_batch else later
            some = self.drawn(graph, state.ring, worth, draw_key)
            visits = some.visits.sum(-1)
            step = partial(improved, self.optimiser, some.graph, players)
            lower = jnp.minimum(*(said(some.graph, one, players) for one in both))
            wanted = softmax(lower / jnp.maximum(tau, COLDEST), some.graph.legal)
            share = (visits / (jnp.maximum(visits, 1.0) + self.even))[:, None]
            legal = some.graph.legal
            down = lambda logits, w=share, p=wanted, e=legal: w * (softmax(logits, e) - p)  # noqa: E731
            policy = step(policy, down, visits, self.batch)
            error = lambda says, n=some.weight * some.visits, y=some.total: n * says - y  # noqa: E731
            one, two = (step(q, error, visits, self.batch) for q in critics)
            critics = one, two
            if graph.is_batch:
                later = blend(later, both, self.follow)
            else:
                later = later + self.follow * (jnp.append(soft(graph, old, both), 0.0) - later)
        return State(policy, critics, later, state.ring)


def soft_values(legal: jax.Array, values: jax.Array, tau: jax.Array, logits: jax.Array) -> Any:
    """What a policy expects of values [I, A] at every infoset [I], its entropy times tau added."""
    policy = softmax(logits, legal)
    soft = values - tau * log_of(policy)
    return jnp.where(legal, policy * soft, 0.0).sum(-1)
