"""Recover states, histories and action names of the nodes of a tree from its rules."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.core.arena import Ints
from counterplay.core.game import TERMINAL, Game, State
from counterplay.core.game_checks import unknown_key_error
from counterplay.errors import ConfigError, CounterplayError, GameError
from counterplay.registry import get_spec, split_abstraction


def iter_states(tree: TreeArena) -> Iterator[State]:
    """Yield the state of every node [N] in level order; at most two levels are in memory."""
    states = {0: tree.game.initial_state()}
    for node in range(tree.num_nodes):
        state = states.pop(node)
        for child in range(*tree.child_offset[node : node + 2].tolist()):
            states[child] = tree.game.next_state(state, int(tree.action[child]))
        yield state


def first_infoset_states(tree: TreeArena) -> list[State]:
    """Return the first state of each infoset [I] in level order."""
    states: dict[int, State] = {}
    for infoset, state in zip(tree.infoset.tolist(), iter_states(tree), strict=True):
        states.setdefault(infoset, state)
    return [states[infoset] for infoset in range(tree.num_infosets)]


def infoset_keys_in(tree: TreeArena, game: Game) -> list[str]:
    """Return the key [I] of each infoset of a tree in a game with an abstraction of the tree's."""
    spec = get_spec(game)
    if spec == tree.spec or not split_abstraction(spec)[1]:
        return list(tree.infoset_keys)
    states = zip(tree.infoset_player.tolist(), first_infoset_states(tree), strict=True)
    return [game.infoset_key(state, player) for player, state in states]


def first_infoset_nodes(tree: TreeArena) -> Ints:
    """Return the first node of each infoset [I] in level order."""
    infosets, nodes = np.unique(tree.infoset, return_index=True)
    return nodes[infosets >= 0]


def node_history(tree: TreeArena, node: int) -> list[int]:
    """Return the actions that lead to a node, those of chance included."""
    actions = []
    while tree.parent[node] >= 0:
        actions.append(int(tree.action[node]))
        node = int(tree.parent[node])
    return actions[::-1]


def incoming_action_name(tree: TreeArena, node: int) -> str:
    """Return the name of the action, of a player or of chance, that leads to a node."""
    sequence = int(tree.incoming_sequence[node])
    if sequence >= 0:
        return tree.sequence_names[sequence]
    action = int(tree.action[node])
    try:
        state = tree.game.initial_state()
        for earlier_action in node_history(tree, int(tree.parent[node])):
            state = tree.game.next_state(state, earlier_action)
        return tree.game.action_name(state, action)
    except CounterplayError:  # a tree from a file without its rules
        return str(action)


@cache_on_tree
def number_augmented_actions(tree: TreeArena) -> Ints:
    """Return the number [N, P] of each player's augmented infoset and action before each node.

    The augmented infoset of a player is its information at any node, also where others act. Nodes
    that follow the same augmented infoset by the same action have the same number.
    """
    try:
        tree.game  # noqa: B018
    except ConfigError as error:
        advice = "build the tree from its game instead of loading it"
        raise ConfigError(f"{tree.spec}: augmented infosets need the rules; {advice}") from error
    numbers: dict[tuple[int, str, int], int] = {}
    node_numbers = np.zeros((tree.num_nodes, tree.num_players), np.int32)
    try:
        for node, state in enumerate(iter_states(tree)):
            if tree.player[node] == TERMINAL:
                continue
            keys = [_infoset_key(tree, node, state, player) for player in range(tree.num_players)]
            for child in range(*tree.child_offset[node : node + 2].tolist()):
                action = int(tree.action[child])
                for player, key in enumerate(keys):
                    number = numbers.setdefault((player, key, action), len(numbers) + 1)
                    node_numbers[child, player] = number
    except GameError:
        raise
    except Exception as error:  # rules of another game may raise anything
        raise ConfigError(f"{tree.spec}: these rules do not lead to this tree") from error
    node_numbers.flags.writeable = False
    return node_numbers


def _infoset_key(tree: TreeArena, node: int, state: State, player: int) -> str:
    """Return the infoset key of any player at a node, also if another player acts."""
    try:
        return tree.game.infoset_key(state, player)
    except Exception as error:
        if player == tree.player[node]:
            raise
        raise unknown_key_error(tree.game, node_history(tree, node), player, error) from error
