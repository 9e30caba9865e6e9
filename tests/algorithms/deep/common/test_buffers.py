"""Reservoirs are uniform samples of all items offered; rings hold the latest."""

from __future__ import annotations

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from counterplay.algorithms.deep.common import buffers  # noqa: E402


@jax.jit
def fill_reservoir(seed):
    buffer = buffers.empty_buffer(10, {"number": np.int32(0)})
    for part in range(6):
        key = jax.random.fold_in(jax.random.PRNGKey(seed), part)
        number, valid = jnp.arange(20) + 20 * part, jnp.arange(20) % 2 == 0
        buffer = buffers.add_to_reservoir(buffer, key, {"number": number}, valid)
    return buffer


def test_reservoir_is_a_uniform_sample():
    counts, seeds = np.zeros(120), 400
    buffer = jax.vmap(fill_reservoir)(jnp.arange(seeds))
    assert (np.asarray(buffer.num_seen) == 60).all()
    for numbers in np.asarray(buffer.items["number"]):
        counts[numbers] += 1
    assert (counts[1::2] == 0).all()  # what was not valid is never kept
    expected = seeds * 10 / 60
    chi_square = ((counts[::2] - expected) ** 2 / expected).sum()
    assert chi_square < 95  # 59 degrees of freedom: 99.8 percent


def test_every_place_of_a_long_lived_reservoir_is_used():
    """A product of a single-precision number and a large count would never reach most slots."""
    buffer = buffers.empty_buffer(1000, np.int32(0))._replace(num_seen=np.int32(2**30))
    for seed in range(3):
        many = 2**22
        items, valid = jnp.ones(many, jnp.int32), jnp.ones(many, bool)
        buffer = buffers.add_to_reservoir(buffer, jax.random.PRNGKey(seed), items, valid)
    kept = np.flatnonzero(np.asarray(buffer.items))
    assert 4 <= kept.size <= 30  # 3 * 2**22 * 1000 / 2**30: about 11.7
    assert np.unique(kept % 2).size == 2


def test_ring_holds_the_latest():
    buffer = buffers.empty_buffer(5, np.int32(0))
    for first in (0, 3, 6):
        items = jnp.arange(first, first + 4)
        buffer = buffers.add_to_ring(buffer, items, items != 7)
    assert sorted(np.asarray(buffer.items).tolist()) == [5, 6, 6, 8, 9]
    assert int(buffer.num_seen) == 11
    buffer = buffers.add_to_ring(buffer, jnp.arange(100, 120), jnp.ones(20, bool))
    assert sorted(np.asarray(buffer.items).tolist()) == [115, 116, 117, 118, 119]


def test_draws_come_from_what_is_filled():
    buffer = buffers.add_to_ring(
        buffers.empty_buffer(50, np.int32(0)), jnp.arange(1, 4), jnp.ones(3, bool)
    )
    drawn = np.asarray(buffers.sample_items(buffer, jax.random.PRNGKey(0), 300))
    assert sorted(set(drawn.tolist())) == [1, 2, 3]


def test_draws_of_the_latest():
    """A fraction of all items offered, as far as the ring still holds them."""
    buffer = buffers.empty_buffer(10, np.int32(0))
    for first in (0, 7, 14):  # 21 items, of which the last 10 are left
        items = jnp.arange(first, first + 7, dtype=jnp.int32)
        buffer = buffers.add_to_ring(buffer, items, jnp.ones(7, bool))
    key = jax.random.PRNGKey(0)
    fifth, everything = (buffers.sample_recent_items(buffer, key, 500, part) for part in (0.2, 1.0))
    assert set(np.asarray(fifth).tolist()) == set(range(16, 21))
    assert set(np.asarray(everything).tolist()) == set(range(11, 21))
    nothing = buffers.empty_buffer(10, np.int32(0))
    assert (np.asarray(buffers.sample_recent_items(nothing, key, 3, 0.5)) == 0).all()
