"""The betting tree of a hold'em game from the first card, walked by the rules of the game."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from counterplay.arenas.holdem.betting import (
    DEAL,
    FOLD,
    MAX_BETTING_NODES,
    SHOWDOWN,
    BettingNode,
    BettingTree,
    StreetState,
)
from counterplay.core.arena import Floats
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import HoldemBase, HoldemState
from counterplay.registry import get_spec


def build_game_betting(game: HoldemBase, max_nodes: int = MAX_BETTING_NODES) -> BettingTree:
    """Return the betting tree of a game: a block per round and betting history before it.

    Betting does not depend on the cards, so the rules are walked with any cards.

    Raises:
        ConfigError: the tree has more than `max_nodes` nodes.
    """
    betting = BettingTree()
    num_private = game.num_players * game.num_hole_cards
    waiting = deque([(_deal(game, game.initial_state(), num_private), -1)])
    while waiting:
        root, parent = waiting.popleft()
        block, number = len(betting.block_starts), len(betting.nodes)
        states = {number: root}
        betting.start_block(_make_node(game, root, block), parent)
        while number < len(betting.nodes):
            if len(betting.nodes) > max_nodes:
                raise ConfigError(
                    f"the betting tree of {get_spec(game)} has more than {max_nodes:,} nodes: "
                    "offer fewer sizes, fewer bets a round or smaller stacks"
                )
            node, state = betting.nodes[number], states.pop(number)
            if node.kind == DEAL:
                count = game.board_cards[state.round]
                waiting.append((_deal(game, state, count), number))
            elif node.kind < FOLD:
                node.first_child = len(betting.nodes)
                actions = game.actions(state)
                node.actions = tuple(game.action_name(state, action) for action in actions)
                for action, name in zip(actions, node.actions, strict=True):
                    after = game.next_state(state, action)
                    child = _make_node(game, after, block)
                    child.parent, child.action = number, name
                    if child.kind == FOLD:
                        child.folding_player = node.kind
                    states[len(betting.nodes)] = after
                    betting.nodes.append(child)
            number += 1
    betting.block_starts.append(len(betting.nodes))
    return betting


def _deal(game: HoldemBase, state: HoldemState, count: int) -> HoldemState:
    """Return the state after `count` cards, whichever they are."""
    for _ in range(count):
        card, _ = game.chance_outcomes(state)[0]
        state = game.next_state(state, card)
    return state


def _make_node(game: HoldemBase, state: HoldemState, block: int) -> BettingNode:
    player = state.to_act
    if player == TERMINAL:
        kind = FOLD if len(state.players_left) == 1 else SHOWDOWN
    else:
        kind = DEAL if player == CHANCE else player
    first, second = state.contributions
    street = state.round - (kind == DEAL)  # the rules count the round that the deal begins
    street_state = StreetState(street, 0, (first, second), player, state.num_raises)
    return BettingNode(kind, street_state, block)


def leaf_payoffs(
    betting: BettingTree, player: int, payoffs: Callable[[Sequence[float]], list[float]]
) -> Floats:
    """Return a player's payoffs [N, 3]: (win - lose) / 2, tie - (win + lose) / 2, lose.

    Args:
        betting: the betting tree.
        player: 0 or 1.
        payoffs: returns the utilities of both players, given the chips that they win.
    """
    result = np.zeros((len(betting.nodes), 3))
    for number, node in enumerate(betting.nodes):
        chips = float(min(node.state.contributions))
        if node.kind == FOLD:
            won = -chips if node.folding_player == 0 else chips
            gain = payoffs((won, -won))[player]
            result[number] = 0.0, 0.0, gain
        elif node.kind == SHOWDOWN:
            won, tie, lost = (payoffs((x, -x))[player] for x in (chips, 0.0, -chips))
            win, lose = (won, lost) if player == 0 else (lost, won)
            result[number] = (win - lose) / 2.0, tie - (win + lose) / 2.0, lose
    return result


def action_letter(name: str) -> str:
    """Return an action as it is written in histories, such as `r6` for "raise to 6"."""
    return name[0] + "".join(letter for letter in name if letter.isdigit())
