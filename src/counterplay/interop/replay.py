"""From the arrays of a tree back to states of its rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplay.game import Game, State
from counterplay.registry import load_game
from counterplay.tree import Ints, Tree


def rules_of(tree: Tree) -> Game:
    """The rules a tree was made from; loaded again if it comes from a file."""
    return tree.game or load_game(tree.spec)


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


def infoset_states(tree: Tree) -> list[State]:
    """A state of the rules in each infoset."""
    rules = rules_of(tree)
    states: list[Any] = []
    for node in first_nodes(tree):
        state = rules.initial_state()
        for action in history(tree, int(node)):
            state = rules.next_state(state, action)
        states.append(state)
    return states
