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

from counterplay.algorithms.deep.common.averages import infoset_policies
from counterplay.algorithms.deep.common.episodes import DecisionBatch
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.networks import Net, apply_net, softmax


def new_policy_table(graph: Graph, nets: tuple[Net, ...], num_episodes: int) -> Any:
    """The policies [I, A] of all networks, if a table pays with so many episodes; else nothing."""
    return (
        compute_policy_table(nets, graph)
        if is_table_cheaper(graph, num_episodes)
        else np.zeros((0, 0), np.float32)
    )


compute_policy_table = jax.jit(infoset_policies)


def is_table_cheaper(graph: Graph, num_episodes: int) -> bool:
    """Whether all infosets are fewer than those that the episodes of all players would visit."""
    met = num_episodes * graph.longest_episode * graph.num_players
    return not graph.is_rollout_batch and graph.num_infosets <= met


def is_turn_by_turn(graph: Graph, table: jax.Array) -> bool:
    """Whether networks are asked as the episodes go, and it is known whose."""
    return graph.has_fixed_turn_order and not table.size


def build_policy_lookup(
    graph: Graph, table: jax.Array, nets: tuple[Net, ...], first_player: Any
) -> Callable[[DecisionBatch], jax.Array]:
    """What everybody plays [B, A] at some decisions; the networks begin with player `first`'s."""

    def look_up_table(decisions: DecisionBatch) -> jax.Array:
        return table[decisions.infoset]

    def evaluate_turn_net(decisions: DecisionBatch) -> jax.Array:
        player, begin, end = graph.turns[decisions.turn]
        net = nets[(player - first_player) % graph.num_players]
        if end - begin >= len(decisions.observation_row):
            return softmax(
                apply_net(net, graph.observation[decisions.observation_row]), decisions.legal
            )
        outputs = apply_net(
            net, graph.observation[graph.own_observation_row[begin:end]]
        )  # fewer infosets
        return softmax(outputs, graph.legal[begin:end])[decisions.infoset - begin]

    def evaluate_all_nets(decisions: DecisionBatch) -> jax.Array:
        every = jnp.stack(
            [apply_net(net, graph.observation[decisions.observation_row]) for net in nets]
        )
        whose = (decisions.player - first_player) % graph.num_players
        return softmax(every[whose, jnp.arange(whose.size)], decisions.legal)

    return (
        look_up_table
        if table.size
        else evaluate_turn_net
        if is_turn_by_turn(graph, table)
        else evaluate_all_nets
    )


def refresh_policy_table(graph: Graph, table: jax.Array, net: Net, player: Any) -> jax.Array:
    """The table, if one is kept, with the rows of a player whose network has changed."""
    if not table.size:
        return table
    firsts = graph.first_infoset
    size = max(last - first for first, last in pairwise(firsts))
    first = jnp.minimum(jnp.array(firsts)[player], graph.num_infosets - size)
    cut = partial(jax.lax.dynamic_slice_in_dim, start_index=first, slice_size=size)
    rows = softmax(
        apply_net(net, graph.observation[cut(graph.own_observation_row)]), cut(graph.legal)
    )
    rows = jnp.where((cut(graph.infoset_player) == player)[:, None], rows, cut(table))
    return jax.lax.dynamic_update_slice_in_dim(table, rows, first, 0)
