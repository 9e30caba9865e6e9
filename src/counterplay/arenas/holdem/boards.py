"""Boards and hands of a spot, with boards merged that are isomorphic under suit permutations.

A suit permutation that maps the known cards and both ranges to themselves is a symmetry of the
spot. Boards that a symmetry maps to each other are isomorphic: one of them, the canonical board,
is solved, and the value of a hand on another is that of the permuted hand on the canonical board.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from counterplay.arenas.holdem.hand_ranges import Range
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.preflop.deck import Deck
from counterplay.core.arena import Floats, Ints
from counterplay.core.cards import (
    ALL_HANDS,
    NUM_CARDS,
    SUIT_PERMUTATIONS,
    hand_index,
    permute_suits,
)
from counterplay.kernels.holdem import deal_walk, hand_strength, preflop_tables

SuitPermutation = tuple[int, ...]  # suit s becomes suit p[s]
IDENTITY_PERMUTATION: SuitPermutation = (0, 1, 2, 3)


@dataclass(frozen=True, eq=False)
class RangeHands:
    """The n hands of a range that the board and the dead cards allow."""

    index: Ints  # [n] among the 1,326 hands
    weight: Floats  # [n]
    cards: Ints  # [n, 2]

    @classmethod
    def from_range(cls, range_text: str, dead_cards: tuple[int, ...]) -> RangeHands:
        """Return the hands of a range text that hold none of the `dead_cards`."""
        weights = Range.parse(range_text).weights_without(dead_cards)
        index = np.flatnonzero(weights)
        return cls(index, weights[index], np.array(ALL_HANDS, np.int64)[index])

    @property
    def size(self) -> int:
        """Number of hands n."""
        return self.index.size

    @cached_property
    def holders(self) -> tuple[Ints, Ints]:
        """Offsets [53] and hands: card c is held by `hands[offsets[c] : offsets[c + 1]]`."""
        lists = [np.flatnonzero((self.cards == card).any(axis=1)) for card in range(NUM_CARDS)]
        return np.cumsum([0, *map(len, lists)]), np.concatenate(lists)

    def indices_in(self, other: RangeHands) -> Ints:
        """Return the index [n] of each hand in another range, `other.size` if it is not there."""
        positions = np.full(len(ALL_HANDS), other.size)
        positions[other.index] = np.arange(other.size)
        return positions[self.index]

    def compatible_mass(self, other: RangeHands, weights: Floats) -> Floats:
        """Return the sum [n] of another range's weights over the hands without a common card.

        Args:
            other: the opponent's hands.
            weights: [other.size] their weights or reach.
        """
        by_card = np.bincount(other.cards.ravel(), np.repeat(weights, 2), NUM_CARDS)
        same_hand = np.append(weights, 0.0)[self.indices_in(other)]
        return weights.sum() - by_card[self.cards].sum(axis=1) + same_hand

    def permute_suits(self, suit_permutation: SuitPermutation) -> Ints:
        """Return the index [n] of the hand that each hand becomes; -1 if not in the range."""
        positions = np.full(len(ALL_HANDS), -1)
        positions[self.index] = np.arange(self.size)
        cards = [
            [permute_suits(card, suit_permutation) for card in hand] for hand in self.cards.tolist()
        ]
        return positions[[hand_index(*hand) for hand in cards]]


@dataclass(frozen=True, eq=False)
class Boards:
    """The G canonical boards of a spot, level by level. Level 0 is the board of the spot."""

    level_offset: Ints  # [L + 1] first board of each level
    cards: list[tuple[int, ...]]  # [G]
    next_boards: Ints  # [G + 1] first of the boards with one card more
    chance: Floats  # [G] probability of the last card, given four cards in the players' hands
    isomorphic_boards: Ints  # [G + 1] first of the boards merged into each, in permutation_index
    permutation_index: Ints  # of the suit permutation from a merged board to its canonical board
    suit_permutations: list[SuitPermutation]

    def next_board(
        self, board: int, suit_permutation: SuitPermutation, card: int
    ) -> tuple[int, SuitPermutation]:
        """Return the canonical board after `card` is dealt on `board`.

        Args:
            board: a canonical board.
            suit_permutation: maps the cards dealt so far to those of `board`.
            card: the card dealt next, before the permutation.

        Returns:
            The next canonical board, and the permutation from the cards dealt to its cards.
        """
        children = range(int(self.next_boards[board]), int(self.next_boards[board + 1]))
        child_by_card = {self.cards[child][-1]: child for child in children}
        permuted = permute_suits(card, suit_permutation)
        if permuted in child_by_card:
            return child_by_card[permuted], suit_permutation
        for canonical_card, child in child_by_card.items():
            first, last = self.isomorphic_boards[child : child + 2].tolist()
            for index in self.permutation_index[first:last].tolist():
                suits = self.suit_permutations[index]
                if permute_suits(permuted, suits) == canonical_card:
                    return child, tuple(suits[s] for s in suit_permutation)
        raise AssertionError(f"card {card} leads to no board")

    @property
    def multiplicity(self) -> Ints:
        """Number [G] of boards that each board stands for, itself included."""
        numbers = np.diff(self.isomorphic_boards) + 1
        for board, (first, last) in enumerate(pairwise(self.next_boards.tolist())):
            numbers[first:last] *= numbers[board]
        return numbers

    @property
    def level_sizes(self) -> list[int]:
        """Number of boards by level."""
        return np.diff(self.level_offset).tolist()


def build_boards(spot: Spot, symmetries: list[SuitPermutation]) -> Boards:
    """Return the boards that can come; those that the symmetries map to each other are merged."""
    num_used = len(spot.cards) + len(spot.dead_cards)
    permutations: dict[SuitPermutation, int] = {}
    boards, groups, merged = [spot.cards], [symmetries], [list[int]()]
    next_boards, level_offset, chance = [], [0, 1], [1.0]
    for depth in range(2 - spot.street):
        left = NUM_CARDS - num_used - depth - 4
        for number in range(level_offset[-2], level_offset[-1]):
            board, group = boards[number], groups[number]
            next_boards.append(len(boards))
            board_by_card: dict[int, int] = {}
            for card in range(NUM_CARDS):
                if card in board or card in spot.dead_cards:
                    continue
                smallest = min(group, key=lambda suits: permute_suits(card, suits))
                canonical = permute_suits(card, smallest)
                if canonical != card and canonical in board_by_card:
                    index = permutations.setdefault(smallest, len(permutations))
                    merged[board_by_card[canonical]].append(index)
                    continue
                board_by_card[card] = len(boards)
                boards.append((*board, card))
                groups.append([s for s in group if permute_suits(card, s) == card])
                merged.append([])
                chance.append(1.0 / left)
        level_offset.append(len(boards))
    next_boards += [len(boards)] * (len(boards) + 1 - len(next_boards))
    return Boards(
        level_offset=np.array(level_offset),
        cards=boards,
        next_boards=np.array(next_boards),
        chance=np.array(chance),
        isomorphic_boards=np.cumsum([0, *map(len, merged)]),
        permutation_index=np.array([index for part in merged for index in part], np.int64),
        suit_permutations=list(permutations),
    )


def suit_symmetries(
    board: Sequence[int], dead_cards: Sequence[int], ranges: tuple[str, str]
) -> list[SuitPermutation]:
    """Return the group of suit permutations that change neither the known cards nor a range."""
    weights = [Range.parse(text).weights for text in ranges]
    hands = np.array(ALL_HANDS)
    symmetries = []
    for suits in SUIT_PERMUTATIONS:
        permuted = np.array([permute_suits(card, suits) for card in range(NUM_CARDS)])
        if any({*permuted[list(c)].tolist()} != {*c} for c in (board, dead_cards) if c):
            continue
        low, high = np.sort(permuted[hands], axis=1).T
        index = high * (high - 1) // 2 + low
        if all((w[index] == w).all() for w in weights):
            symmetries.append(suits)
    return symmetries


@dataclass(frozen=True, eq=False)
class StrengthOrder:
    """A player's hands on every board, weakest first, with ranks shared by both players."""

    live_offset: Ints  # [G + 1] first of each board's hands in `hand`
    hand: Ints
    rank: Ints  # 0, 1, ... as long as `hand`; equal ranks tie


