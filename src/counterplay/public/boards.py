"""The boards of a spot, those that differ in the names of suits only folded into one; its hands.

Renaming suits is harmless if it changes neither the cards known so far nor a range. Cards that such
renamings make of each other are worth the same, so one of them is solved and the others are its
twins: the value of a hand there is that of the renamed hand here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterplay.arena import Floats, Ints
from counterplay.cards import HANDS, NUM_CARDS, SUIT_SWAPS, hand_index, swap_suits
from counterplay.kernels import dealing, hands
from counterplay.public.ranges import Range
from counterplay.public.spot import Spot

Renaming = tuple[int, ...]
SAME: Renaming = (0, 1, 2, 3)  # no suit is renamed


@dataclass(frozen=True, eq=False)
class Hands:
    """The hands that a player may hold: those of its range that the board allows."""

    index: Ints  # [n] among the 1,326
    weight: Floats  # [n]
    cards: Ints  # [n, 2]

    @classmethod
    def of(cls, text: str, used: tuple[int, ...]) -> Hands:
        weights = Range.parse(text).without(used)
        index = np.flatnonzero(weights)
        return cls(index, weights[index], np.array(HANDS, np.int64)[index])

    @property
    def size(self) -> int:
        return self.index.size

    @cached_property
    def holders(self) -> tuple[Ints, Ints]:
        """[53] first of each card's hands among the hands listed beside it."""
        lists = [np.flatnonzero((self.cards == card).any(axis=1)) for card in range(NUM_CARDS)]
        return np.cumsum([0, *map(len, lists)]), np.concatenate(lists)

    def same(self, other: Hands) -> Ints:
        """[n] the other's index of each hand, or one past its last."""
        place = np.full(len(HANDS), other.size)
        place[other.index] = np.arange(other.size)
        return place[self.index]

    def renamed(self, suits: Renaming) -> Ints:
        """[n] the hand that each becomes."""
        place = np.full(len(HANDS), -1)
        place[self.index] = np.arange(self.size)
        cards = [[swap_suits(card, suits) for card in hand] for hand in self.cards.tolist()]
        return place[[hand_index(*hand) for hand in cards]]


@dataclass(frozen=True, eq=False)
class Boards:
    """All boards, level by level; level 0 is the spot's own."""

    level: Ints  # [L + 1] first board of each level
    cards: list[tuple[int, ...]]  # [G]
    dealt: Ints  # [G + 1] first of the boards with one card more
    chance: Floats  # [G] probability of the last card, given four cards in hands
    twin: Ints  # [G + 1] first of a board's twins
    renaming: Ints  # [.] what makes each of them this board
    renamings: list[Renaming]

    def next_board(self, board: int, renaming: Renaming, card: int) -> tuple[int, Renaming]:
        """Find the board after `board` and a card, which may be a twin of the one solved.

        Args:
            renaming: the renaming of suits that made the cards dealt so far those of `board`.

        Returns:
            The board, and the renaming that makes the cards dealt those of that board.
        """
        children = range(int(self.dealt[board]), int(self.dealt[board + 1]))
        by_card = {self.cards[child][-1]: child for child in children}
        renamed = swap_suits(card, renaming)
        if renamed in by_card:
            return by_card[renamed], renaming
        for first, child in by_card.items():
            for i in range(int(self.twin[child]), int(self.twin[child + 1])):
                suits = self.renamings[int(self.renaming[i])]
                if swap_suits(renamed, suits) == first:
                    return child, tuple(suits[s] for s in renaming)
        raise AssertionError(f"card {card} leads to no board")

    @property
    def counts(self) -> list[int]:
        """Boards of each level."""
        return np.diff(self.level).tolist()

    def of_street(self, street: int) -> int:
        """How many boards a street counted from the spot's own has."""
        return self.counts[street]


def boards_of(spot: Spot, symmetries: list[Renaming]) -> Boards:
    """The boards that can come; of those that the symmetries make alike, one."""
    used = (*spot.cards, *spot.dead_cards)
    renamings: dict[Renaming, int] = {}
    boards, groups, twins = [spot.cards], [symmetries], [list[int]()]
    dealt, level, chance = [], [0, 1], [1.0]
    for depth in range(2 - spot.street):
        left = NUM_CARDS - len(used) - depth - 4
        for number in range(level[-2], level[-1]):
            board, group = boards[number], groups[number]
            dealt.append(len(boards))
            found: dict[int, int] = {}
            for card in range(NUM_CARDS):
                if card in board or card in spot.dead_cards:
                    continue
                like = min(group, key=lambda suits: swap_suits(card, suits))
                first = swap_suits(card, like)
                if first != card and first in found:
                    twins[found[first]].append(renamings.setdefault(like, len(renamings)))
                    continue
                found[card] = len(boards)
                boards.append((*board, card))
                groups.append([s for s in group if swap_suits(card, s) == card])
                twins.append([])
                chance.append(1.0 / left)
        level.append(len(boards))
    dealt += [len(boards)] * (len(boards) + 1 - len(dealt))
    return Boards(
        level=np.array(level),
        cards=boards,
        dealt=np.array(dealt),
        chance=np.array(chance),
        twin=np.cumsum([0, *map(len, twins)]),
        renaming=np.array([r for mine in twins for r in mine], np.int64),
        renamings=list(renamings),
    )


def suit_symmetries(spot: Spot) -> list[Renaming]:
    """The renamings of suits that change neither the cards known nor a range: a group."""
    weights = [Range.parse(text).weights for text in spot.ranges]
    cards = np.array(HANDS)
    found = []
    for suits in SUIT_SWAPS:
        swapped = np.array([swap_suits(card, suits) for card in range(NUM_CARDS)])
        if {*swapped[list(spot.cards)].tolist()} != set(spot.cards):
            continue
        if spot.dead_cards and {*swapped[list(spot.dead_cards)].tolist()} != set(spot.dead_cards):
            continue
        low, high = np.sort(swapped[cards], axis=1).T
        moved = high * (high - 1) // 2 + low
        if all((w[moved] == w).all() for w in weights):
            found.append(suits)
    return found


@dataclass(frozen=True, eq=False)
class Order:
    """A player's hands on every board, weakest first, with ranks that both players share."""

    live: Ints  # [G + 1] first of each board's hands
    hand: Ints
    rank: Ints


def orders_of(boards: Boards, both: tuple[Hands, Hands]) -> tuple[Order, Order]:
    """Both players' hands on every board; in their own order where nothing is shown yet."""
    live: list[list[int]] = [[0], [0]]
    parts: list[list[tuple[Ints, Ints]]] = [[], []]
    for board in boards.cards:
        strengths = [np.zeros(own.size, np.int64) for own in both]
        for own, strength in zip(both, strengths, strict=True):
            if len(board) == 5:
                hands.board_strengths(np.array(board), own.cards, strength)
            else:
                strength[np.isin(own.cards, board).any(axis=1)] = -1
        order = [np.zeros(own.size, np.uint16) for own in both]
        rank = [np.zeros(own.size, np.uint16) for own in both]
        counts = dealing.sort_hands(*strengths, *order, *rank)
        for player, count in enumerate(counts):
            parts[player].append((order[player][:count], rank[player][:count]))
            live[player].append(live[player][-1] + count)
    one, two = (
        Order(np.array(live[p]), *(np.concatenate(x) for x in zip(*parts[p], strict=True)))
        for p in (0, 1)
    )
    return one, two
