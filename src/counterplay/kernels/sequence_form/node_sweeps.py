"""Sweeps over the nodes of a tree: slower than the sequence form, but they visit every history."""

from __future__ import annotations

import numpy as np

from counterplay.kernels.runtime.jit import TERMINAL, kernel


@kernel
def infoset_values(
    player,
    parent,
    child_offset,
    chance,
    infoset,
    offset,
    utility,
    policy,
    reach,
    cf_reach,
    cf_value,
):
    """Add to own `reach` [I], `cf_reach` [I] and `cf_value` [S] the sums over all histories."""
    num_nodes, num_players = player.size, utility.shape[1]
    # reach of a node by each player, chance last; then the value of the node to each player
    node_reach = np.ones((num_nodes, num_players + 1))
    node_value = np.zeros((num_nodes, num_players))
    for n in range(1, num_nodes):
        above = parent[n]
        node_reach[n] = node_reach[above]
        if player[above] >= 0:
            s = offset[infoset[above]] + n - child_offset[above]
            node_reach[n, player[above]] *= policy[s]
        else:
            node_reach[n, num_players] *= chance[n]
    z = utility.shape[0]
    for n in range(num_nodes - 1, -1, -1):
        p = player[n]
        if p == TERMINAL:
            z -= 1
            node_value[n] = utility[z]
            continue
        others = 1.0
        if p >= 0:
            for j in range(num_players + 1):
                if j != p:
                    others *= node_reach[n, j]
            reach[infoset[n]] += node_reach[n, p]
            cf_reach[infoset[n]] += others
        for c in range(child_offset[n], child_offset[n + 1]):
            if p >= 0:
                s = offset[infoset[n]] + c - child_offset[n]
                node_value[n] += policy[s] * node_value[c]
                cf_value[s] += others * node_value[c, p]
            else:
                node_value[n] += chance[c] * node_value[c]


@kernel
def node_values(player, child_offset, chance, infoset, offset, utility, policy, value):
    """Set `value` [N, P] to the expected utility of every node to each player under `policy`."""
    z = utility.shape[0]
    for n in range(player.size - 1, -1, -1):
        if player[n] == TERMINAL:
            z -= 1
            value[n] = utility[z]
            continue
        value[n] = 0.0
        for c in range(child_offset[n], child_offset[n + 1]):
            probability = chance[c]
            if player[n] >= 0:
                probability = policy[offset[infoset[n]] + c - child_offset[n]]
            value[n] += probability * value[c]
