"""Regularised Nash dynamics, the learning of DeepNash, with networks."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.common import averages
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.jax_algorithm import JaxMemory
from counterplay.algorithms.deep.common.networks import select_player
from counterplay.algorithms.deep.common.tree_or_rules import is_two_player_zero_sum
from counterplay.algorithms.deep.policy_gradient.base import (
    LogitGradientInputs,
    PolicyGradientState,
    safe_log,
)
from counterplay.algorithms.deep.policy_gradient.magnet import MagnetPolicyGradient
from counterplay.algorithms.deep.policy_gradient.neurd import neurd_logit_gradient
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.settings import settings
from counterplay.errors import ConfigError


@settings(kw_only=True)
class RNaD(MagnetPolicyGradient):
    """R-NaD (Perolat and others, 2022). At t = 1, 2, ..., for both players at once:

        reward(I, a) = -tau * log(policy(a) / magnet(a)) to the one who acts, the opposite to the
                       other, besides what the game pays
        q(h, a)      = value of the action in that game, its own reward included
        A(I, a)      = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        W = W + lr_t * mean over visits of sum over a of f(a) * grad y(a)

    with f = A minus its mean over legal actions, zero where it would push a logit further than
    `threshold` from the mean: NeuRD in a game whose equilibrium is unique and attracts. Every
    `stage` iterations the magnet becomes the policy, on the way through the first half of a stage:
    log magnet lies between the logarithms of the last two copies. The paper values infosets by
    V-trace (`critic="value"`); here, by default, the critic is over histories and corrected by the
    sampled return: the same expectation, and less noise. `drop` makes the policy of play:
    probabilities below it are left out, the others rounded to multiples of 1 / `grid`.
    """

    temperature: float = 0.2
    temperature_end: float = 0.2
    magnet: str = "copy"
    logit_threshold: float = 3.0
    policy_threshold: float = 0.0  # DeepNash: 0.03; 0: no policy of play beside the others
    policy_discretization: int = 32

    def init(self, tree: TreeArena, seed: int = 0) -> JaxMemory:
        if not is_two_player_zero_sum(tree):
            raise ConfigError(f"{self.name} needs a two-player zero-sum game, unlike {tree.spec}")
        return super().init(tree, seed)

    def action_reward(
        self, policy: jax.Array, magnet: jax.Array, temperature: jax.Array
    ) -> jax.Array:
        return -temperature * jnp.where(policy > 0.0, safe_log(policy) - magnet, 0.0)

    def magnet_log_probs(self, graph: Graph, t: jax.Array, state: PolicyGradientState) -> jax.Array:
        last = super().magnet_log_probs(graph, t, state)
        if self.magnet != "copy":
            return last
        before = safe_log(averages.infoset_policies(select_player(state.magnet, 0), graph))
        part = jnp.minimum(
            1.0, 2.0 * ((t - 1) % self.magnet_update_every) / self.magnet_update_every
        )
        return part * last + (1.0 - part) * before

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        return neurd_logit_gradient(
            inputs._replace(temperature=jnp.zeros(())), self.logit_threshold
        )

    def tabulate(self, graph: Graph, state: PolicyGradientState) -> dict[str, Any]:
        found = super().tabulate(graph, state)
        if self.policy_threshold:
            found["play"] = post_process_policy(
                found["current"], self.policy_threshold, self.policy_discretization
            )
        return found


def post_process_policy(policy: jax.Array, threshold: float, discretization: int) -> jax.Array:
    """The policy [I, A] without what is below `drop`, in multiples of 1 / `grid`.

    What rounding adds or takes falls to the likeliest action.
    """
    best = policy == policy.max(-1, keepdims=True)
    kept = jnp.where((policy >= threshold) | best, policy, 0.0)
    kept = jnp.floor(kept / kept.sum(-1, keepdims=True) * discretization) / discretization
    first = jnp.arange(policy.shape[-1]) == policy.argmax(-1)[:, None]
    return kept + jnp.where(first, 1.0 - kept.sum(-1, keepdims=True), 0.0)
