"""A response by proximal policy optimisation."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common.best_response import (
    Experience,
    Players,
    Responder,
    ResponseBehaviour,
    apply_output_gradient,
    infoset_outputs,
    infosets_where,
    own_utility,
    sum_by_infoset_action,
)
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.networks import Net, new_nets, softmax
from counterplay.algorithms.deep.common.returns import compute_gae
from counterplay.algorithms.deep.common.training import TrainState, init_train_states
from counterplay.algorithms.deep.policy_gradient.base import entropy, safe_log
from counterplay.core.settings import settings
from counterplay.errors import ConfigError


class PPOState(NamedTuple):
    policy: TrainState  # of each player
    value: TrainState


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

    num_epochs: int = 2
    clip_eps: float = 0.2
    gae_lambda: float = 0.95
    entropy_coef: float = 0.5
    entropy_coef_end: float = 0.0
    visit_saturation: float = 0.0  # visits from which on more of them hardly count more; 0: they do
    value_learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.entropy_coef_end > self.entropy_coef:
            limit = f"must be at most entropy_coef ({self.entropy_coef})"
            problem = f"entropy_coef_end is {self.entropy_coef_end}, {limit}"
            raise ConfigError(f"{type(self).__name__}: {problem}")

    def init_state(self, graph: Graph, rng: np.random.Generator, players: Players) -> PPOState:
        sizes = (graph.num_features, *self.hidden_sizes)
        policy = new_nets(rng, len(players), (*sizes, graph.max_actions), zero_head=True)
        value = new_nets(rng, len(players), (*sizes, 1), zero_head=True)
        return PPOState(
            init_train_states(self.optimiser, policy),
            init_train_states(self.value_optimiser, value),
        )

    def behaviour(
        self, graph: Graph, players: Players, t: jax.Array, state: PPOState
    ) -> ResponseBehaviour:
        policy = softmax(infoset_outputs(graph, state.policy.params, players), graph.legal)
        return ResponseBehaviour(policy, self.epsilon_at(t))

    def networks(self, state: PPOState) -> tuple[Net, str]:
        return state.policy.params, "softmax"

    def observe(
        self, graph: Graph, players: Players, t: Any, state: PPOState, experience: Experience
    ) -> PPOState:
        episodes, which = experience.episodes, experience.is_response
        infoset, count = infosets_where(graph, episodes, which), jnp.maximum(which.sum(), 1)
        values = infoset_outputs(graph, state.value.params, players)[:, 0]
        payoff = own_utility(episodes) / self.resolve_utility_scale(graph)
        advantage = compute_gae(
            episodes, values[graph.infoset[episodes.decision]], payoff, self.gae_lambda
        )
        place = (infoset, episodes.action)
        gain = sum_by_infoset_action(graph, place, jnp.maximum(advantage, 0.0)) / count
        loss = sum_by_infoset_action(graph, place, jnp.minimum(advantage, 0.0)) / count
        visits = sum_by_infoset_action(graph, place, which.astype(jnp.float32)).sum(-1) / count
        if self.visit_saturation:
            less = 1.0 / (1.0 + count * visits / self.visit_saturation)
            gain, loss, visits = gain * less[:, None], loss * less[:, None], visits * less
        error = (gain + loss).sum(-1)
        value = apply_output_gradient(
            self.value_optimiser,
            graph,
            players,
            state.value,
            lambda says: visits[:, None] * (says - values[:, None]) - error[:, None],
        )
        tau = self.entropy_coef_at(t)
        old = softmax(infoset_outputs(graph, state.policy.params, players), graph.legal)

        def down(logits: jax.Array) -> jax.Array:
            def objective(logits: jax.Array) -> jax.Array:
                policy = softmax(logits, graph.legal)
                proximal = ppo_surrogate(policy, old, graph.legal, gain, loss, self.clip_eps)
                return -(proximal + tau * visits * entropy(policy)).sum()

            return jax.grad(objective)(logits)

        policy = state.policy
        for _ in range(self.num_epochs):
            policy = apply_output_gradient(self.optimiser, graph, players, policy, down)
        return PPOState(policy, value)

    def entropy_coef_at(self, t: jax.Array) -> jax.Array:
        if self.entropy_coef_end:
            return self.entropy_coef * (self.entropy_coef_end / self.entropy_coef) ** self.progress(
                t
            )
        return self.entropy_coef * (1.0 - self.progress(t))

    @property
    def optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.learning_rate_schedule(self.num_epochs), b1=0.0)

    @property
    def value_optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.value_learning_rate)


def ppo_surrogate(
    policy: jax.Array,
    old_policy: jax.Array,
    legal: jax.Array,
    positive_advantage: Any,
    negative_advantage: Any,
    clip_eps: float,
) -> jax.Array:
    """PPO's objective at every infoset [I], of samples added up [I, A] by the sign they have."""
    ratio = jnp.exp(safe_log(policy) - safe_log(jnp.where(legal, old_policy, 1.0)))
    best, worst = jnp.minimum(ratio, 1.0 + clip_eps), jnp.maximum(ratio, 1.0 - clip_eps)
    return jnp.where(legal, best * positive_advantage + worst * negative_advantage, 0.0).sum(-1)
