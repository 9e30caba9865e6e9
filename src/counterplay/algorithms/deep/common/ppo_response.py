"""A response by proximal policy optimisation."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common.best_response import (
    Experience,
    Iteration,
    Responder,
    ResponseBehaviour,
    apply_output_gradient,
    infosets_where,
    own_utility,
    sum_by_infoset_action,
)
from counterplay.algorithms.deep.common.graph import Graph, Players
from counterplay.algorithms.deep.common.networks import (
    Net,
    entropy,
    infoset_outputs,
    new_nets,
    safe_log,
    softmax,
)
from counterplay.algorithms.deep.common.returns import compute_gae
from counterplay.algorithms.deep.common.training import TrainState, init_train_states
from counterplay.core.settings import NonNegative, PositiveInt, PositiveProbability, settings
from counterplay.errors import ConfigError


class PPOState(NamedTuple):
    """The state of `PPOResponse`."""

    policy: TrainState  # of each player
    value: TrainState  # V of each player


@settings(kw_only=True)
class PPOResponse(Responder[PPOState]):
    """PPO (Schulman et al., 2017). At t = 1, 2, ..., on the decisions of the last episodes:

        d = V(I') - V(I), or payoff - V(I) at the last decision of an episode
        A = d + gae_lambda * A at the player's next decision
        W = W + lr_t * grad mean of [min(r * A, clip(r, 1 - clip_eps, 1 + clip_eps) * A)
                                     + c_t * entropy],  r = policy(a) / old policy(a)
        V = V - value_learning_rate * grad mean of (V(I) - V before - A)^2

    with `num_epochs` steps of W. The entropy coefficient c_t falls linearly to zero, so that the
    response becomes as pure as the game allows, or geometrically to `entropy_coef_end`. Adam has no
    momentum, since the opponents may change.
    """

    num_epochs: PositiveInt = 2
    clip_eps: NonNegative = 0.2
    gae_lambda: PositiveProbability = 0.95
    entropy_coef: NonNegative = 0.5
    entropy_coef_end: NonNegative = 0.0
    visit_saturation: NonNegative = 0.0  # n visits weigh n / (1 + n / this); 0: n
    value_learning_rate: NonNegative = 1e-3

    def __post_init__(self) -> None:
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
        self, graph: Graph, players: Players, t: Iteration, state: PPOState
    ) -> ResponseBehaviour:
        policy = softmax(infoset_outputs(graph, state.policy.params, players), graph.legal)
        return ResponseBehaviour(policy, self.epsilon_at(t))

    def networks(self, state: PPOState) -> tuple[Net, str]:
        return state.policy.params, "softmax"

    def observe(
        self,
        graph: Graph,
        players: Players,
        t: Iteration,
        state: PPOState,
        experience: Experience,
    ) -> PPOState:
        episodes, mask = experience.episodes, experience.is_response
        infoset, count = infosets_where(graph, episodes, mask), jnp.maximum(mask.sum(), 1)
        values = infoset_outputs(graph, state.value.params, players)[:, 0]
        payoff = own_utility(episodes) / self.resolve_utility_scale(graph)
        advantage = compute_gae(
            episodes, values[graph.infoset[episodes.decision]], payoff, self.gae_lambda
        )
        entries = (infoset, episodes.action)
        gain = sum_by_infoset_action(graph, entries, jnp.maximum(advantage, 0.0)) / count
        loss = sum_by_infoset_action(graph, entries, jnp.minimum(advantage, 0.0)) / count
        visits = sum_by_infoset_action(graph, entries, mask.astype(jnp.float32)).sum(-1) / count
        if self.visit_saturation:
            factor = 1.0 / (1.0 + count * visits / self.visit_saturation)
            gain, loss, visits = gain * factor[:, None], loss * factor[:, None], visits * factor
        error = (gain + loss).sum(-1)
        value = apply_output_gradient(
            self.value_optimiser,
            graph,
            players,
            state.value,
            lambda outputs: visits[:, None] * (outputs - values[:, None]) - error[:, None],
        )
        entropy_coef = self.entropy_coef_at(t)
        old = softmax(infoset_outputs(graph, state.policy.params, players), graph.legal)

        def loss_gradient(logits: jax.Array) -> jax.Array:
            def negative_objective(logits: jax.Array) -> jax.Array:
                policy = softmax(logits, graph.legal)
                surrogate = ppo_surrogate(policy, old, graph.legal, gain, loss, self.clip_eps)
                return -(surrogate + entropy_coef * visits * entropy(policy)).sum()

            return jax.grad(negative_objective)(logits)

        policy = state.policy
        for _ in range(self.num_epochs):
            policy = apply_output_gradient(self.optimiser, graph, players, policy, loss_gradient)
        return PPOState(policy, value)

    def entropy_coef_at(self, t: Iteration) -> jax.Array:
        """Return the weight of the entropy at iteration t."""
        progress = self.progress(t)
        if self.entropy_coef_end:
            return self.entropy_coef * (self.entropy_coef_end / self.entropy_coef) ** progress
        return self.entropy_coef * (1.0 - progress)

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
    positive_advantage: jax.Array,
    negative_advantage: jax.Array,
    clip_eps: float,
) -> jax.Array:
    """Return PPO's clipped objective at every infoset [I].

    Args:
        positive_advantage: sum [I, A] of the positive advantages sampled for each action.
        negative_advantage: likewise of the negative ones.
    """
    ratio = jnp.exp(safe_log(policy) - safe_log(jnp.where(legal, old_policy, 1.0)))
    upper, lower = jnp.minimum(ratio, 1.0 + clip_eps), jnp.maximum(ratio, 1.0 - clip_eps)
    return jnp.where(legal, upper * positive_advantage + lower * negative_advantage, 0.0).sum(-1)
