"""The tree as sampled traversals read it: one row per node, chance in the policy table."""

from __future__ import annotations

import numpy as np

from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.core.arena import Floats, Ints, row_lengths
from counterplay.core.game import CHANCE


@cache_on_tree
def node_rows(tree: TreeArena) -> Ints:
    """Return the nodes [N] as records: see `kernels.sampling.types.GameNodes`."""
    columns = [(name, np.int32) for name in ("player", "first", "child", "count")]
    rows = np.zeros(tree.num_nodes, columns)
    rows["player"], rows["child"] = tree.player, tree.child_offset[:-1]
    rows["count"] = row_lengths(tree.child_offset)
    acts = tree.player >= 0
    rows["first"][acts] = tree.offset[tree.infoset[acts]]
    rows["first"][tree.terminals] = np.arange(tree.num_terminals)
    start, offsets = tree.num_sequences, _chance_distributions(tree)
    for node in np.flatnonzero(tree.player == CHANCE):
        first, last = tree.child_offset[node : node + 2]
        rows["first"][node] = start + offsets[tree.chance[first:last].tobytes()]
    rows.flags.writeable = False
    return rows


@cache_on_tree
def chance_probabilities(tree: TreeArena) -> Floats:
    """Return the chance probabilities that `node_rows` numbers from S on; equal ones are shared."""
    return np.concatenate([np.zeros(0), *map(np.frombuffer, _chance_distributions(tree))])


@cache_on_tree
def _chance_distributions(tree: TreeArena) -> dict[bytes, int]:
    """Return the offset of each different chance distribution, by its bytes."""
    offsets: dict[bytes, int] = {}
    size = 0
    for node in np.flatnonzero(tree.player == CHANCE):
        first, last = tree.child_offset[node : node + 2]
        if offsets.setdefault(tree.chance[first:last].tobytes(), size) == size:
            size += int(last - first)
    return offsets
