"""Bounded buffers of samples: reservoirs of all samples so far, and rings of the latest.

There are two versions of each. A `ReplayBuffer` holds JAX arrays and is updated inside compiled
programs; a host buffer is a tuple of NumPy arrays that is updated in place, for algorithms that
sample on the host. Both keep every sample with the same probability (Vitter, 1985). The sampling
kernels of `kernels.sampling.regret_samples` have a third reservoir of their own, because a kernel
can call neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.core.arena import Ints


class ReplayBuffer(NamedTuple):
    """A buffer of at most N items, each a pytree of arrays."""

    num_seen: jax.Array  # [] items offered so far
    items: Any  # every array with a leading axis [N]


def empty_buffer(size: int, example_item: Any) -> ReplayBuffer:
    """Return an empty buffer for `size` items with the shapes and types of the example."""
    items = jax.tree.map(lambda x: np.zeros((size, *np.shape(x)), x.dtype), example_item)
    num_seen: Any = np.int32(0)
    return ReplayBuffer(num_seen, items)


def capacity(buffer: ReplayBuffer) -> int:
    """Return the largest number of items in a buffer."""
    return int(jax.tree.leaves(buffer.items)[0].shape[0])


def add_to_reservoir(
    buffer: ReplayBuffer, key: jax.Array, items: Any, valid: jax.Array
) -> ReplayBuffer:
    """Return the reservoir after items [B] were offered, those that are `valid` [B].

    The k-th item of all is accepted with probability N / k and replaces a random one.
    """
    size = capacity(buffer)
    number = buffer.num_seen + jnp.cumsum(valid, dtype=jnp.int32)  # k
    accept_key, slot_key = jax.random.split(key)
    random_slot = jax.random.randint(slot_key, valid.shape, 0, size)
    is_accepted = jax.random.uniform(accept_key, valid.shape) * number < size
    slot = jnp.where(number <= size, number - 1, jnp.where(is_accepted, random_slot, size))
    return _write_items(buffer, slot, items, valid)


def add_to_ring(buffer: ReplayBuffer, items: Any, valid: jax.Array) -> ReplayBuffer:
    """Return the ring with those items [B] that are `valid` [B] in place of the oldest."""
    size = capacity(buffer)
    number = jnp.cumsum(valid, dtype=jnp.int32)
    is_latest = number > number[-1] - size  # of more than N items, only the last N
    slot = jnp.where(is_latest, (buffer.num_seen + number - 1) % size, size)
    return _write_items(buffer, slot, items, valid)


def _write_items(
    buffer: ReplayBuffer, slot: jax.Array, items: Any, valid: jax.Array
) -> ReplayBuffer:
    slot = jnp.where(valid, slot, capacity(buffer))  # out of range: not written

    def write(old: jax.Array, new: jax.Array) -> jax.Array:
        return jnp.asarray(old).at[slot].set(new, mode="drop")

    stored = jax.tree.map(write, buffer.items, items)
    return ReplayBuffer(buffer.num_seen + valid.sum(dtype=jnp.int32), stored)


def sample_items(buffer: ReplayBuffer, key: jax.Array, batch_size: int) -> Any:
    """Return a minibatch of items, sampled with replacement."""
    num_filled = jnp.minimum(buffer.num_seen, capacity(buffer))
    slot = jax.random.randint(key, (batch_size,), 0, jnp.maximum(num_filled, 1))
    return jax.tree.map(lambda array: array[slot], buffer.items)


def sample_recent_items(
    buffer: ReplayBuffer, key: jax.Array, batch_size: int, recent_fraction: float
) -> Any:
    """Return a minibatch of a ring, sampled with replacement from the latest items.

    Args:
        buffer: the ring.
        key: a random key.
        batch_size: number of items.
        recent_fraction: fraction of all items offered so far that counts as the latest.
    """
    size = capacity(buffer)
    num_recent = jnp.ceil(recent_fraction * buffer.num_seen).astype(jnp.int32)
    age = jax.random.randint(key, (batch_size,), 0, jnp.clip(num_recent, 1, size))
    slot = jnp.maximum(buffer.num_seen - 1 - age, 0) % size
    return jax.tree.map(lambda array: array[slot], buffer.items)


def add_rows_to_reservoir(
    num_seen: Ints, columns: Sequence[Any], rng: np.random.Generator, rows: Sequence[Any]
) -> None:
    """Offer rows to a host reservoir, which is changed in place.

    Args:
        num_seen: rows offered so far [1].
        columns: the arrays of the reservoir [N, ...].
        rng: decides which rows are accepted.
        rows: one array [B, ...] for each column.
    """
    size, count = len(columns[0]), len(rows[0])
    if not size or not count:
        return
    number = num_seen[0] + np.arange(count)
    slot = np.where(number < size, number, (rng.random(count) * (number + 1)).astype(np.int64))
    accepted = np.flatnonzero(slot < size)
    for column, new in zip(columns, rows, strict=True):
        column[slot[accepted]] = new[accepted]
    num_seen[0] += count


def add_rows_to_ring(num_seen: Ints, columns: Sequence[Any], rows: Sequence[Any]) -> None:
    """Write rows in place of the oldest of a host ring, which is changed in place.

    Args:
        num_seen: rows offered so far [1].
        columns: the arrays of the ring [N, ...].
        rows: one array [B, ...] for each column.
    """
    size, count = len(columns[0]), len(rows[0])
    if not size:
        return
    first = max(count - size, 0)
    slot = (num_seen[0] + np.arange(first, count)) % size
    for column, new in zip(columns, rows, strict=True):
        column[slot] = new[first:]
    num_seen[0] += count
