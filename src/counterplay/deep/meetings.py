"""Networks asked once per infoset, however often a batch of episodes meets it.

In 64 episodes of Leduc a player acts some 150 times, at some 60 different infosets, in 256 places
kept for the longest episodes. So the different infosets are gathered first, networks are run and
differentiated on just enough rows to hold them, and the results are spread out again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from counterplay.deep.nets import Net, apply_net

FEW = 40  # decisions up to which sorting them costs more than it saves
EIGHTHS = (2, 3, 4, 5, 6, 8)  # of all places: the numbers of rows that programs are compiled for


class Meetings(NamedTuple):
    """The different infosets among D decisions, each a row of the graph's observations."""

    view: jax.Array  # [D] the different ones first, the rest is padding
    place: jax.Array  # [...] where in `view` each decision's infoset stands
    differ: jax.Array  # [] how many there are


def meetings_of(view: jax.Array, live: jax.Array) -> Meetings:
    """The different ones of `view` [...], where `live` [...]; elsewhere any will do."""
    number = jnp.arange(view.size, dtype=jnp.int32)
    if view.size <= FEW:
        return Meetings(view.reshape(-1), number.reshape(view.shape), jnp.int32(view.size))
    last = 2**31 - 1
    ordered, whence = jax.lax.sort([jnp.where(live, view, last).reshape(-1), number], num_keys=1)
    fresh = jnp.append(True, ordered[1:] != ordered[:-1])
    rank = jnp.cumsum(fresh, dtype=jnp.int32) - 1
    count = (fresh & (ordered < last)).sum(dtype=jnp.int32)
    different = jnp.zeros_like(number).at[rank].set(jnp.where(ordered < last, ordered, 0))
    place = jnp.zeros_like(number).at[whence].set(jnp.minimum(rank, jnp.maximum(count - 1, 0)))
    return Meetings(different, place.reshape(view.shape), count)


def outputs_at(net: Net, observation: jax.Array, met: Meetings) -> jax.Array:
    """What a network says at every decision [..., A]."""
    most = met.view.size

    def run(rows: int) -> jax.Array:
        y = apply_net(net, observation[met.view[:rows]])
        return jnp.pad(y, ((0, most - rows), (0, 0)))

    return with_room(met, run)[met.place]


def gradient_at(net: Net, observation: jax.Array, met: Meetings, push: jax.Array) -> Net:
    """The gradient, with respect to the network, of its outputs times `push` [..., A], summed."""
    num_actions = push.shape[-1]
    total = jnp.zeros((met.view.size, num_actions))
    total = total.at[met.place.reshape(-1)].add(push.reshape(-1, num_actions))

    def run(rows: int) -> Net:
        _, back = jax.vjp(lambda n: apply_net(n, observation[met.view[:rows]]), net)
        return back(total[:rows])[0]

    return with_room(met, run)


def with_room(met: Meetings, run: Callable[[int], Any]) -> Any:
    """`run(rows)` with the least of a few numbers of rows that holds all that differ."""
    most = met.view.size
    if most <= FEW:
        return run(most)
    sizes = [most * eighth // 8 for eighth in EIGHTHS]
    which = (met.differ > jnp.array(sizes[:-1])).sum()
    return jax.lax.switch(which, [lambda rows=rows: run(rows) for rows in sizes])
