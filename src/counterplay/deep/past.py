"""A bounded memory of past networks, which together play the average policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.deep import average
from counterplay.deep.nets import Net
from counterplay.deep.tables import table_of
from counterplay.policy import Policy
from counterplay.tree import Tree


class Past(NamedTuple):
    """M networks of each player, taken at steps drawn uniformly from all steps so far.

    Whoever draws one of them at the start of an episode, and keeps to it, plays the average policy
    in expectation; its error is that of a sample of M out of all steps.
    """

    step: jax.Array  # [M] when it was taken; 0: not yet
    nets: list[Net]  # of each player, every array with a leading axis [M]

    def mean(self, player: int, ask: Callable[[Net], jax.Array]) -> jax.Array:
        """The mean of what the player's networks answer; zero while there are none."""
        used = (self.step > 0).astype(jnp.float32)
        return jnp.tensordot(used, jax.vmap(ask)(self.nets[player]), 1) / used.sum().clip(1.0)


def nothing(nets: list[Net], size: int) -> Past:
    """Room for `size` networks like these."""
    room = jax.tree.map(lambda w: jnp.zeros((size, *w.shape), w.dtype), nets)
    return Past(jnp.zeros(size, jnp.int32), room)


def keep(past: Past, nets: list[Net], t: jax.Array, draw: jax.Array) -> Past:
    """Take the networks of step `t` with probability M / t, in place of a random one."""
    size = past.step.size
    slot = jnp.where(t <= size, t - 1, (draw * t).astype(jnp.int32))

    def put(room: jax.Array, new: jax.Array) -> jax.Array:
        return room.at[slot].set(new, mode="drop")  # out of range: not taken, nothing is copied

    return Past(put(past.step, t), jax.tree.map(put, past.nets, nets))


def past_policy(tree: Tree, past: Past, power: float) -> Policy:
    """The policy that drawing one network per episode amounts to, weighted by step**power."""
    sequences = average.sequences_of(tree)
    total = np.zeros(sequences.row.size)
    for m, step in enumerate(np.asarray(past.step)):
        if step:
            nets = jax.tree.map(lambda w, m=m: w[m], past.nets)
            reach = np.asarray(average.reach_of(sequences, table_of(tree, nets)), np.float64)
            total += float(step) ** power * reach
    return average.average_policy(tree, total)
