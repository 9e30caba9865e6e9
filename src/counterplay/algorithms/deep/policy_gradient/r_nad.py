"""Regularised Nash dynamics with networks, the learning algorithm of DeepNash."""

from __future__ import annotations

from typing import Annotated

import jax
import jax.numpy as jnp
from annotated_types import Ge, Lt

from counterplay.algorithms.deep.common import averages
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.jax_algorithm import JaxMemory
from counterplay.algorithms.deep.common.networks import safe_log, select_player
from counterplay.algorithms.deep.common.tree_or_rules import is_two_player_zero_sum
from counterplay.algorithms.deep.policy_gradient.base import (
    LogitGradientInputs,
    PolicyGradientState,
)
from counterplay.algorithms.deep.policy_gradient.magnet import MagnetName, MagnetPolicyGradient
from counterplay.algorithms.deep.policy_gradient.neurd import neurd_logit_gradient
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.settings import NonNegative, PositiveInt, settings
from counterplay.errors import ConfigError


@settings(kw_only=True)
class RNaD(MagnetPolicyGradient):
    """R-NaD (Perolat et al., 2022). At t = 1, 2, ..., for both players at once:

        reward(I, a) = -tau * log(policy(a) / magnet(a)) for the acting player, the opposite for
                       the other player, besides the game's utilities
        q(h, a)      = value of the action in that game, its own reward included
        A(I, a)      = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        W = W + lr_t * mean over visits of sum over a of f(a) * grad y(a)

    with f = A minus its mean over legal actions, zero where it would push a logit further than
    `logit_threshold` from the mean: NeuRD in a game whose equilibrium is unique and attracting.
    Every `magnet_update_every` iterations the magnet becomes the policy, gradually: in the first
    half of the interval log magnet is interpolated between the last two copies. The copy is of the
    averaged weights; the paper copies its target network, which is such an average too. The paper
    values infosets by V-trace (`critic="value"`); here, by default, the critic is of histories and
    corrected by the sampled return, which has the same expectation and less noise. With
    `policy_threshold` the policy `play` is returned too: probabilities below the threshold are set
    to zero, the others rounded to multiples of 1 / `policy_discretization`.
    """

    temperature: NonNegative = 0.07
    temperature_end: NonNegative = 0.07
    magnet: MagnetName = "copy"
    logit_threshold: NonNegative = 3.0
    policy_threshold: Annotated[float, Ge(0.0), Lt(1.0)] = 0.0  # DeepNash: 0.03; 0: no `play`
    policy_discretization: PositiveInt = 32

    def init(self, tree: TreeArena, seed: int = 0) -> JaxMemory:
        if not is_two_player_zero_sum(tree):
            raise ConfigError(f"{self.name} needs a two-player zero-sum game, unlike {tree.spec}")
        return super().init(tree, seed)

    def action_reward(
        self, policy: jax.Array, magnet: jax.Array, temperature: jax.Array
    ) -> jax.Array:
        return -temperature * jnp.where(policy > 0.0, safe_log(policy) - magnet, 0.0)

    def magnet_log_probs(self, graph: Graph, t: jax.Array, state: PolicyGradientState) -> jax.Array:
        latest = super().magnet_log_probs(graph, t, state)
        if self.magnet != "copy":
            return latest
        previous = safe_log(averages.infoset_policies(select_player(state.magnet, 0), graph))
        interval = self.magnet_interval
        share = jnp.minimum(1.0, 2.0 * ((t - 1) % interval) / interval)
        return share * latest + (1.0 - share) * previous

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        return neurd_logit_gradient(
            inputs._replace(temperature=jnp.zeros(())), self.logit_threshold
        )

    def tabulate(self, graph: Graph, state: PolicyGradientState) -> dict[str, jax.Array]:
        tables = super().tabulate(graph, state)
        if self.policy_threshold:
            tables["play"] = post_process_policy(
                tables["current"], self.policy_threshold, self.policy_discretization
            )
        return tables


def post_process_policy(policy: jax.Array, threshold: float, discretization: int) -> jax.Array:
    """Return a policy [I, A] without small probabilities, in multiples of 1 / `discretization`.

    Probabilities below the threshold become zero, except the largest of a row. The likeliest action
    takes what rounding adds or removes.
    """
    is_largest = policy == policy.max(-1, keepdims=True)
    truncated = jnp.where((policy >= threshold) | is_largest, policy, 0.0)
    shares = truncated / truncated.sum(-1, keepdims=True)
    rounded = jnp.floor(shares * discretization) / discretization
    is_first_largest = jnp.arange(policy.shape[-1]) == policy.argmax(-1)[:, None]
    return rounded + jnp.where(is_first_largest, 1.0 - rounded.sum(-1, keepdims=True), 0.0)
