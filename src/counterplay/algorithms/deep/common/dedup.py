"""Evaluation of networks once per distinct infoset of a batch of episodes.

In 64 episodes of Leduc a player acts about 150 times, at about 60 distinct infosets, in 256 slots
reserved for the longest episodes. The distinct infosets are gathered first, networks are run and
differentiated on these, some rows at a time, and the results are scattered to all decisions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.common.networks import Net, apply_net, num_outputs

MAX_ROWS_PER_CALL = 32  # most rows on which a network is run at a time
MAX_UNSORTED_DECISIONS = 40  # up to this many, sorting costs more than it saves
PADDING_KEY = 2**31 - 1  # sorts decisions past the end behind all rows


class UniqueRows(NamedTuple):
    """The distinct rows of the graph's observations among D decisions."""

    rows: jax.Array  # [D or more] distinct rows, then padding; or [...], not deduplicated
    inverse: jax.Array | None  # [...] index in `rows` of each decision; None: not deduplicated
    num_unique: jax.Array  # []


def find_unique_rows(decision_rows: jax.Array, live: jax.Array) -> UniqueRows:
    """Return the distinct values of `decision_rows` [...] where `live` [...].

    Decisions that are not live get an arbitrary row.
    """
    if decision_rows.size <= MAX_UNSORTED_DECISIONS:
        return UniqueRows(decision_rows, None, jnp.int32(decision_rows.size))
    number = jnp.arange(decision_rows.size, dtype=jnp.int32)
    ordered, source = jax.lax.sort(
        [jnp.where(live, decision_rows, PADDING_KEY).reshape(-1), number], num_keys=1
    )
    is_first = jnp.append(True, ordered[1:] != ordered[:-1])
    rank = jnp.cumsum(is_first, dtype=jnp.int32) - 1
    count = (is_first & (ordered < PADDING_KEY)).sum(dtype=jnp.int32)
    chunk = rows_per_call(decision_rows.size)
    padded = jnp.zeros(-(-decision_rows.size // chunk) * chunk, jnp.int32)
    unique = padded.at[rank].set(jnp.where(ordered < PADDING_KEY, ordered, 0))
    inverse = jnp.zeros_like(number).at[source].set(jnp.minimum(rank, jnp.maximum(count - 1, 0)))
    return UniqueRows(unique, inverse.reshape(decision_rows.shape), count)


def rows_per_call(num_decisions: int) -> int:
    """Return the number of rows per call: most batches need at most three calls of this size."""
    return min(MAX_ROWS_PER_CALL, -(-num_decisions // 4))


def outputs_at_decisions(net: Net, observation: jax.Array, unique_rows: UniqueRows) -> jax.Array:
    """Return the outputs of a network at every decision [..., A]."""
    if unique_rows.inverse is None:
        outputs = apply_net(net, observation[unique_rows.rows.reshape(-1)])
        return outputs.reshape(*unique_rows.rows.shape, -1)

    chunk = rows_per_call(unique_rows.rows.size)

    def evaluate(number: jax.Array, outputs: jax.Array) -> jax.Array:
        rows = jax.lax.dynamic_slice_in_dim(unique_rows.rows, number * chunk, chunk)
        part = apply_net(net, observation[rows])
        return jax.lax.dynamic_update_slice_in_dim(outputs, part, number * chunk, 0)

    outputs = jnp.zeros((unique_rows.rows.size, num_outputs(net)))
    num_calls = -(-unique_rows.num_unique // chunk)
    return jax.lax.fori_loop(0, num_calls, evaluate, outputs)[unique_rows.inverse]


def error_gradient(
    net: Net,
    observation: jax.Array,
    unique_rows: UniqueRows,
    error: Callable[[jax.Array], jax.Array],
) -> Net:
    """Return the gradient of sum(outputs * error(outputs)), with the error [..., A] held constant.

    One pass computes outputs and gradient, over half or three quarters of the rows if these hold
    all distinct ones.
    """
    if unique_rows.inverse is None:
        rows = unique_rows.rows.reshape(-1)
        outputs, backward = jax.vjp(lambda net: apply_net(net, observation[rows]), net)
        cotangent = error(outputs.reshape(*unique_rows.rows.shape, -1))
        return backward(cotangent.reshape(outputs.shape))[0]
    inverse = unique_rows.inverse

    def run(num_rows: int) -> Net:
        outputs, backward = jax.vjp(
            lambda net: apply_net(net, observation[unique_rows.rows[:num_rows]]), net
        )
        cotangent = error(outputs[inverse]).reshape(-1, outputs.shape[-1])
        return backward(jnp.zeros_like(outputs).at[inverse.reshape(-1)].add(cotangent))[0]

    sizes = [unique_rows.rows.size // 2, unique_rows.rows.size * 3 // 4, unique_rows.rows.size]
    branch = (unique_rows.num_unique > jnp.array(sizes[:-1])).sum()
    return jax.lax.switch(branch, [partial(run, num_rows) for num_rows in sizes])


def gradient_from_cotangent(
    net: Net, observation: jax.Array, unique_rows: UniqueRows, cotangent: jax.Array
) -> Net:
    """Return the gradient by the network of its outputs times a cotangent [..., A]."""
    flat = cotangent.reshape(-1, cotangent.shape[-1])
    if unique_rows.inverse is None:
        rows = unique_rows.rows.reshape(-1)
        return jax.vjp(lambda net: apply_net(net, observation[rows]), net)[1](flat)[0]
    zeros = jnp.zeros((unique_rows.rows.size, flat.shape[1]))
    by_row = zeros.at[unique_rows.inverse.reshape(-1)].add(flat)
    chunk = rows_per_call(unique_rows.rows.size)

    def add(number: jax.Array, gradient: Net) -> Net:
        rows = jax.lax.dynamic_slice_in_dim(unique_rows.rows, number * chunk, chunk)
        part = jax.lax.dynamic_slice_in_dim(by_row, number * chunk, chunk)
        _, backward = jax.vjp(lambda net: apply_net(net, observation[rows]), net)
        return jax.tree.map(jnp.add, gradient, backward(part)[0])

    num_calls = -(-unique_rows.num_unique // chunk)
    return jax.lax.fori_loop(0, num_calls, add, jax.tree.map(jnp.zeros_like, net))
