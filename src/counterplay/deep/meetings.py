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

from counterplay.deep.nets import Net, apply_net, net_gradient, run_net

FEW = 40  # decisions up to which sorting them costs more than it saves
EIGHTHS = (2, 3, 4, 5, 6, 8)  # of all places: the numbers of rows that programs are compiled for


class Meetings(NamedTuple):
    """The different infosets among D decisions, each a row of the graph's observations."""

    view: jax.Array  # [D] the different ones first, the rest is padding; or [...], as they come
    place: jax.Array | None  # [...] where in `view` each decision's infoset stands
    differ: jax.Array  # [] how many there are


def meetings_of(view: jax.Array, live: jax.Array) -> Meetings:
    """The different ones of `view` [...], where `live` [...]; elsewhere any will do."""
    if view.size <= FEW:
        return Meetings(view, None, jnp.int32(view.size))
    number = jnp.arange(view.size, dtype=jnp.int32)
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
    return with_room(met, lambda x: spread(met, apply_net(net, observation[x])))


def gradient_at(
    net: Net, observation: jax.Array, met: Meetings, push: Callable[[jax.Array], jax.Array]
) -> Net:
    """The gradient, with respect to the network, of its outputs times a push, summed.

    The push [..., A] is made from the outputs [..., A] and counts as constant.
    """

    def run(view: jax.Array) -> Net:
        outputs, kept = run_net(net, observation[view])
        slope = push(spread(met, outputs)).reshape(-1, outputs.shape[-1])
        if met.place is not None:
            slope = jnp.zeros_like(outputs).at[met.place.reshape(-1)].add(slope)
        return net_gradient(net, kept, slope)

    return with_room(met, run)


def spread(met: Meetings, outputs: jax.Array) -> jax.Array:
    """Outputs [D, A] at the different infosets, put where these were met [..., A]."""
    if met.place is None:
        return outputs.reshape(*met.view.shape, -1)
    return outputs[met.place]


def with_room(met: Meetings, run: Callable[[jax.Array], Any]) -> Any:
    """`run(view)` on the least of a few numbers of views that holds all that differ."""
    view = met.view.reshape(-1)
    if met.place is None:
        return run(view)
    sizes = [view.size * eighth // 8 for eighth in EIGHTHS]
    which = (met.differ > jnp.array(sizes[:-1])).sum()
    return jax.lax.switch(which, [lambda size=size: run(view[:size]) for size in sizes])
