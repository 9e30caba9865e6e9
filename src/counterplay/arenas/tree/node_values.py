"""What each node of a tree weighs: how much lies below it, how often it is reached, its value."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.core.arena import Floats, Ints, row_lengths


@dataclass(frozen=True)
class NodeValues:
    """How likely each node [N] is, and what it is worth, when all follow a policy."""

    reach: Floats  # [N] everybody's, chance included: the probability that play gets there
    value: Floats  # [N, P] expected utilities from there on


@cache_on_tree
def subtree_sizes(tree: TreeArena) -> Ints:
    """How many nodes hang from each node [N], itself counted."""
    size = np.ones(tree.num_nodes, np.int64)
    for above, below in _levels_bottom_up(tree):
        parents, starts = _child_groups(tree, above)
        size[parents] += np.add.reduceat(size[below], starts)
    size.flags.writeable = False
    return size


def compute_node_values(tree: TreeArena, probabilities: Floats) -> NodeValues:
    """Reach and values of every node under the probabilities [S] of a policy."""
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
    """The probability [N] that the action which leads to a node is taken, where it can be."""
    return np.where(
        tree.incoming_sequence >= 0,
        np.append(probabilities, 1.0)[tree.incoming_sequence],
        tree.chance,
    )


@cache_on_tree
def public_history_hashes(tree: TreeArena) -> Ints:
    """Numbers [N]: nodes that the same actions of players lead to, whatever chance did, share one.

    A hash of 64 bits, so that two may share one by accident once in 10^8 games of 10^6 nodes.
    """
    number = np.zeros(tree.num_nodes, np.uint64)
    taken = (tree.action.astype(np.int64) + 2).astype(np.uint64)
    for first, last in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        above = tree.parent[first:last]
        before, who = number[above], tree.player[above]
        salt = taken[first:last] * np.uint64(1_000_003) + (who + 2).astype(np.uint64)
        number[first:last] = np.where(who >= 0, _splitmix64(before ^ _splitmix64(salt)), before)
    number.flags.writeable = False
    return number


def _splitmix64(x: Ints) -> Ints:
    """splitmix64's finaliser."""
    x = (x + np.uint64(0x9E3779B97F4A7C15)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _levels_bottom_up(tree: TreeArena) -> list[tuple[slice, slice]]:
    """Each level beside the one below it, the deepest first."""
    cuts = [slice(first, last) for first, last in pairwise(tree.level_offset.tolist())]
    return list(pairwise(cuts))[::-1]


def _child_groups(tree: TreeArena, above: slice) -> tuple[Ints, Ints]:
    """The nodes of a level that have children, and where theirs start in the level below."""
    offset = tree.child_offset[above.start : above.stop + 1]
    parents = np.flatnonzero(row_lengths(offset) > 0)
    return above.start + parents, offset[parents] - above.stop
