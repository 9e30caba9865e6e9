"""The tree as walks that sample see it: one row per node, chance beside the players' policies."""

from __future__ import annotations

import numpy as np

from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.core.arena import Floats, Ints, row_lengths
from counterplay.core.game import CHANCE


@cache_on_tree
def node_rows(tree: TreeArena) -> Ints:
    """The node view with one row per node: see `kernels.bundles.Arena`."""
    kinds = [(name, np.int32) for name in ("player", "first", "child", "count")]
    rows = np.zeros(tree.num_nodes, kinds)
    rows["player"], rows["child"] = tree.player, tree.child_offset[:-1]
    rows["count"] = row_lengths(tree.child_offset)
    acts = tree.player >= 0
    rows["first"][acts] = tree.offset[tree.infoset[acts]]
    rows["first"][tree.terminals] = np.arange(tree.num_terminals)
    start, found = tree.num_sequences, _chance_distributions(tree)
    for node in np.flatnonzero(tree.player == CHANCE):
        first, last = tree.child_offset[node : node + 2]
        rows["first"][node] = start + found[tree.chance[first:last].tobytes()]
    rows.flags.writeable = False
    return rows


@cache_on_tree
def chance_probabilities(tree: TreeArena) -> Floats:
    """The probabilities of chance as `rows` number them from S on: equal lotteries once."""
    return np.concatenate([np.zeros(0), *map(np.frombuffer, _chance_distributions(tree))])


@cache_on_tree
def _chance_distributions(tree: TreeArena) -> dict[bytes, int]:
    found: dict[bytes, int] = {}
    size = 0
    for node in np.flatnonzero(tree.player == CHANCE):
        first, last = tree.child_offset[node : node + 2]
        lottery = tree.chance[first:last].tobytes()
        if found.setdefault(lottery, size) == size:
            size += int(last - first)
    return found
