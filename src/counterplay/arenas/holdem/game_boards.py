"""Boards of a hold'em game from the first card, merged by suit permutations street by street.

A suit permutation that maps the cards of every street so far to themselves, in any order, is a
symmetry of the board. Deals that a symmetry of their board maps to each other are merged: one of
them is solved, with `num_merged` deals to stand for. Nothing before the first deal distinguishes
suits, so there all suit permutations are symmetries.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations
from math import comb, factorial

import numpy as np

from counterplay.arenas.holdem.boards import StrengthOrder
from counterplay.core.arena import Ints
from counterplay.core.cards import NUM_CARDS, permute_suits
from counterplay.games.holdem_base import HoldemBase
from counterplay.kernels.holdem import board_walk, preflop_tables

SuitPermutation = tuple[int, ...]  # suit s becomes suit p[s]


@dataclass(frozen=True, eq=False)
class StreetDeals:
    """The G canonical boards of a street."""

    cards: Ints  # [G, b] the cards of the whole board, street by street
    free_cards: Ints  # [G, n] the cards that the board leaves, in rising order
    parent: Ints  # [G] board of the street before
    num_merged: Ints  # [G] deals on the parent board that the board stands for
    symmetries: list[list[SuitPermutation]]  # [G]
    chance: float  # probability of each deal on the parent board, given the players' cards
    next_boards: Ints  # [G + 1] first board of the next street that extends each board

    @property
    def num_boards(self) -> int:
        """Number of boards G."""
        return len(self.cards)


def suit_permutations(game: HoldemBase) -> list[SuitPermutation]:
    """Return all permutations of the suits of a game's deck; other suits stay."""
    used = sorted({card % 4 for card in game.deck})
    others = [suit for suit in range(4) if suit not in used]
    return [
        tuple(dict(zip([*used, *others], [*order, *others], strict=True))[s] for s in range(4))
        for order in permutations(used)
    ]


