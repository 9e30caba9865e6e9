"""Networks asked once per infoset, however often a batch of episodes meets it.

In 64 episodes of Leduc a player acts some 150 times, at some 60 different infosets, in 256 places
kept for the longest episodes. So the different infosets are gathered first, networks are run and
differentiated on these, some rows at a time, and the results are spread out again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.common.networks import Net, apply_net

MAX_ROWS_PER_CALL = 32  # that a network is asked at a time, at most
MAX_UNSORTED_DECISIONS = 40  # decisions up to which sorting them costs more than it saves


class UniqueRows(NamedTuple):
    """The different views among D decisions, each a row of the graph's observations."""

    rows: jax.Array  # [D or more] the different ones first, then padding; or [D], as they come
    inverse: Any  # [...] where in `view` each decision's view stands; None: as they come
    num_unique: jax.Array  # [] how many there are


def find_unique_rows(decision_rows: jax.Array, live: jax.Array) -> UniqueRows:
    """The different ones of `view` [...], where `live` [...]; elsewhere any will do."""
    if decision_rows.size <= MAX_UNSORTED_DECISIONS:
        return UniqueRows(decision_rows, None, jnp.int32(decision_rows.size))
    number = jnp.arange(decision_rows.size, dtype=jnp.int32)
    last = 2**31 - 1
    ordered, whence = jax.lax.sort(
        [jnp.where(live, decision_rows, last).reshape(-1), number], num_keys=1
    )
    fresh = jnp.append(True, ordered[1:] != ordered[:-1])
    rank = jnp.cumsum(fresh, dtype=jnp.int32) - 1
    count = (fresh & (ordered < last)).sum(dtype=jnp.int32)
    rows = rows_per_call(decision_rows.size)
    room = jnp.zeros(-(-decision_rows.size // rows) * rows, jnp.int32)
    different = room.at[rank].set(jnp.where(ordered < last, ordered, 0))
    place = jnp.zeros_like(number).at[whence].set(jnp.minimum(rank, jnp.maximum(count - 1, 0)))
    return UniqueRows(different, place.reshape(decision_rows.shape), count)


def rows_per_call(num_decisions: int) -> int:
    """A quarter of so many decisions: most batches differ in less than three."""
    return min(MAX_ROWS_PER_CALL, -(-num_decisions // 4))


def outputs_at_decisions(net: Net, observation: jax.Array, unique_rows: UniqueRows) -> jax.Array:
    """What a network says at every decision [..., A]."""
    if unique_rows.inverse is None:
        outputs = apply_net(net, observation[unique_rows.rows.reshape(-1)])
        return outputs.reshape(*unique_rows.rows.shape, -1)

    rows = rows_per_call(unique_rows.rows.size)

    def ask(n: jax.Array, outputs: jax.Array) -> jax.Array:
        view = jax.lax.dynamic_slice_in_dim(unique_rows.rows, n * rows, rows)
        said = apply_net(net, observation[view])
        return jax.lax.dynamic_update_slice_in_dim(outputs, said, n * rows, 0)

    room = jnp.zeros((unique_rows.rows.size, net[-1][1].shape[-1]))
    return jax.lax.fori_loop(0, -(-unique_rows.num_unique // rows), ask, room)[unique_rows.inverse]


def error_gradient(
    net: Net,
    observation: jax.Array,
    unique_rows: UniqueRows,
    error: Callable[[jax.Array], jax.Array],
) -> Net:
    """The gradient of outputs times their own error [..., A], which counts as constant.

    One pass does both, over half or three quarters of the rows if that holds all that differ.
    """
    if unique_rows.inverse is None:
        everywhere = unique_rows.rows.reshape(-1)
        outputs, back = jax.vjp(lambda net: apply_net(net, observation[everywhere]), net)
        slope = error(outputs.reshape(*unique_rows.rows.shape, -1))
        return back(slope.reshape(outputs.shape))[0]

    def run(rows: int) -> Net:
        outputs, back = jax.vjp(
            lambda net: apply_net(net, observation[unique_rows.rows[:rows]]), net
        )
        slope = error(outputs[unique_rows.inverse]).reshape(-1, outputs.shape[-1])
        return back(jnp.zeros_like(outputs).at[unique_rows.inverse.reshape(-1)].add(slope))[0]

    sizes = [unique_rows.rows.size // 2, unique_rows.rows.size * 3 // 4, unique_rows.rows.size]
    which = (unique_rows.num_unique > jnp.array(sizes[:-1])).sum()
    return jax.lax.switch(which, [partial(run, rows) for rows in sizes])


def gradient_from_cotangent(
    net: Net, observation: jax.Array, unique_rows: UniqueRows, cotangent: jax.Array
) -> Net:
    """The gradient, with respect to the network, of its outputs times a cotangent [..., A]."""
    slope = cotangent.reshape(-1, cotangent.shape[-1])
    if unique_rows.inverse is None:
        view = unique_rows.rows.reshape(-1)
        return jax.vjp(lambda net: apply_net(net, observation[view]), net)[1](slope)[0]
    room = jnp.zeros((unique_rows.rows.size, slope.shape[1]))
    slopes = room.at[unique_rows.inverse.reshape(-1)].add(slope)
    rows = rows_per_call(unique_rows.rows.size)

    def add(n: jax.Array, gradient: Net) -> Net:
        view = jax.lax.dynamic_slice_in_dim(unique_rows.rows, n * rows, rows)
        slope = jax.lax.dynamic_slice_in_dim(slopes, n * rows, rows)
        _, back = jax.vjp(lambda net: apply_net(net, observation[view]), net)
        return jax.tree.map(jnp.add, gradient, back(slope)[0])

    return jax.lax.fori_loop(
        0, -(-unique_rows.num_unique // rows), add, jax.tree.map(jnp.zeros_like, net)
    )