def river_strengths(
    board: Sequence[int], cards_by_player: Sequence[Ints], deck: Deck
) -> tuple[Ints, Ints]:
    """Return the strengths [n] of both players' hands on a board of five cards.

    Strengths compare between players; a hand that shares a card with the board has -1.

    Args:
        board: the cards of the board.
        cards_by_player: [n, 2] the hands of each player.
        deck: has the order of hands.
    """
    first, second = cards_by_player
    if deck.ranking == "standard":
        strengths = np.zeros(len(first), np.int64), np.zeros(len(second), np.int64)
        for cards, strength in zip(cards_by_player, strengths, strict=True):
            hand_strength.board_strengths(np.array(board), cards, strength)
        return strengths
    ranks = np.empty(len(first) + len(second), np.int16)
    cards = np.concatenate([first, second])
    preflop_tables.rank_hands(np.array(board), cards, *deck.strength_rules, ranks)
    values = np.where(ranks == preflop_tables.BLOCKED, -1, ranks).astype(np.int64)
    return values[: len(first)], values[len(first) :]


def sort_hands_by_strength(
    boards: Boards, hands_by_player: tuple[RangeHands, RangeHands], deck: Deck
) -> tuple[StrengthOrder, StrengthOrder]:
    """Return both players' live hands on every board, in range order before the river."""
    live: list[list[int]] = [[0], [0]]
    parts: list[list[tuple[Ints, Ints]]] = [[], []]
    for board in boards.cards:
        if len(board) == 5:
            strengths = river_strengths(board, [hands.cards for hands in hands_by_player], deck)
        else:
            blocked = [np.isin(hands.cards, board).any(axis=1) for hands in hands_by_player]
            strengths = np.where(blocked[0], -1, 0), np.where(blocked[1], -1, 0)
        order = [np.zeros(hands.size, np.uint16) for hands in hands_by_player]
        rank = [np.zeros(hands.size, np.uint16) for hands in hands_by_player]
        counts = deal_walk.sort_hands(*strengths, *order, *rank)
        for player, count in enumerate(counts):
            parts[player].append((order[player][:count], rank[player][:count]))
            live[player].append(live[player][-1] + count)
    first, second = (
        StrengthOrder(np.array(live[p]), *(np.concatenate(x) for x in zip(*parts[p], strict=True)))
        for p in (0, 1)
    )
    return first, second
