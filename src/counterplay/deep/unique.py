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

from counterplay.deep.nets import Net, apply_net

ROWS = 32  # that a network is asked at a time, at most
FEW = 40  # decisions up to which sorting them costs more than it saves


class Unique(NamedTuple):
    """The different views among D decisions, each a row of the graph's observations."""

    view: jax.Array  # [D or more] the different ones first, then padding; or [D], as they come
    place: Any  # [...] where in `view` each decision's view stands; None: as they come
    differ: jax.Array  # [] how many there are


def unique_views(view: jax.Array, live: jax.Array) -> Unique:
    """The different ones of `view` [...], where `live` [...]; elsewhere any will do."""
    if view.size <= FEW:
        return Unique(view, None, jnp.int32(view.size))
    number = jnp.arange(view.size, dtype=jnp.int32)
    last = 2**31 - 1
    ordered, whence = jax.lax.sort([jnp.where(live, view, last).reshape(-1), number], num_keys=1)
    fresh = jnp.append(True, ordered[1:] != ordered[:-1])
    rank = jnp.cumsum(fresh, dtype=jnp.int32) - 1
    count = (fresh & (ordered < last)).sum(dtype=jnp.int32)
    rows = rows_at_a_time(view.size)
    room = jnp.zeros(-(-view.size // rows) * rows, jnp.int32)
    different = room.at[rank].set(jnp.where(ordered < last, ordered, 0))
    place = jnp.zeros_like(number).at[whence].set(jnp.minimum(rank, jnp.maximum(count - 1, 0)))
    return Unique(different, place.reshape(view.shape), count)


def rows_at_a_time(size: int) -> int:
    """A quarter of so many decisions: most batches differ in less than three."""
    return min(ROWS, -(-size // 4))


def outputs_at(net: Net, observation: jax.Array, met: Unique) -> jax.Array:
    """What a network says at every decision [..., A]."""
    if met.place is None:
        outputs = apply_net(net, observation[met.view.reshape(-1)])
        return outputs.reshape(*met.view.shape, -1)

    rows = rows_at_a_time(met.view.size)

    def ask(n: jax.Array, outputs: jax.Array) -> jax.Array:
        view = jax.lax.dynamic_slice_in_dim(met.view, n * rows, rows)
        said = apply_net(net, observation[view])
        return jax.lax.dynamic_update_slice_in_dim(outputs, said, n * rows, 0)

    room = jnp.zeros((met.view.size, net[-1][1].shape[-1]))
    return jax.lax.fori_loop(0, -(-met.differ // rows), ask, room)[met.place]


def error_gradient(
    net: Net, observation: jax.Array, met: Unique, error: Callable[[jax.Array], jax.Array]
) -> Net:
    """The gradient of outputs times their own error [..., A], which counts as constant.

    One pass does both, over half or three quarters of the rows if that holds all that differ.
    """
    if met.place is None:
        everywhere = met.view.reshape(-1)
        outputs, back = jax.vjp(lambda net: apply_net(net, observation[everywhere]), net)
        slope = error(outputs.reshape(*met.view.shape, -1))
        return back(slope.reshape(outputs.shape))[0]

    def run(rows: int) -> Net:
        outputs, back = jax.vjp(lambda net: apply_net(net, observation[met.view[:rows]]), net)
        slope = error(outputs[met.place]).reshape(-1, outputs.shape[-1])
        return back(jnp.zeros_like(outputs).at[met.place.reshape(-1)].add(slope))[0]

    sizes = [met.view.size // 2, met.view.size * 3 // 4, met.view.size]
    which = (met.differ > jnp.array(sizes[:-1])).sum()
    return jax.lax.switch(which, [partial(run, rows) for rows in sizes])


def gradient_at(net: Net, observation: jax.Array, met: Unique, cotangent: jax.Array) -> Net:
    """The gradient, with respect to the network, of its outputs times a cotangent [..., A]."""
    slope = cotangent.reshape(-1, cotangent.shape[-1])
    if met.place is None:
        view = met.view.reshape(-1)
        return jax.vjp(lambda net: apply_net(net, observation[view]), net)[1](slope)[0]
    room = jnp.zeros((met.view.size, slope.shape[1]))
    slopes = room.at[met.place.reshape(-1)].add(slope)
    rows = rows_at_a_time(met.view.size)

    def add(n: jax.Array, gradient: Net) -> Net:
        view = jax.lax.dynamic_slice_in_dim(met.view, n * rows, rows)
        slope = jax.lax.dynamic_slice_in_dim(slopes, n * rows, rows)
        _, back = jax.vjp(lambda net: apply_net(net, observation[view]), net)
        return jax.tree.map(jnp.add, gradient, back(slope)[0])

    return jax.lax.fori_loop(0, -(-met.differ // rows), add, jax.tree.map(jnp.zeros_like, net))
