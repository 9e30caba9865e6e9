"""Sampled data, bounded: a reservoir of all items seen so far, a ring of the latest."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class ReplayBuffer(NamedTuple):
    """Room for N items, each a pytree of arrays."""

    num_seen: jax.Array  # [] how many items have come by
    items: Any  # every array with a leading axis [N]


def empty_buffer(size: int, example_item: Any) -> ReplayBuffer:
    """Room for `size` items like this one."""
    room = jax.tree.map(lambda x: np.zeros((size, *np.shape(x)), x.dtype), example_item)
    return ReplayBuffer(np.int32(0), room)


def capacity(buffer: ReplayBuffer) -> int:
    """How many items there is room for."""
    return jax.tree.leaves(buffer.items)[0].shape[0]


def add_to_reservoir(
    buffer: ReplayBuffer, key: jax.Array, items: Any, valid: jax.Array
) -> ReplayBuffer:
    """Offer items [B]; the k-th of all finds a place with probability N / k (Vitter, 1985).

    Those that are not `valid` [B] are not offered.
    """
    size = capacity(buffer)
    number = buffer.num_seen + jnp.cumsum(valid, dtype=jnp.int32)  # k
    coin, place = jax.random.split(key)
    drawn = jax.random.randint(place, valid.shape, 0, size)
    lucky = jax.random.uniform(coin, valid.shape) * number < size
    slot = jnp.where(number <= size, number - 1, jnp.where(lucky, drawn, size))
    return _write_items(buffer, slot, items, valid)


def add_to_ring(buffer: ReplayBuffer, items: Any, valid: jax.Array) -> ReplayBuffer:
    """Put items [B] in place of the oldest; those that are not `valid` [B] are left out."""
    size = capacity(buffer)
    number = jnp.cumsum(valid, dtype=jnp.int32)
    last = number > number[-1] - size  # of more than N items, only the last N
    slot = jnp.where(last, (buffer.num_seen + number - 1) % size, size)
    return _write_items(buffer, slot, items, valid)


def _write_items(
    buffer: ReplayBuffer, slot: jax.Array, items: Any, valid: jax.Array
) -> ReplayBuffer:
    slot = jnp.where(valid, slot, capacity(buffer))  # out of range: dropped

    def put(room: jax.Array, new: jax.Array) -> jax.Array:
        return jnp.asarray(room).at[slot].set(new, mode="drop")

    kept = jax.tree.map(put, buffer.items, items)
    return ReplayBuffer(buffer.num_seen + valid.sum(dtype=jnp.int32), kept)


def sample_items(buffer: ReplayBuffer, key: jax.Array, batch_size: int) -> Any:
    """A minibatch of items, with replacement."""
    filled = jnp.minimum(buffer.num_seen, capacity(buffer))
    chosen = jax.random.randint(key, (batch_size,), 0, jnp.maximum(filled, 1))
    return jax.tree.map(lambda room: room[chosen], buffer.items)


def sample_recent_items(
    buffer: ReplayBuffer, key: jax.Array, batch_size: int, recent_fraction: float
) -> Any:
    """A minibatch, with replacement, of the latest of a ring: a part of all that has come by."""
    size = capacity(buffer)
    recent = jnp.clip(jnp.ceil(recent_fraction * buffer.num_seen).astype(jnp.int32), 1, size)
    age = jax.random.randint(key, (batch_size,), 0, recent)
    chosen = jnp.maximum(buffer.num_seen - 1 - age, 0) % size
    return jax.tree.map(lambda room: room[chosen], buffer.items)
