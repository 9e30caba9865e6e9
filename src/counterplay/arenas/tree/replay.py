"""From the arrays of a tree back to states of its rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.core.arena import Ints
from counterplay.core.game import TERMINAL, State
from counterplay.core.game_checks import unknown_key_error
from counterplay.errors import ConfigError, CounterplayError, GameError


def iter_states(tree: TreeArena) -> Iterator[State]:
    """The state of every node [N], in level order; only those of a level or two are kept."""
    ahead = {0: tree.game.initial_state()}
    for node in range(tree.num_nodes):
        state = ahead.pop(node)
        for child in range(*tree.child_offset[node : node + 2].tolist()):
            ahead[child] = tree.game.next_state(state, int(tree.action[child]))
        yield state


def first_infoset_states(tree: TreeArena) -> list[State]:
    """A state in each infoset [I], its first in level order."""
    found: dict[int, State] = {}
    for infoset, state in zip(tree.infoset.tolist(), iter_states(tree), strict=True):
        found.setdefault(infoset, state)
    return [found[infoset] for infoset in range(tree.num_infosets)]


def first_infoset_nodes(tree: TreeArena) -> Ints:
    """One node of each infoset [I], the first in level order."""
    infosets, nodes = np.unique(tree.infoset, return_index=True)
    return nodes[infosets >= 0]


def node_history(tree: TreeArena, node: int) -> list[int]:
    """The actions that lead to a node, chance's included."""
    actions = []
    while tree.parent[node] >= 0:
        actions.append(int(tree.action[node]))
        node = int(tree.parent[node])
    return actions[::-1]


def incoming_action_name(tree: TreeArena, node: int) -> str:
    """What the action is called that leads to a node, a player's or chance's."""
    sequence = int(tree.incoming_sequence[node])
    if sequence >= 0:
        return tree.sequence_names[sequence]
    action = int(tree.action[node])
    try:
        state = tree.game.initial_state()
        for taken in node_history(tree, int(tree.parent[node])):
            state = tree.game.next_state(state, taken)
        return tree.game.action_name(state, action)
    except CounterplayError:  # a stored tree without its rules
        return str(action)


@cache_on_tree
def number_augmented_actions(tree: TreeArena) -> Ints:
    """Numbers [N, P] what each player would call the step to each node.

    A player's augmented infoset is what it knows at any node, also where others act; nodes that
    follow the same one by the same action have the same number.
    """
    try:
        tree.game  # noqa: B018
    except ConfigError as error:
        advice = "build the tree from its game instead of loading it"
        raise ConfigError(f"{tree.spec}: augmented infosets need the rules; {advice}") from error
    numbers: dict[tuple[int, str, int], int] = {}
    found = np.zeros((tree.num_nodes, tree.num_players), np.int32)
    try:
        for node, state in enumerate(iter_states(tree)):
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


def _key(tree: TreeArena, node: int, state: State, player: int) -> str:
    """Return what a player knows at a node, where it need not be the one to act."""
    try:
        return tree.game.infoset_key(state, player)
    except Exception as error:
        if player == tree.player[node]:
            raise
        raise unknown_key_error(tree.game, node_history(tree, node), player, error) from error
