"""From the arrays of a tree back to states of its rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from counterplay.errors import ConfigError, CounterplayError, GameError
from counterplay.game import TERMINAL, State
from counterplay.rule_checks import unknown_key_error
from counterplay.tree.arrays import Ints, Tree, once_per_tree


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


def branch_name(tree: Tree, node: int) -> str:
    """What the action is called that leads to a node, a player's or chance's."""
    sequence = int(tree.sequence_before[node])
    if sequence >= 0:
        return tree.sequence_names[sequence]
    action = int(tree.action[node])
    try:
        state = tree.rules.initial_state()
        for taken in history(tree, int(tree.parent[node])):
            state = tree.rules.next_state(state, taken)
        return tree.rules.action_name(state, action)
    except CounterplayError:  # a stored tree without its rules
        return str(action)


@once_per_tree
def augmented(tree: Tree) -> Ints:
    """Numbers [N, P] what each player would call the step to each node.

    A player's augmented infoset is what it knows at any node, also where others act; nodes that
    follow the same one by the same action have the same number.
    """
    try:
        tree.rules  # noqa: B018
    except ConfigError as error:
        advice = "build the tree from its game instead of loading it"
        raise ConfigError(f"{tree.spec}: augmented infosets need the rules; {advice}") from error
    numbers: dict[tuple[int, str, int], int] = {}
    found = np.zeros((tree.num_nodes, tree.num_players), np.int32)
    try:
        for node, state in enumerate(states(tree)):
            if tree.player[node] == TERMINAL:
                continue
            keys = [_key(tree, node, state, player) for player in range(tree.num_players)]
            for child in range(*tree.child_offset[node : node + 2].tolist()):
                action = int(tree.action[child])
                for player, key in enumerate(keys):
                    number = numbers.setdefault((player, key, action), len(numbers) + 1)
                    found[child, player] = number
    except GameError:
        raise
    except Exception as error:  # whatever rules do with the actions of another game
        raise ConfigError(f"{tree.spec}: these rules do not lead to this tree") from error
    found.flags.writeable = False
    return found


def _key(tree: Tree, node: int, state: State, player: int) -> str:
    """Return what a player knows at a node, where it need not be the one to act."""
    try:
        return tree.rules.infoset_key(state, player)
    except Exception as error:
        if player == tree.player[node]:
            raise
        raise unknown_key_error(tree.rules, history(tree, node), player, error) from error
