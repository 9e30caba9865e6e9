"""Inspect a policy of a hold'em game from the first card at a node, hand by hand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import (
    DEAL,
    FOLD,
    SHOWDOWN,
    BettingNode,
    BettingTree,
    StreetState,
)
from counterplay.arenas.holdem.boards import IDENTITY_PERMUTATION, SuitPermutation
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_betting import action_letter
from counterplay.arenas.holdem.game_subgames import StreetSubgames, opponent_mass
from counterplay.arenas.holdem.node_view import NodeView
from counterplay.core.arena import Floats
from counterplay.core.cards import cards_name, parse_cards, permute_suits
from counterplay.errors import ConfigError
from counterplay.kernels.holdem import board_walk, street_walk


class GameNodeLocation(NamedTuple):
    """A betting node on a canonical board."""

    node: int
    board: int
    suit_permutation: SuitPermutation  # from the cards of the history to those of the board


def find_game_node(arena: HoldemGameArena, history: str) -> GameNodeLocation:
    """Return the node after a history such as `cr6c|Td:c`.

    Args:
        arena: the game.
        history: f, c, r and r<chips> by action; a bar, the cards and a colon begin a round.

    Raises:
        ConfigError: an action or a card of the history is not possible.
    """
    node, board, suits = 0, 0, IDENTITY_PERMUTATION
    nodes = arena.betting.nodes
    first, *later = history.strip().split("|")
    for street, (cards, letters) in enumerate([("", first), *(p.split(":") for p in later)]):
        if street:
            if nodes[node].kind != DEAL:
                raise ConfigError(f"{history!r}: no card is dealt before {cards!r}")
            board, suits = _find_board(arena, street, board, suits, parse_cards(cards, "cards"))
            node = arena.betting.block_starts[nodes[node].next_block]
        for letter in re.findall(r"\w\d*", letters.replace(" ", "")):
            names = [action_letter(name) for name in nodes[node].actions]
            if letter not in names:
                actions = ", ".join(names) or "none"
                raise ConfigError(
                    f"{history!r}: {letter!r} is not possible there; legal: {actions}"
                )
            node = nodes[node].first_child + names.index(letter)
    return GameNodeLocation(node, board, suits)


def _find_board(
    arena: HoldemGameArena,
    street: int,
    board: int,
    suits: SuitPermutation,
    cards: tuple[int, ...],
) -> tuple[int, SuitPermutation]:
    """Return the canonical board after `cards` are dealt on `board`, and its permutation."""
    before, deals = arena.streets[street - 1], arena.streets[street]
    count = arena.game.board_cards[street]
    first, last = before.next_boards[board : board + 2].tolist()
    children = {frozenset(deals.cards[g, -count:].tolist()): g for g in range(first, last)}
    for symmetry in before.symmetries[board]:
        product = tuple(symmetry[s] for s in suits)
        child = children.get(frozenset(permute_suits(card, product) for card in cards))
        if child is not None and len(cards) == count:
            return child, product
    raise ConfigError(f"{cards_name(cards)!r} cannot be dealt there: {count} free cards are")


class _CheckDownArena(HoldemGameArena):
    """A game on the same boards without decisions; the showdown pays 1, 0 or -1."""

    def __init__(self, arena: HoldemGameArena):
        super().__init__(arena.game, arena.precision, arena.isomorphism)
        self.streets, betting = arena.streets, BettingTree()
        for street in range(len(self.streets)):
            is_last = street + 1 == len(self.streets)
            state = StreetState(street, 0, (1, 1), -1)
            node = BettingNode(SHOWDOWN if is_last else DEAL, state, street)
            betting.start_block(node, street - 1)
        betting.block_starts.append(len(betting.nodes))
        self.betting = betting

    def payoffs(self, winnings: Sequence[float]) -> list[float]:
        return list(winnings)


def _walk_block(
    arena: HoldemGameArena,
    policy: HoldemPolicy,
    player: int,
    root: tuple[int, int, int],
    ranges: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """Return the values and the opponent's reach, by row of a block, as a player walks it.

    Args:
        root: street, block and board.
        ranges: own reach [hands] of both players at the root.
    """
    scratch, dtype = arena.scratch(player), arena.compute_dtype
    own, opponent = (ranges[p][None].astype(dtype) for p in (player, 1 - player))
    reach = own, opponent, np.zeros_like(own)
    board_walk.walk_roots(
        arena.walks[player], arena.street_boards, arena.policy_tables(policy), scratch.threads[0],
        scratch.rows[0], scratch.stacks[0], scratch.top, np.array([[*root, 0]]), reach, 0, 1,
        street_walk.MODE_MEAN, arena.value_tolerance,
    )  # fmt: skip
    rows = scratch.rows[0][root[0]]
    return rows.value.astype(np.float64), rows.opponent_reach.astype(np.float64)


def inspect_game_node(policy: HoldemPolicy, history: str = "") -> NodeView:
    """Return a policy at a node, hand by hand, with EVs and equities.

    EVs are chips from the node on, or the prizes of a game that pays prizes.

    Args:
        policy: a policy on a `HoldemGameArena`.
        history: as the rules write it, such as `cr6c|Td:c`; "" is the first decision.

    Raises:
        ConfigError: the history is not possible, or no player acts after it.
    """
    arena: HoldemGameArena = policy.arena
    number, board, suits = find_game_node(arena, history)
    node = arena.betting.nodes[number]
    if node.kind >= FOLD:
        raise ConfigError(f"no player acts after {history!r}")
    street, player = node.state.street, node.kind
    ranges = np.ones((2, arena.num_hands(0)))
    if street:
        subgames = StreetSubgames(policy, street)
        is_root = (subgames.roots[:, 1:3] == (node.block, board)).all(axis=1)
        ranges = np.array([subgames.ranges[p][is_root][0] for p in (0, 1)])
    values, reach = _walk_block(
        arena, policy, player, (street, node.block, board), (ranges[0], ranges[1])
    )
    base, walk = arena.betting.block_starts[node.block], arena.walks[player][street]
    opponent = reach[walk.opponent_row[number]]
    own = ranges[player].copy()
    child = number
    while arena.betting.nodes[child].parent >= 0:
        parent = arena.betting.nodes[child].parent
        if arena.betting.nodes[parent].kind == player:
            action = child - arena.betting.nodes[parent].first_child
            own *= policy.probabilities_at(parent, board)[action]
        child = parent
    mass = opponent_mass(arena, street, opponent[None])[0]
    chips = 0 if arena.game.pays_prizes else node.state.contributions[player]
    check_down = _CheckDownArena(arena)
    no_policy = HoldemPolicy(check_down, *np.zeros((2, 0), check_down.compute_dtype))
    both = (own, opponent) if player == 0 else (opponent, own)
    shown, _ = _walk_block(check_down, no_policy, player, (street, street, board), both)
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = slice(node.first_child - base, node.first_child - base + len(node.actions))
        action_value = values[rows] / mass + chips
        value, equity = values[number - base] / mass + chips, (1.0 + shown[0] / mass) / 2.0
    inverse = tuple(suits.index(suit) for suit in range(4))
    hands = [
        cards_name(sorted((permute_suits(card, inverse) for card in hand), reverse=True))
        for hand in arena.hand_cards(street, board).tolist()
    ]
    cards = arena.streets[street].cards[board].tolist()
    return NodeView(
        history=history,
        board=cards_name(permute_suits(card, inverse) for card in cards),
        pot=sum(node.state.contributions),
        player=player,
        actions=node.actions,
        hands=tuple(hands),
        weight=own,
        policy=policy.probabilities_at(number, board),
        value=value,
        action_value=action_value,
        equity=equity,
        opponent_mass=mass,
        is_reached=bool((own * mass).sum() > 0.0),
    )
