"""The tree as walks that sample see it: one row per node, chance beside the players' policies."""

from __future__ import annotations

import numpy as np

from counterplay.game import CHANCE
from counterplay.tree.arrays import Floats, Ints, Tree, once_per_tree, row_lengths


@once_per_tree
def rows(tree: Tree) -> Ints:
    """The node view with one row per node: see `kernels.bundles.Arena`."""
    kinds = [(name, np.int32) for name in ("player", "first", "child", "count")]
    rows = np.zeros(tree.num_nodes, kinds)
    rows["player"], rows["child"] = tree.player, tree.child_offset[:-1]
    rows["count"] = row_lengths(tree.child_offset)
    acts = tree.player >= 0
    rows["first"][acts] = tree.offset[tree.infoset[acts]]
    rows["first"][tree.terminals] = np.arange(tree.num_terminals)
    start, found = tree.num_sequences, _lotteries(tree)
    for node in np.flatnonzero(tree.player == CHANCE):
        first, last = tree.child_offset[node : node + 2]
        rows["first"][node] = start + found[tree.chance[first:last].tobytes()]
    rows.flags.writeable = False
    return rows


@once_per_tree
def chance_policy(tree: Tree) -> Floats:
    """The probabilities of chance as `rows` number them from S on: equal lotteries once."""
    return np.concatenate([np.zeros(0), *map(np.frombuffer, _lotteries(tree))])


@once_per_tree
def _lotteries(tree: Tree) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    size = 0
    for node in np.flatnonzero(tree.player == CHANCE):
        first, last = tree.child_offset[node : node + 2]
        lottery = tree.chance[first:last].tobytes()
        if found.setdefault(lottery, size) == size:
            size += int(last - first)
    return found
