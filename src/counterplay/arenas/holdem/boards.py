"""The boards of a spot, those that differ in the names of suits only folded into one; its hands.

Renaming suits is harmless if it changes neither the cards known so far nor a range. Cards that such
renamings make of each other are worth the same, so one of them is solved and the others are its
twins: the value of a hand there is that of the renamed hand here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterplay.arenas.holdem.hand_ranges import Range
from counterplay.arenas.holdem.spot import Spot
from counterplay.core.arena import Floats, Ints
from counterplay.core.cards import (
    ALL_HANDS,
    NUM_CARDS,
    SUIT_PERMUTATIONS,
    hand_index,
    permute_suits,
)
from counterplay.kernels.holdem import deal_walk, hand_strength

SuitPermutation = tuple[int, ...]
IDENTITY_PERMUTATION: SuitPermutation = (0, 1, 2, 3)  # no suit is renamed


@dataclass(frozen=True, eq=False)
class RangeHands:
    """The hands that a player may hold: those of its range that the board allows."""

    index: Ints  # [n] among the 1,326
    weight: Floats  # [n]
    cards: Ints  # [n, 2]

    @classmethod
    def from_range(cls, range_text: str, dead_cards: tuple[int, ...]) -> RangeHands:
        weights = Range.parse(range_text).weights_without(dead_cards)
        index = np.flatnonzero(weights)
        return cls(index, weights[index], np.array(ALL_HANDS, np.int64)[index])

    @property
    def size(self) -> int:
        return self.index.size

    @cached_property
    def holders(self) -> tuple[Ints, Ints]:
        """[53] first of each card's hands among the hands listed beside it."""
        lists = [np.flatnonzero((self.cards == card).any(axis=1)) for card in range(NUM_CARDS)]
        return np.cumsum([0, *map(len, lists)]), np.concatenate(lists)

    def indices_in(self, other: RangeHands) -> Ints:
        """[n] the other's index of each hand, or one past its last."""
        place = np.full(len(ALL_HANDS), other.size)
        place[other.index] = np.arange(other.size)
        return place[self.index]

    def permute_suits(self, suit_permutation: SuitPermutation) -> Ints:
        """[n] the hand that each becomes."""
        place = np.full(len(ALL_HANDS), -1)
        place[self.index] = np.arange(self.size)
        cards = [
            [permute_suits(card, suit_permutation) for card in hand] for hand in self.cards.tolist()
        ]
        return place[[hand_index(*hand) for hand in cards]]


@dataclass(frozen=True, eq=False)
class Boards:
    """All boards, level by level; level 0 is the spot's own."""

    level_offset: Ints  # [L + 1] first board of each level
    cards: list[tuple[int, ...]]  # [G]
    next_boards: Ints  # [G + 1] first of the boards with one card more
    chance: Floats  # [G] probability of the last card, given four cards in hands
    isomorphic_boards: Ints  # [G + 1] first of a board's twins
    permutation_index: Ints  # [.] what makes each of them this board
    suit_permutations: list[SuitPermutation]

    def next_board(
        self, board: int, renaming: SuitPermutation, card: int
    ) -> tuple[int, SuitPermutation]:
        """Find the board after `board` and a card, which may be a twin of the one solved.

        Args:
            renaming: the renaming of suits that made the cards dealt so far those of `board`.

        Returns:
            The board, and the renaming that makes the cards dealt those of that board.
        """
        children = range(int(self.next_boards[board]), int(self.next_boards[board + 1]))
        by_card = {self.cards[child][-1]: child for child in children}
        renamed = permute_suits(card, renaming)
        if renamed in by_card:
            return by_card[renamed], renaming
        for first, child in by_card.items():
            for i in range(
                int(self.isomorphic_boards[child]), int(self.isomorphic_boards[child + 1])
            ):
                suits = self.suit_permutations[int(self.permutation_index[i])]
                if permute_suits(renamed, suits) == first:
                    return child, tuple(suits[s] for s in renaming)
        raise AssertionError(f"card {card} leads to no board")

    @property
    def level_sizes(self) -> list[int]:
        """Boards of each level."""
        return np.diff(self.level_offset).tolist()

    def num_boards(self, street: int) -> int:
        """How many boards a street counted from the spot's own has."""
        return self.level_sizes[street]


def build_boards(spot: Spot, symmetries: list[SuitPermutation]) -> Boards:
    """The boards that can come; of those that the symmetries make alike, one."""
    used = (*spot.cards, *spot.dead_cards)
    renamings: dict[SuitPermutation, int] = {}
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
                like = min(group, key=lambda suits: permute_suits(card, suits))
                first = permute_suits(card, like)
                if first != card and first in found:
                    twins[found[first]].append(renamings.setdefault(like, len(renamings)))
                    continue
                found[card] = len(boards)
                boards.append((*board, card))
                groups.append([s for s in group if permute_suits(card, s) == card])
                twins.append([])
                chance.append(1.0 / left)
        level.append(len(boards))
    dealt += [len(boards)] * (len(boards) + 1 - len(dealt))
    return Boards(
        level_offset=np.array(level),
        cards=boards,
        next_boards=np.array(dealt),
        chance=np.array(chance),
        isomorphic_boards=np.cumsum([0, *map(len, twins)]),
        permutation_index=np.array([r for mine in twins for r in mine], np.int64),
        suit_permutations=list(renamings),
    )


def suit_symmetries(spot: Spot) -> list[SuitPermutation]:
    """The renamings of suits that change neither the cards known nor a range: a group."""
    weights = [Range.parse(text).weights for text in spot.ranges]
    cards = np.array(ALL_HANDS)
    found = []
    for suits in SUIT_PERMUTATIONS:
        swapped = np.array([permute_suits(card, suits) for card in range(NUM_CARDS)])
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
class StrengthOrder:
    """A player's hands on every board, weakest first, with ranks that both players share."""

    live_offset: Ints  # [G + 1] first of each board's hands
    hand: Ints
    rank: Ints


def sort_hands_by_strength(
    boards: Boards, hands_by_player: tuple[RangeHands, RangeHands]
) -> tuple[StrengthOrder, StrengthOrder]:
    """Both players' hands on every board; in their own order where nothing is shown yet."""
    live: list[list[int]] = [[0], [0]]
    parts: list[list[tuple[Ints, Ints]]] = [[], []]
    for board in boards.cards:
        strengths = [np.zeros(own.size, np.int64) for own in hands_by_player]
        for own, strength in zip(hands_by_player, strengths, strict=True):
            if len(board) == 5:
                hand_strength.board_strengths(np.array(board), own.cards, strength)
            else:
                strength[np.isin(own.cards, board).any(axis=1)] = -1
        order = [np.zeros(own.size, np.uint16) for own in hands_by_player]
        rank = [np.zeros(own.size, np.uint16) for own in hands_by_player]
        counts = deal_walk.sort_hands(*strengths, *order, *rank)
        for player, count in enumerate(counts):
            parts[player].append((order[player][:count], rank[player][:count]))
            live[player].append(live[player][-1] + count)
    one, two = (
        StrengthOrder(np.array(live[p]), *(np.concatenate(x) for x in zip(*parts[p], strict=True)))
        for p in (0, 1)
    )
    return one, two
