"""Subtree size, reach and value of every node of a tree."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np

from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.core.arena import Floats, Ints, row_lengths
from counterplay.core.random import GOLDEN_GAMMA, mix


@dataclass(frozen=True)
class NodeValues:
    """Reach and value of each node when all players follow a policy."""

    reach: Floats  # [N] probability that an episode visits the node
    value: Floats  # [N, P] expected utilities of episodes from the node


@cache_on_tree
def subtree_sizes(tree: TreeArena) -> Ints:
    """Return the number of nodes [N] of the subtree of each node, the node included."""
    size = np.ones(tree.num_nodes, np.int64)
    for above, below in _levels_bottom_up(tree):
        parents, starts = _child_groups(tree, above)
        size[parents] += np.add.reduceat(size[below], starts)
    size.flags.writeable = False
    return size


def compute_node_values(tree: TreeArena, probabilities: Floats) -> NodeValues:
    """Return reach and value of every node under the probabilities [S] of a policy."""
    step = incoming_probabilities(tree, probabilities)
    reach, value = np.ones(tree.num_nodes), np.zeros((tree.num_nodes, tree.num_players))
    for first, last in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        reach[first:last] = reach[tree.parent[first:last]] * step[first:last]
    value[tree.terminals] = tree.utility
    for above, below in _levels_bottom_up(tree):
        parents, starts = _child_groups(tree, above)
        value[parents] = np.add.reduceat(value[below] * step[below, None], starts)
    return NodeValues(reach, value)


def incoming_probabilities(tree: TreeArena, probabilities: Floats) -> Floats:
    """Return the probability [N] of the action that leads to each node, given its parent."""
    return np.where(
        tree.incoming_sequence >= 0,
        np.append(probabilities, 1.0)[tree.incoming_sequence],
        tree.chance,
    )


@cache_on_tree
def public_history_hashes(tree: TreeArena) -> Ints:
    """Return a hash [N] of the players' actions before each node; chance has no effect on it.

    It has 64 bits: different histories collide about once in 10^8 games of 10^6 nodes.
    """
    hashes = np.zeros(tree.num_nodes, np.uint64)
    action = (tree.action.astype(np.int64) + 2).astype(np.uint64)
    for first, last in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        parent = tree.parent[first:last]
        before, player = hashes[parent], tree.player[parent]
        salt = action[first:last] * np.uint64(1_000_003) + (player + 2).astype(np.uint64)
        hashes[first:last] = np.where(player >= 0, _splitmix64(before ^ _splitmix64(salt)), before)
    hashes.flags.writeable = False
    return hashes


def _splitmix64(x: Ints) -> Ints:
    """Return the next output of SplitMix64 from each state of uint64; `mix` also takes arrays."""
    return cast(Any, mix)(x + np.uint64(GOLDEN_GAMMA))


def _levels_bottom_up(tree: TreeArena) -> list[tuple[slice, slice]]:
    """Return the pairs of consecutive levels (upper, lower), the deepest first."""
    cuts = [slice(first, last) for first, last in pairwise(tree.level_offset.tolist())]
    return list(pairwise(cuts))[::-1]


def _child_groups(tree: TreeArena, above: slice) -> tuple[Ints, Ints]:
    """Return the nodes of a level that have children, and their first children in the next."""
    offset = tree.child_offset[above.start : above.stop + 1]
    parents = np.flatnonzero(row_lengths(offset) > 0)
    return above.start + parents, offset[parents] - above.stop
