"""Equities of all pairs of hands over the cards to come, for leaves after which only cards come.

An all-in call before the river leaves only chance. Its value is linear in the opponent's reach:
with the equity E of each pair of hands over all run-outs of the board, computed once, and the pot
P, a hand gains P * (E @ reach) - matched * mass. So no board after it has to be walked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import DTypeLike

from counterplay.arenas.holdem.betting import DEAL, SHOWDOWN, BettingTree
from counterplay.arenas.holdem.boards import Boards, RangeHands, river_strengths
from counterplay.arenas.holdem.spot import Spot
from counterplay.core.arena import Floats, Ints
from counterplay.core.cards import NUM_CARDS
from counterplay.kernels.holdem import equities

MAX_EQUITY_BYTES = 1 << 27  # of the equities of all turn boards; more are not worth the memory


@dataclass(frozen=True, eq=False)
class RunoutEquity:
    """Equities of player 0's hands, and the leaves that use them."""

    equity: Floats  # [boards, hands of player 0, hands of player 1]; 0 for hands sharing a card
    row: Ints  # [G] index in `equity` by board, or -1
    showdowns: dict[int, int] = field(default_factory=dict)  # final showdown by leaf

    @classmethod
    def empty(cls, num_boards: int, dtype: DTypeLike = np.float32) -> RunoutEquity:
        """Return equities of no board."""
        return cls(np.zeros((0, 0, 0), dtype), np.full(num_boards, -1))


def find_runouts(betting: BettingTree) -> dict[int, int]:
    """Return the final showdown of every deal after which no player acts."""
    showdowns = {}
    for number, node in enumerate(betting.nodes):
        end = number
        while betting.nodes[end].kind == DEAL:
            block = betting.nodes[end].next_block
            first, last = betting.block_starts[block : block + 2]
            if last - first > 1:
                break
            end = first
        if node.kind == DEAL and betting.nodes[end].kind == SHOWDOWN:
            showdowns[number] = end
    return showdowns


def build_runout_equity(
    spot: Spot,
    betting: BettingTree,
    boards: Boards,
    hands: tuple[RangeHands, RangeHands],
    dtype: DTypeLike,
) -> RunoutEquity:
    """Return the equities on all boards of a spot after which a run-out can come."""
    showdowns = find_runouts(betting)
    num_cards = {
        len(spot.cards) + betting.nodes[number].state.street - spot.street for number in showdowns
    }
    pairs = hands[0].size * hands[1].size
    item = np.dtype(dtype).itemsize
    rows = np.full(len(boards.cards), -1)
    for count in sorted(num_cards):
        numbers = [g for g, cards in enumerate(boards.cards) if len(cards) == count]
        if (rows.max() + 1 + len(numbers)) * pairs * item <= MAX_EQUITY_BYTES:
            rows[numbers] = rows.max() + 1 + np.arange(len(numbers))
    num_rows = int(rows.max()) + 1
    if not num_rows:
        return RunoutEquity.empty(len(boards.cards), dtype)
    equity = np.zeros((num_rows, hands[0].size, hands[1].size), dtype)
    cards_of_row = {boards.cards[g]: int(rows[g]) for g in range(len(rows)) if rows[g] >= 0}
    _fill_equity(equity, cards_of_row, spot, hands)
    kept = {len(cards) for cards in cards_of_row}
    street = {number: betting.nodes[number].state.street for number in showdowns}
    used = {
        number: end
        for number, end in showdowns.items()
        if len(spot.cards) + street[number] - spot.street in kept
    }
    return RunoutEquity(equity, rows, used)


def _fill_equity(
    equity: Floats,
    row_of_cards: dict[tuple[int, ...], int],
    spot: Spot,
    hands: tuple[RangeHands, RangeHands],
) -> None:
    """Set the equities on every board of `row_of_cards` to the mean over its run-outs."""
    used = set(spot.cards) | set(spot.dead_cards)
    deck = [card for card in range(NUM_CARDS) if card not in used]
    first, second = hands
    shares_card = (first.cards[:, None, :, None] == second.cards[None, :, None, :]).any((2, 3))
    num_left = len(deck) - 4  # cards that four hole cards leave
    cards = first.cards, second.cards
    root = row_of_cards.get(spot.cards, -1)
    if len(spot.cards) == 4:
        for river in deck:
            strengths = river_strengths((*spot.cards, river), cards, spot.deck_rules)
            equities.add_pair_equity(*_ranks(strengths), 1.0 / num_left, equity[root])
    else:
        board_equity = np.zeros(equity.shape[1:], equity.dtype)
        for turn in deck:
            row = row_of_cards.get((*spot.cards, turn), -1)
            if row < 0 and root < 0:
                continue
            board_equity[:] = 0.0
            for river in deck:
                if river != turn:
                    strengths = river_strengths((*spot.cards, turn, river), cards, spot.deck_rules)
                    weight = 1.0 / (num_left - 1)
                    equities.add_pair_equity(*_ranks(strengths), weight, board_equity)
            if row >= 0:
                equity[row] = board_equity
            if root >= 0:
                equity[root] += board_equity / num_left
    equity[:, shares_card] = 0.0


def _ranks(strengths: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """Return strengths in 32 bits, which kernels compare faster."""
    return strengths[0].astype(np.int32), strengths[1].astype(np.int32)
