"""Networks asked for policies while episodes are walked, in whichever of three ways costs least.

A table of all infosets is kept, and the rows of a network that has changed are made anew; or the
network whose turn it is is asked; or, where that varies, everybody's. The networks of the players
come as a tuple, which may begin with any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.deep.averages import policies_of
from counterplay.deep.episodes import Decisions
from counterplay.deep.graph import Graph
from counterplay.deep.nets import Net, apply_net, softmax


def new_table(graph: Graph, nets: tuple[Net, ...], episodes: int) -> Any:
    """The policies [I, A] of all networks, if a table pays with so many episodes; else nothing."""
    return tabulated(nets, graph) if pays(graph, episodes) else np.zeros((0, 0), np.float32)


tabulated = jax.jit(policies_of)


def pays(graph: Graph, episodes: int) -> bool:
    """Whether all infosets are fewer than those that the episodes of all players would visit."""
    met = episodes * graph.longest_episode * graph.num_players
    return not graph.is_batch and graph.num_infosets <= met


def by_turn(graph: Graph, table: jax.Array) -> bool:
    """Whether networks are asked as the episodes go, and it is known whose."""
    return graph.in_turn and not table.size


def asked(
    graph: Graph, table: jax.Array, nets: tuple[Net, ...], first: Any
) -> Callable[[Decisions], jax.Array]:
    """What everybody plays [B, A] at some decisions; the networks begin with player `first`'s."""

    def looked_up(now: Decisions) -> jax.Array:
        return table[now.infoset]

    def in_turn(now: Decisions) -> jax.Array:
        player, begin, end = graph.turns[now.turn]
        net = nets[(player - first) % graph.num_players]
        if end - begin >= len(now.view):
            return softmax(apply_net(net, graph.observation[now.view]), now.legal)
        outputs = apply_net(net, graph.observation[graph.own_view[begin:end]])  # fewer infosets
        return softmax(outputs, graph.legal[begin:end])[now.infoset - begin]

    def everywhere(now: Decisions) -> jax.Array:
        every = jnp.stack([apply_net(net, graph.observation[now.view]) for net in nets])
        whose = (now.player - first) % graph.num_players
        return softmax(every[whose, jnp.arange(whose.size)], now.legal)

    return looked_up if table.size else in_turn if by_turn(graph, table) else everywhere


def refreshed(graph: Graph, table: jax.Array, net: Net, player: Any) -> jax.Array:
    """The table, if one is kept, with the rows of a player whose network has changed."""
    if not table.size:
        return table
    firsts = graph.first_infoset
    size = max(last - first for first, last in pairwise(firsts))
    first = jnp.minimum(jnp.array(firsts)[player], graph.num_infosets - size)
    cut = partial(jax.lax.dynamic_slice_in_dim, start_index=first, slice_size=size)
    rows = softmax(apply_net(net, graph.observation[cut(graph.own_view)]), cut(graph.legal))
    rows = jnp.where((cut(graph.owner) == player)[:, None], rows, cut(table))
    return jax.lax.dynamic_update_slice_in_dim(table, rows, first, 0)
