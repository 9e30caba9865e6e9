"""From the arrays of a tree back to states of its rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from counterplay.game import State
from counterplay.tree import Ints, Tree


def states(tree: Tree) -> Iterator[State]:
    """The state of every node [N], in level order; only those of a level or two are kept."""
    ahead = {0: tree.rules.initial_state()}
    for node in range(tree.num_nodes):
        state = ahead.pop(node)
        for child in range(*tree.child_offset[node : node + 2].tolist()):
            ahead[child] = tree.rules.next_state(state, int(tree.action[child]))
        yield state


def infoset_states(tree: Tree) -> list[State]:
    """A state in each infoset [I], its first in level order."""
    found: dict[int, State] = {}
    for infoset, state in zip(tree.infoset.tolist(), states(tree), strict=True):
        found.setdefault(infoset, state)
    return [found[infoset] for infoset in range(tree.num_infosets)]


def first_nodes(tree: Tree) -> Ints:
    """One node of each infoset [I], the first in level order."""
    infosets, nodes = np.unique(tree.infoset, return_index=True)
    return nodes[infosets >= 0]


def history(tree: Tree, node: int) -> list[int]:
    """The actions that lead to a node, chance's included."""
    actions = []
    while tree.parent[node] >= 0:
        actions.append(int(tree.action[node]))
        node = int(tree.parent[node])
    return actions[::-1]
