"""A network trained to play the average policy, from a uniform sample of the policies met."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from counterplay.deep.graph import Graph, Shape
from counterplay.deep.nets import Net
from counterplay.deep.sampling import Episodes


class Reservoir(NamedTuple):
    """N of all the items seen so far, each kept with the same probability (Vitter, 1985)."""

    seen: jax.Array  # [] how many items have come by
    node: jax.Array  # [N] the decision
    policy: jax.Array  # [N, A] what was played there
    weight: jax.Array  # [N]


class Average(NamedTuple):
    """The networks in training, with the running moments of Adam (Kingma and Ba, 2015)."""

    nets: list[Net]
    mean: list[Net]
    square: list[Net]


def nothing(size: int, num_actions: int) -> Reservoir:
    """Room for `size` items."""
    return Reservoir(
        jnp.zeros((), jnp.int32),
        jnp.zeros(size, jnp.int32),
        jnp.zeros((size, num_actions)),
        jnp.zeros(size),
    )


def offered(
    graph: Graph, shape: Shape, episodes: Episodes, scale: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """What episodes have to offer: whether it counts, the decision, the policy, its weight.

    The others play what they are, so that each meets its infosets in proportion to its own reach,
    as the average wants it; the reach of everybody else is divided out.
    """
    who = graph.player[episodes.node]
    sampled = jnp.where(episodes.live, episodes.sampled, 1.0)
    before = jnp.cumprod(sampled, axis=0) / sampled
    own = jnp.ones_like(before)
    for player in range(shape.num_players):
        mine = jnp.where(who == player, sampled, 1.0)
        own = jnp.where(who == player, jnp.cumprod(mine, axis=0) / mine, own)
    valid = episodes.live & ~episodes.own
    return (
        valid.reshape(-1),
        episodes.node.reshape(-1),
        episodes.policy.reshape(valid.size, -1),
        (scale * own / before).reshape(-1),
    )


def insert(
    buffer: Reservoir,
    key: jax.Array,
    valid: jax.Array,
    node: jax.Array,
    policy: jax.Array,
    weight: jax.Array,
) -> Reservoir:
    """Offer items; item number k, counted from 0, finds a place with probability N / (k + 1)."""
    size = buffer.node.size
    number = buffer.seen + jnp.cumsum(valid) - 1
    drawn = (jax.random.uniform(key, valid.shape) * (number + 1)).astype(jnp.int32)
    slot = jnp.where(number < size, number, drawn)
    slot = jnp.where(valid & (slot < size), slot, size)  # out of range: dropped
    return Reservoir(
        buffer.seen + valid.sum(dtype=jnp.int32),
        buffer.node.at[slot].set(node, mode="drop"),
        buffer.policy.at[slot].set(policy, mode="drop"),
        buffer.weight.at[slot].set(weight, mode="drop"),
    )


def draw(buffer: Reservoir, key: jax.Array, batch: int) -> tuple[jax.Array, ...]:
    """A batch of nodes, policies and weights, with replacement."""
    filled = jnp.minimum(buffer.seen, buffer.node.size)
    chosen = (jax.random.uniform(key, (batch,)) * filled).astype(jnp.int32)
    return buffer.node[chosen], buffer.policy[chosen], buffer.weight[chosen]


def adam(average: Average, gradient: list[Net], t: jax.Array, rate: float) -> Average:
    """One step of Adam."""
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, average.mean, gradient)
    square = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, average.square, gradient)

    def new(net: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
        return net - rate * (m / (1.0 - 0.9**t)) / (jnp.sqrt(v / (1.0 - 0.999**t)) + 1e-8)

    return Average(jax.tree.map(new, average.nets, mean, square), mean, square)
