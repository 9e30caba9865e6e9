"""Values at the infosets of a tree as NumPy tables [I, A], one column per action."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.core.arena import Floats, Ints


@cache_on_tree
def legal_mask(tree: TreeArena) -> NDArray[np.bool_]:
    """Return a mask [I, A] of the actions that exist at each infoset."""
    return np.arange(tree.max_actions) < tree.num_actions[:, None]


def table_from_sequences(tree: TreeArena, values: Floats) -> NDArray[np.float32]:
    """Return values of sequences [S] as a table [I, A], zero where an action does not exist."""
    table = np.zeros((tree.num_infosets, tree.max_actions), np.float32)
    table[legal_mask(tree)] = values
    return table


@cache_on_tree
def infoset_by_sequence(tree: TreeArena) -> Ints:
    """Return the infoset of every sequence [S]."""
    return np.repeat(np.arange(tree.num_infosets), tree.num_actions)


@cache_on_tree
def infosets_by_player(tree: TreeArena) -> tuple[Ints, NDArray[np.bool_]]:
    """Return each player's infosets [P, R], padded with its first, and a mask without padding."""
    first = tree.player_infoset
    size = int(np.diff(first).max(initial=1))
    row = first[:-1, None] + np.arange(size)
    exists = row < first[1:, None]
    padding = np.minimum(first[:-1, None], tree.num_infosets - 1)  # a player may have no infoset
    return np.where(exists, row, padding).astype(np.int32), exists
