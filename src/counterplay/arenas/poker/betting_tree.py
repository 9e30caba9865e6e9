"""The betting tree of a poker game of any number of players, as flat arrays.

Betting does not depend on the cards, so the rules are walked once, with any cards. Deals are not
nodes: a node of a later street follows the last action of the street before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from counterplay.core.arena import Ints
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.errors import ConfigError
from counterplay.games.compiled.poker import CHIPS, DEALT, LEFT, ROUND, compile_game
from counterplay.games.compiled.protocol import CompiledGame
from counterplay.games.holdem_base import HoldemBase
from counterplay.registry import get_spec

MAX_BETTING_NODES = 2_000_000
END = -1  # as player of a node: the hand is over


class BettingArrays(NamedTuple):
    """N nodes, breadth first: siblings are adjacent, and parents come before children."""

    player: Ints  # [N] int32; the player to act, or END
    street: Ints  # [N] int32; betting round
    first: Ints  # [N] int32; first child
    count: Any  # [N] int32; number of children
    action: Ints  # [N] int32; the action that leads to the node; 0 at the root
    parent: Ints  # [N] int32; -1 at the root
    chips: Ints  # [N, P] int32; contributions
    left: Ints  # [N] int32; players who have not folded, as bits


def build_betting_arrays(game: HoldemBase, max_nodes: int = MAX_BETTING_NODES) -> BettingArrays:
    """Return the betting tree of a game.

    Raises:
        ConfigError: the tree has more than `max_nodes` nodes.

    Example:
        >>> from counterplay.registry import load_game
        >>> tree = build_betting_arrays(load_game("limit_holdem"))
        >>> len(tree.player), int((tree.player >= 0).sum())
        (16584, 6378)
    """
    compiled = compile_game(game)
    params, num_players = compiled.params, game.num_players
    states = _deal_streets(compiled, compiled.initial_state[None].copy())
    action, parent = np.zeros(1, np.int64), np.full(1, -1, np.int64)
    levels, num_nodes = [], 0
    while len(states):
        player, count = np.zeros((2, len(states)), np.int64)
        compiled.current_player(params, states, player, count)
        first = num_nodes + len(states) + np.cumsum(count) - count
        chips = states[:, CHIPS : CHIPS + num_players]
        fixed = (np.where(player == TERMINAL, END, player), states[:, ROUND], first, count)
        levels.append(np.column_stack([*fixed, action, parent, states[:, LEFT], chips]))
        parent = num_nodes + np.repeat(np.arange(len(states)), count)
        num_nodes += len(states)
        if num_nodes + int(count.sum()) > max_nodes:
            raise ConfigError(
                f"the betting tree of {get_spec(game)} has more than {max_nodes:,} nodes: offer "
                "fewer sizes, fewer raises a street or smaller stacks"
            )
        action, chance = np.zeros(count.sum(), np.int64), np.zeros(count.sum())
        offsets = np.append(0, np.cumsum(count))
        compiled.legal_actions(params, states, player, offsets, action, chance)
        states = np.repeat(states, count, axis=0)
        compiled.step(params, states, np.repeat(player, count), action)
        states = _deal_streets(compiled, states)
    table = np.concatenate(levels).astype(np.int32)
    columns = [np.ascontiguousarray(column) for column in table[:, :7].T]
    chips = np.ascontiguousarray(table[:, 7:])
    return BettingArrays._make([*columns[:6], chips, columns[6]])


def _deal_streets(compiled: CompiledGame, states: Ints) -> Ints:
    """Deal cards, whichever they are, until no state waits for chance; change states in place."""
    player, count = np.zeros((2, len(states)), np.int64)
    while True:
        compiled.current_player(compiled.params, states, player, count)
        waiting = np.flatnonzero(player == CHANCE)
        if not len(waiting):
            return states
        dealt = states[waiting]
        cards = dealt[:, DEALT].astype(np.int64)
        compiled.step(compiled.params, dealt, np.full(len(dealt), CHANCE), cards)
        states[waiting] = dealt


def find_child(tree: BettingArrays, node: int, action: int) -> int:
    """Return the child of a node after an action, or -1 if the tree does not have it."""
    first, count = int(tree.first[node]), int(tree.count[node])
    found = np.flatnonzero(tree.action[first : first + count] == action)
    return first + int(found[0]) if len(found) else -1


def iter_path(tree: BettingArrays, node: int) -> Iterator[int]:
    """Yield the nodes from a node up to the root."""
    while node >= 0:
        yield node
        node = int(tree.parent[node])
