"""A response by proximal policy optimisation."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.deep.fitting import Trained, in_training
from counterplay.deep.gradients import entropy, log_of
from counterplay.deep.graph import Graph
from counterplay.deep.nets import Net, new_nets, softmax
from counterplay.deep.responders import (
    Experience,
    Players,
    Plays,
    Responder,
    added_up,
    improved,
    infosets_of,
    own_utility,
    said,
)
from counterplay.deep.values import own_traces
from counterplay.errors import ConfigError
from counterplay.settings import settings


class State(NamedTuple):
    policy: Trained  # of each player
    value: Trained


@settings(kw_only=True)
class PPOResponse(Responder):
    """PPO (Schulman and others, 2017). At t = 1, 2, ..., on the decisions that it has just made:

        d = V(I') - V(I), or payoff - V(I) at the last decision of an episode
        A = d + trace * A at the player's next decision
        W = W + lr_t * grad mean of [min(r * A, r within 1 - clip and 1 + clip, times A)
                                     + tau_t * entropy],  r = policy(a) / old policy(a)
        V = V - value_lr * grad mean of (V(I) - V before - A)^2

    the first `epochs` times. tau falls linearly to zero, so that the response gets as pure as the
    game lets it, or geometrically to `tau_end`. No momentum: the others may move.
    """

    epochs: int = 2
    clip: float = 0.2
    trace: float = 0.95
    tau: float = 0.5
    tau_end: float = 0.0
    even: float = 0.0  # visits from which on more of them hardly count more; 0: they do
    value_lr: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tau_end > self.tau:
            problem = f"tau_end is {self.tau_end}, must be at most tau ({self.tau})"
            raise ConfigError(f"{type(self).__name__}: {problem}")

    def start(self, graph: Graph, rng: np.random.Generator, players: Players) -> State:
        sizes = (graph.num_features, *self.units)
        policy = new_nets(rng, len(players), (*sizes, graph.max_actions), zero_head=True)
        value = new_nets(rng, len(players), (*sizes, 1), zero_head=True)
        return State(in_training(self.optimiser, policy), in_training(self.value_optimiser, value))

    def plays(self, graph: Graph, players: Players, t: jax.Array, state: State) -> Plays:
        policy = softmax(said(graph, state.policy.params, players), graph.legal)
        return Plays(policy, self.epsilon_at(t))

    def networks(self, state: State) -> tuple[Net, str]:
        return state.policy.params, "softmax"

    def told(self, graph: Graph, players: Players, t: Any, state: State, seen: Experience) -> State:
        episodes, which = seen.episodes, seen.responds
        infoset, count = infosets_of(graph, episodes, which), jnp.maximum(which.sum(), 1)
        values = said(graph, state.value.params, players)[:, 0]
        payoff = own_utility(episodes) / self.unit(graph)
        advantage = own_traces(
            episodes, values[graph.infoset[episodes.decision]], payoff, self.trace
        )
        place = (infoset, episodes.action)
        gain = added_up(graph, place, jnp.maximum(advantage, 0.0)) / count
        loss = added_up(graph, place, jnp.minimum(advantage, 0.0)) / count
        visits = added_up(graph, place, which.astype(jnp.float32)).sum(-1) / count
        if self.even:
            less = 1.0 / (1.0 + count * visits / self.even)
            gain, loss, visits = gain * less[:, None], loss * less[:, None], visits * less
        error = (gain + loss).sum(-1)
        value = improved(
            self.value_optimiser,
            graph,
            players,
            state.value,
            lambda says: visits[:, None] * (says - values[:, None]) - error[:, None],
        )
        tau = self.tau_at(t)
        old = softmax(said(graph, state.policy.params, players), graph.legal)

        def down(logits: jax.Array) -> jax.Array:
            def objective(logits: jax.Array) -> jax.Array:
                policy = softmax(logits, graph.legal)
                proximal = clipped(policy, old, graph.legal, gain, loss, self.clip)
                return -(proximal + tau * visits * entropy(policy)).sum()

            return jax.grad(objective)(logits)

        policy = state.policy
        for _ in range(self.epochs):
            policy = improved(self.optimiser, graph, players, policy, down)
        return State(policy, value)

    def tau_at(self, t: jax.Array) -> jax.Array:
        if self.tau_end:
            return self.tau * (self.tau_end / self.tau) ** self.passed(t)
        return self.tau * (1.0 - self.passed(t))

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.rate(self.epochs), b1=0.0)

    @property
    def value_optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.value_lr)


def clipped(
    policy: jax.Array, old: jax.Array, legal: jax.Array, gain: Any, loss: Any, clip: float
) -> jax.Array:
    """PPO's objective at every infoset [I], of samples added up [I, A] by the sign they have."""
    ratio = jnp.exp(log_of(policy) - log_of(jnp.where(legal, old, 1.0)))
    best, worst = jnp.minimum(ratio, 1.0 + clip), jnp.maximum(ratio, 1.0 - clip)
    return jnp.where(legal, best * gain + worst * loss, 0.0).sum(-1)