def count_boards(game: HoldemBase, isomorphism: bool) -> list[int]:
    """Return a lower bound of the number of canonical boards by street, without listing them."""
    num_suits = len({card % 4 for card in game.deck})
    counts, total, left = [], 1, len(game.deck)
    for count in game.board_cards:
        total, left = total * comb(left, count), left - count
        counts.append(-(-total // (factorial(num_suits) if isomorphism else 1)))
    return counts


def deal_streets(game: HoldemBase, isomorphism: bool) -> list[StreetDeals]:
    """Return the boards of every street.

    Args:
        game: the rules.
        isomorphism: merge isomorphic boards; otherwise every deal has a board.
    """
    group: list[SuitPermutation] = [(0, 1, 2, 3)]
    if isomorphism:
        group = suit_permutations(game)
    images = {}
    for suits in group:
        images[suits] = np.array([permute_suits(card, suits) for card in range(NUM_CARDS)])
    boards: list[tuple[int, ...]] = [()]
    symmetries, parents, merged, chance = [group], [0], [1], 1.0
    streets = []
    num_private = game.num_players * game.num_hole_cards
    for street, count in enumerate((*game.board_cards[1:], 0)):
        free = np.array([[c for c in game.deck if c not in board] for board in boards])
        next_boards, next_parents, next_merged, next_symmetries = [], [], [], []
        first = [0]
        for number, board in enumerate(boards if count else []):
            deals = np.array(list(combinations(free[number].tolist(), count)))
            keys = [_deal_keys(images[suits][deals]) for suits in symmetries[number]]
            own_keys = _deal_keys(deals)
            smallest = np.min(keys, axis=0)
            canonical, sizes = np.unique(smallest, return_counts=True)
            index_by_key = {int(own_keys[i]): i for i in np.flatnonzero(own_keys == smallest)}
            for key, size in zip(canonical.tolist(), sizes.tolist(), strict=True):
                deal = index_by_key[key]
                next_boards.append((*board, *deals[deal].tolist()))
                next_parents.append(number)
                next_merged.append(size)
                fixed = [s for s, k in zip(symmetries[number], keys, strict=True) if k[deal] == key]
                next_symmetries.append(fixed)
            first.append(len(next_boards))
        first += [len(next_boards)] * (len(boards) + 1 - len(first))
        streets.append(
            StreetDeals(
                np.array(boards, np.int64).reshape(len(boards), -1),
                free,
                np.array(parents),
                np.array(merged),
                symmetries,
                chance,
                np.array(first),
            )
        )
        if count:
            num_left = len(game.deck) - len(boards[0]) - num_private
            boards, parents, merged = next_boards, next_parents, next_merged
            symmetries, chance = next_symmetries, 1.0 / comb(num_left, game.board_cards[street + 1])
    return streets


def _deal_keys(deals: Ints) -> Ints:
    """Return a number per deal [deals, cards] that does not depend on the order of its cards."""
    keys = np.zeros(len(deals), np.int64)
    for column in np.sort(deals, axis=1).T:
        keys = keys * NUM_CARDS + column
    return keys


def hand_positions(num_free: int, num_hole_cards: int) -> Ints:
    """Return the hands [hands, hole cards] of cards numbered 0 to `num_free` - 1, in order."""
    if num_hole_cards == 1:
        return np.arange(num_free).reshape(-1, 1)
    return np.array([(a, b) for b in range(num_free) for a in range(b)], np.int64).reshape(-1, 2)


def hand_numbers(positions: Ints) -> Ints:
    """Return the number of each hand, given the positions [..., hole cards] of its cards."""
    ordered = np.sort(positions, axis=-1)
    if positions.shape[-1] == 1:
        return ordered[..., 0]
    low, high = ordered[..., 0], ordered[..., 1]
    return high * (high - 1) // 2 + low


def parent_hands(street: StreetDeals, before: StreetDeals, num_hole_cards: int) -> Ints:
    """Return the numbers [G, hands] that the hands of a street's boards have on their parents."""
    position = np.zeros((before.num_boards, NUM_CARDS), np.int64)
    np.put_along_axis(position, before.free_cards, np.arange(before.free_cards.shape[1])[None], 1)
    on_parent = np.take_along_axis(position[street.parent], street.free_cards, 1)
    hands = hand_positions(street.free_cards.shape[1], num_hole_cards)
    return np.ascontiguousarray(hand_numbers(on_parent[:, hands]), np.uint16)


def hand_orbits(street: StreetDeals, num_hole_cards: int) -> tuple[Ints, Ints]:
    """Return the row [G] of every board in the orbits, -1 without symmetry, and these [., hands].

    An orbit is named by its smallest hand.
    """
    hands = hand_positions(street.free_cards.shape[1], num_hole_cards)
    rows, orbits = np.full(street.num_boards, -1), list[Ints]()
    for board, symmetries in enumerate(street.symmetries):
        if len(symmetries) == 1:
            continue
        free = street.free_cards[board]
        position = np.zeros(NUM_CARDS, np.int64)
        position[free] = np.arange(free.size)
        images = []
        for suits in symmetries:
            permuted = position[[permute_suits(card, suits) for card in free.tolist()]]
            images.append(hand_numbers(permuted[hands]))
        rows[board] = len(orbits)
        orbits.append(np.min(images, axis=0))
    return rows, np.array(orbits, np.uint16).reshape(-1, len(hands))


def strength_order(street: StreetDeals, game: HoldemBase, has_showdowns: bool) -> StrengthOrder:
    """Return the hands of every board by strength; in any order on streets without showdowns."""
    num_hole_cards = game.num_hole_cards
    num_hands = len(hand_positions(street.free_cards.shape[1], num_hole_cards))
    shape = street.num_boards, num_hands
    order, rank = np.empty(shape, np.uint16), np.zeros(shape, np.uint16)
    if has_showdowns and game.strength_rules is not None:
        positions = hand_positions(street.free_cards.shape[1], num_hole_cards)
        ranks = np.empty(num_hands, np.int16)
        for board, (cards, free) in enumerate(zip(street.cards, street.free_cards, strict=True)):
            preflop_tables.rank_hands(cards, free[positions], *game.strength_rules, ranks)
            order[board] = np.argsort(ranks, kind="stable")
            rank[board] = ranks[order[board]]
    elif has_showdowns:
        board_walk.sort_hands_on_boards(
            street.cards, street.free_cards, num_hole_cards, order, rank
        )
    else:
        order[:] = np.arange(num_hands)
    offsets = num_hands * np.arange(street.num_boards + 1)
    return StrengthOrder(offsets, order.ravel(), rank.ravel())
