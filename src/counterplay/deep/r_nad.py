"""Regularised Nash dynamics, the learning of DeepNash, with networks."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from counterplay.deep import averages
from counterplay.deep.device import DeviceMemory
from counterplay.deep.gradients import Force, State, log_of
from counterplay.deep.graph import Graph
from counterplay.deep.magnets import Magnetic
from counterplay.deep.nets import one_of
from counterplay.deep.neurd import neurd_force
from counterplay.deep.on_rules import is_two_player_zero_sum
from counterplay.errors import ConfigError
from counterplay.settings import settings
from counterplay.tree import Tree


@settings(kw_only=True)
class RNaD(Magnetic):
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

    tau: float = 0.2
    tau_end: float = 0.2
    magnet: str = "copy"
    threshold: float = 3.0
    drop: float = 0.0  # DeepNash: 0.03; 0: no policy of play beside the others
    grid: int = 32

    def init(self, tree: Tree, seed: int = 0) -> DeviceMemory:
        if not is_two_player_zero_sum(tree):
            raise ConfigError(f"{self.name} needs a two-player zero-sum game, unlike {tree.spec}")
        return super().init(tree, seed)

    def reward(self, policy: jax.Array, magnet: jax.Array, tau: jax.Array) -> jax.Array:
        return -tau * jnp.where(policy > 0.0, log_of(policy) - magnet, 0.0)

    def magnet_at(self, graph: Graph, t: jax.Array, state: State) -> jax.Array:
        last = super().magnet_at(graph, t, state)
        if self.magnet != "copy":
            return last
        before = log_of(averages.policies_of(one_of(state.magnet, 0), graph))
        part = jnp.minimum(1.0, 2.0 * ((t - 1) % self.stage) / self.stage)
        return part * last + (1.0 - part) * before

    def force(self, now: Force) -> jax.Array:
        return neurd_force(now._replace(tau=jnp.zeros(())), self.threshold)

    def tables(self, graph: Graph, state: State) -> dict[str, Any]:
        found = super().tables(graph, state)
        if self.drop:
            found["play"] = processed(found["current"], self.drop, self.grid)
        return found


def processed(policy: jax.Array, drop: float, grid: int) -> jax.Array:
    """The policy [I, A] without what is below `drop`, in multiples of 1 / `grid`.

    What rounding adds or takes falls to the likeliest action.
    """
    best = policy == policy.max(-1, keepdims=True)
    kept = jnp.where((policy >= drop) | best, policy, 0.0)
    kept = jnp.floor(kept / kept.sum(-1, keepdims=True) * grid) / grid
    first = jnp.arange(policy.shape[-1]) == policy.argmax(-1)[:, None]
    return kept + jnp.where(first, 1.0 - kept.sum(-1, keepdims=True), 0.0)
