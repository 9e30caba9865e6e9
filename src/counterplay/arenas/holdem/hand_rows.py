"""Rows of hands on the boards of a game's second round, and what a network sees of them.

Two hands of a board share a row if they have the same ranks and the same live suits, where a suit
is live if enough cards of it are on the board for a flush. Hands of a row tie at the showdown; they
differ only in the cards that they take from the opponent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterplay.arenas.holdem.betting import DEAL, FOLD
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_boards import StreetDeals, hand_orbits, suit_permutations
from counterplay.core.arena import Floats, Ints
from counterplay.errors import ConfigError
from counterplay.kernels.holdem.hand_strength import CATEGORY_SHIFT, strengths

FLUSH_CARDS = 5
NUM_RANKS, NUM_CATEGORIES = 13, 9
# of the share of weaker hands: hat functions, close together where few hands are stronger
PERCENTILE_KNOTS = np.concatenate(
    [np.linspace(0.0, 0.9, 19), [0.925, 0.95, 0.965, 0.98, 0.99, 1.0]]
)
LOGARITHM_OFFSET, LOGARITHM_SCALE = 1.003, 3.0  # keep log(offset - share) finite and below 2


@dataclass(frozen=True, eq=False)
class HandRows:
    """The R rows on all G boards of the second round, board by board."""

    first: Ints  # [G + 1] first row of each board
    row_of_hand: Ints  # [G, hands] the row of each hand, counted from the first of its board
    num_hands: Ints  # [R] hands of each row
    hand: Ints  # [R] one hand of each row
    kind: Ints  # [R] kind of the row's hands before the deal, among those of `kind_of_hand`
    kind_of_hand: Ints  # [hands before the deal] equal for hands that suit permutations exchange

    @property
    def num_rows(self) -> int:
        """Number of rows R."""
        return self.kind.size

    @property
    def num_kinds(self) -> int:
        """Number of kinds of hands before the deal."""
        return int(self.kind_of_hand.max()) + 1

    @cached_property
    def kind_size(self) -> Ints:
        """[kinds] number of hands before the deal of each kind."""
        return np.bincount(self.kind_of_hand)

    @cached_property
    def board(self) -> Ints:
        """[R] the board of each row."""
        return np.repeat(np.arange(self.first.size - 1), np.diff(self.first))


def check_two_rounds(arena: HoldemGameArena) -> None:
    """Raise ConfigError unless the game has two rounds, a deal between them, and pays chips."""
    if not isinstance(arena, HoldemGameArena):
        raise ConfigError(f"{arena.spec} is not a hold'em game from the first card")
    num_rounds = len(arena.streets)
    if num_rounds != 2:
        raise ConfigError(
            f"{arena.spec} has {num_rounds} betting round{'s' * (num_rounds > 1)}; the encoding "
            "of hands is for games of two, such as flop_holdem"
        )
    if arena.game.pays_prizes:
        raise ConfigError(f"{arena.spec} pays prizes; the encoding of hands is for chips")
    if not any(node.kind == DEAL for node in arena.betting.nodes):
        raise ConfigError(f"in {arena.spec} all betting ends before the board is dealt")
    if not any(node.kind < FOLD and node.state.street == 1 for node in arena.betting.nodes):
        raise ConfigError(f"in {arena.spec} no player acts after the board is dealt")


def make_hand_rows(arena: HoldemGameArena) -> HandRows:
    """Return the rows of an arena of two rounds."""
    street, num_hole_cards = arena.streets[1], arena.game.num_hole_cards
    kind_of_hand = hand_kinds(arena)
    first, kinds, hands, counts = [0], [], [], []
    row_of_hand = np.zeros((street.num_boards, arena.num_hands(1)), np.uint16)
    parent_hand = arena.street_boards[1].parent_hand
    for board in range(street.num_boards):
        keys = _row_keys(street.cards[board], arena.hand_cards(1, board), num_hole_cards)
        _, some_hand, row_of_hand[board], count = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        first.append(first[-1] + some_hand.size)
        hands.append(some_hand)
        counts.append(count)
        kinds.append(kind_of_hand[parent_hand[board, some_hand]])
    return HandRows(
        np.array(first),
        row_of_hand,
        np.concatenate(counts),
        np.concatenate(hands),
        np.concatenate(kinds),
        kind_of_hand,
    )


def hand_kinds(arena: HoldemGameArena) -> Ints:
    """Return the kind of each hand before the deal: hands that suit permutations exchange."""
    before = arena.streets[0]
    whole = StreetDeals(
        before.cards,
        before.free_cards,
        before.parent,
        before.num_merged,
        [suit_permutations(arena.game)],
        before.chance,
        before.next_boards,
    )
    orbits = hand_orbits(whole, arena.game.num_hole_cards)[1]
    names = orbits[0] if len(orbits) else np.arange(arena.num_hands(0))
    return np.unique(names, return_inverse=True)[1]


def _live_suits(board: Ints, num_hole_cards: int) -> Ints:
    """Return for each suit the cards on a last board, or 0 if no hand makes a flush with them."""
    count = np.bincount(board % 4, minlength=4)
    return np.where(count + num_hole_cards >= FLUSH_CARDS, count, 0)


def _row_keys(board: Ints, hands: Ints, num_hole_cards: int) -> Ints:
    """Return a number for each hand [hands, hole cards] that is equal for hands of one row."""
    cards = np.sort(hands, axis=1)[:, ::-1]
    ranks, live = cards // 4, _live_suits(board, num_hole_cards)[cards % 4]
    if num_hole_cards == 2:  # of a pair, the card of the suit with more cards comes first
        is_pair = ranks[:, 0] == ranks[:, 1]
        live[is_pair] = np.sort(live[is_pair], axis=1)[:, ::-1]
    keys = np.zeros(len(hands), np.int64)
    for column in (*ranks.T, *live.T):
        keys = keys * 16 + column
    if num_hole_cards == 2:
        keys = keys * 2 + (cards[:, 0] % 4 == cards[:, 1] % 4)
    return keys


def row_features(arena: HoldemGameArena, rows: HandRows, has_strength: bool) -> Any:
    """Return the inputs [R, F] of a network: hand and board, unchanged by permuted suits.

    One-hot ranks of the hole cards (in order) and of the board; suited and paired hands; live suits
    of the hole cards; matches of hole cards with board cards; ranks and suits repeated on the
    board. With `has_strength` also the category of the five cards and the share of hands on the
    board that are weaker, as hat functions and as a logarithm.
    """
    num_hole_cards = arena.game.num_hole_cards
    parts = []
    for board in range(arena.streets[1].num_boards):
        hands = arena.hand_cards(1, board)[rows.hand[rows.first[board] : rows.first[board + 1]]]
        parts.append(_board_features(arena.streets[1].cards[board], hands, num_hole_cards))
    features = np.concatenate(parts)
    if has_strength:
        features = np.concatenate([features, _strength_features(arena, rows)], axis=1)
    varies = features.min(axis=0) < features.max(axis=0)
    return features[:, varies].astype(np.float32)


def _board_features(board: Ints, hands: Ints, num_hole_cards: int) -> Floats:
    """Return the features [n, F] of hands [n, hole cards] that need no strength."""
    cards = np.sort(hands, axis=1)[:, ::-1]
    ranks, board_ranks = cards // 4, np.sort(board // 4)[::-1]
    live = np.sort(_live_suits(board, num_hole_cards)[cards % 4], axis=1)
    is_pair = ranks[:, :1] == ranks[:, -1:]
    ordered = _live_suits(board, num_hole_cards)[cards % 4]
    ordered = np.where(is_pair, live[:, ::-1], ordered)
    suits, board_suits = np.bincount(board % 4, minlength=4), np.bincount(board_ranks)
    texture = np.concatenate(
        [
            *(_one_hot(rank, NUM_RANKS) for rank in board_ranks),
            _one_hot(board_suits.max() - 1, 4),
            _one_hot(np.count_nonzero(board_suits) - 1, 5),
            _one_hot(suits.max() - 1, 5),
            _one_hot(np.count_nonzero(suits) - 1, 4),
        ]
    )
    columns = [_one_hot(column, NUM_RANKS) for column in ranks.T]
    columns += [_one_hot(column, FLUSH_CARDS + 1)[:, 1:] for column in ordered.T]
    columns += [(column[:, None] == board_ranks).astype(float) for column in ranks.T]
    if num_hole_cards == 2:
        columns += [is_pair, cards[:, :1] % 4 == cards[:, 1:] % 4]
    return np.concatenate([*columns, np.tile(texture, (len(hands), 1))], axis=1)


def _strength_features(arena: HoldemGameArena, rows: HandRows) -> Floats:
    walk, street = arena.walks[0][1], arena.streets[1]
    num_hands = arena.num_hands(1)
    order = walk.order.reshape(-1, num_hands).astype(np.int64)
    rank = walk.strength.reshape(-1, num_hands).astype(np.int64)
    parts = []
    for board in range(street.num_boards):
        hand = rows.hand[rows.first[board] : rows.first[board + 1]]
        count = np.bincount(rank[board])
        share = (np.cumsum(count) - count / 2)[rank[board]] / num_hands
        share = share[np.argsort(order[board])][hand]
        cards = arena.hand_cards(1, board)[hand]
        whole = np.concatenate([np.tile(street.cards[board], (hand.size, 1)), cards], axis=1)
        value = np.zeros(hand.size, np.int64)
        strengths(whole.astype(np.uint8), value)
        hats = [np.interp(share, PERCENTILE_KNOTS, row) for row in np.eye(PERCENTILE_KNOTS.size)]
        logarithm = -np.log(LOGARITHM_OFFSET - share) / LOGARITHM_SCALE
        category = _one_hot(value >> CATEGORY_SHIFT, NUM_CATEGORIES)
        parts.append(np.column_stack([category, np.array(hats).T, share, logarithm]))
    return np.concatenate(parts)


def _one_hot(number: Any, size: int) -> Floats:
    return np.eye(size)[number]
