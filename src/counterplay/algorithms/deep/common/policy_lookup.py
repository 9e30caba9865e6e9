"""Policies of networks at the decisions of a batch of episodes, by the cheapest of three ways.

A table of all infosets is kept, and the rows of a network are recomputed when it changes; or the
network of the acting player is evaluated, if each turn belongs to one player; or the networks of
all players are evaluated. Networks come as a tuple, rotated so that any player's may be the first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common.averages import infoset_policies
from counterplay.algorithms.deep.common.episodes import DecisionBatch
from counterplay.algorithms.deep.common.graph import Graph, host_array
from counterplay.algorithms.deep.common.networks import Net, apply_net, softmax


def new_policy_table(graph: Graph, nets: tuple[Net, ...], num_episodes: int) -> jax.Array:
    """Return the policies [I, A] of all networks; an empty array if no table is kept."""
    if is_table_cheaper(graph, num_episodes):
        return compute_policy_table(nets, graph)
    return host_array(np.zeros((0, 0), np.float32))


compute_policy_table = jax.jit(infoset_policies)


def is_table_cheaper(graph: Graph, num_episodes: int) -> bool:
    """Return True if the infosets are at most as many as the decisions of an iteration."""
    num_decisions = num_episodes * graph.longest_episode * graph.num_players
    return not graph.is_rollout_batch and graph.num_infosets <= num_decisions


def is_turn_by_turn(graph: Graph, table: jax.Array) -> bool:
    """Return True if there is no table, and each turn is evaluated by the network of its player."""
    return graph.has_fixed_turn_order and not table.size


def build_policy_lookup(
    graph: Graph, table: jax.Array, nets: tuple[Net, ...], first_player: int | jax.Array
) -> Callable[[DecisionBatch], jax.Array]:
    """Return the function that computes the acting players' policies [B, A] at decisions.

    Args:
        table: the policies [I, A] of all players, or empty.
        nets: the networks, of which the first is that of `first_player`.
    """

    def look_up_table(decisions: DecisionBatch) -> jax.Array:
        return table[decisions.infoset]

    def evaluate_turn_net(decisions: DecisionBatch) -> jax.Array:
        player, begin, end = graph.turns[cast(int, decisions.turn)]
        net = nets[(player - cast(int, first_player)) % graph.num_players]
        if end - begin >= len(decisions.observation_row):
            outputs = apply_net(net, graph.observation[decisions.observation_row])
            return softmax(outputs, decisions.legal)
        # fewer infosets than episodes: evaluate each infoset once
        outputs = apply_net(net, graph.observation[graph.own_observation_row[begin:end]])
        return softmax(outputs, graph.legal[begin:end])[decisions.infoset - begin]

    def evaluate_all_nets(decisions: DecisionBatch) -> jax.Array:
        outputs = jnp.stack(
            [apply_net(net, graph.observation[decisions.observation_row]) for net in nets]
        )
        index = (decisions.player - first_player) % graph.num_players
        return softmax(outputs[index, jnp.arange(index.size)], decisions.legal)

    if table.size:
        return look_up_table
    return evaluate_turn_net if is_turn_by_turn(graph, table) else evaluate_all_nets


def refresh_policy_table(
    graph: Graph, table: jax.Array, net: Net, player: int | jax.Array
) -> jax.Array:
    """Return the table, if one is kept, with new rows of a player whose network has changed."""
    if not table.size:
        return table
    size = max(end - first for first, end in pairwise(graph.first_infoset))
    first = jnp.minimum(jnp.array(graph.first_infoset)[player], graph.num_infosets - size)
    cut = partial(jax.lax.dynamic_slice_in_dim, start_index=first, slice_size=size)
    outputs = apply_net(net, graph.observation[cut(graph.own_observation_row)])
    is_own = (cut(graph.infoset_player) == player)[:, None]
    rows = jnp.where(is_own, softmax(outputs, cut(graph.legal)), cut(table))
    return jax.lax.dynamic_update_slice_in_dim(table, rows, first, 0)
