"""Exact equities before the flop of all pairs of hands, built once per deck and cached on disk.

Every board up to permutations of suits (134,459 of 2,598,960 with 52 cards) ranks all hands, and a
comparison of all pairs adds its weight to the wins of the better hand. Summed over the permutations
of suits, the counts are exact integers. The file has the counts of one hand of each class against
every hand; other pairs follow by permuting suits.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from counterplay.arenas.preflop.deck import FULL_DECK, Deck
from counterplay.core.archive import read_archive, write_archive
from counterplay.core.arena import Floats, Ints
from counterplay.errors import ConfigError, RunError
from counterplay.kernels.holdem import preflop_tables
from counterplay.kernels.runtime.threads import num_threads, run_in_threads, split_evenly

PAIRS_FORMAT = "counterplay preflop equities 1"
BOARDS_PER_BLOCK = 256  # their weights, of at most 24 each, fit 16 bits
ProgressReport = Callable[[float], None]  # called with the finished fraction


def cache_folder() -> Path:
    """Return the folder of cached tables: $COUNTERPLAY_CACHE, or the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("COUNTERPLAY_CACHE") or Path(home) / "counterplay")


@dataclass(frozen=True, eq=False)
class EquityTable:
    """Counts of boards that one hand of each class wins and ties against every hand.

    Example:
        >>> table = equity_table(Deck(num_ranks=5, num_suits=3, num_board=3))
        >>> wins, ties, boards = table.class_counts("AA", "KK")
        >>> (wins, ties, boards), round(table.class_equity("AA", "KK"), 4)
        ((1161, 0, 1485), 0.7818)
    """

    deck: Deck
    wins: Ints  # [C, H] boards that the first hand of a class wins; 0 if the hands share a card
    ties: Ints  # [C, H]

    @property
    def num_boards(self) -> int:
        """Number of boards that two hands leave."""
        return math.comb(self.deck.num_cards - 4, self.deck.num_board)

    @cached_property
    def is_disjoint(self) -> Ints:
        """[C, H] whether the first hand of a class shares no card with a hand."""
        hands, first = self.deck.class_hands
        bits = self.deck.hand_bits
        return (bits[hands[first[:-1]], None] & bits) == 0

    @cached_property
    def class_pairs(self) -> Ints:
        """[C, C] numbers of pairs of disjoint hands of two classes."""
        return self._sum_by_class(self.is_disjoint)

    @cached_property
    def class_wins(self) -> Ints:
        """[C, C] deals of two hands and a board that the first class wins."""
        return self._sum_by_class(self.wins)

    @cached_property
    def class_ties(self) -> Ints:
        """[C, C] deals of two hands and a board that two classes tie."""
        return self._sum_by_class(self.ties)

    def _sum_by_class(self, counts: Ints) -> Ints:
        hands, first = self.deck.class_hands
        sums = np.add.reduceat(counts[:, hands].astype(np.int64), first[:-1], axis=1)
        return sums * self.deck.class_sizes[:, None]

    @cached_property
    def class_equities(self) -> Floats:
        """[C, C] equity of the first class; NaN where no two hands are disjoint."""
        total = 2.0 * self.class_pairs * self.num_boards
        shares = 2.0 * self.class_wins + self.class_ties
        return np.divide(shares, total, out=np.full(total.shape, np.nan), where=total > 0)

    def class_counts(self, first: str, second: str) -> tuple[int, int, int]:
        """Return the deals that a class such as "AKs" wins and ties, and all deals."""
        a, b = self.deck.class_index(first), self.deck.class_index(second)
        total = int(self.class_pairs[a, b]) * self.num_boards
        return int(self.class_wins[a, b]), int(self.class_ties[a, b]), total

    def class_equity(self, first: str, second: str) -> float:
        """Return the equity of a class such as "AKs" against another."""
        wins, ties, total = self.class_counts(first, second)
        if not total:
            raise ConfigError(f"{first} and {second} cannot be dealt together")
        return (wins + ties / 2) / total

    def hand_counts(self) -> tuple[Ints, Ints]:
        """Return the boards won and tied [H, H] of all pairs of hands."""
        deck = self.deck
        images = deck.hand_permutations  # [G, H]
        hands, first = deck.class_hands
        representative = hands[first[:-1]][deck.hand_class]
        to_representative = np.argmax(images == representative, axis=0)
        columns = images[to_representative]  # [H, H] the opponent's hand after that permutation
        rows = deck.hand_class[:, None]
        return self.wins[rows, columns], self.ties[rows, columns]

    def range_equity(self, first: Floats, second: Floats) -> float:
        """Return the exact equity of weights [H] of hands against other weights [H].

        Raises:
            ConfigError: no hand of one range leaves the other a hand.
        """
        wins, ties = self.hand_counts()
        bits = self.deck.hand_bits
        disjoint = (bits[:, None] & bits) == 0
        faced = float(first @ (disjoint @ second))
        if not faced > 0.0:
            raise ConfigError("the ranges block each other: no two of their hands can be dealt")
        won = float(first @ (wins @ second)) + 0.5 * float(first @ (ties @ second))
        return won / (faced * self.num_boards)


_tables: dict[Deck, EquityTable] = {}  # tables in use by this process


def equity_table(deck: Deck = FULL_DECK, report: ProgressReport | None = None) -> EquityTable:
    """Return the table of a deck, read from the cache or built; a damaged file is built again.

    Args:
        deck: the deck.
        report: called with the finished fraction while the table is built.
    """
    if deck not in _tables:
        _tables[deck] = _read_or_build(deck, report)
    return _tables[deck]


def _read_or_build(deck: Deck, report: ProgressReport | None) -> EquityTable:
    path = cache_folder() / f"preflop-pairs-{deck.name}.npz"
    shape = (deck.num_classes, deck.num_hands)
    if path.exists():
        try:
            content = read_archive(path, PAIRS_FORMAT)
            if content["wins"].shape == content["ties"].shape == shape:
                return EquityTable(deck, content["wins"], content["ties"])
        except (RunError, KeyError, AttributeError):
            pass  # damaged: built again and overwritten
    table = build_equity_table(deck, report)
    store_table(path, PAIRS_FORMAT, {"wins": table.wins, "ties": table.ties})
    return table


def store_table(path: Path, format_name: str, arrays: dict[str, Ints]) -> None:
    """Write a table to the cache; a folder that cannot be written costs a later rebuild only."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_archive(path, format_name, arrays, compress=True)
    except (OSError, RunError):
        return


def build_equity_table(deck: Deck = FULL_DECK, report: ProgressReport | None = None) -> EquityTable:
    """Compute the table of a deck on all cores."""
    boards, weights = canonical_boards(deck)
    parts = split_evenly(0, len(boards), num_threads())
    sums = [np.zeros((deck.num_hands, deck.num_hands), np.int32) for _ in parts]
    finished = [0] * len(parts)

    def add_part(part: int, _: int) -> None:
        first, last = parts[part]
        for start in range(first, last, BOARDS_PER_BLOCK):
            end = min(start + BOARDS_PER_BLOCK, last)
            ranks = np.empty((end - start, deck.num_hands), np.int16)
            for row, board in enumerate(boards[start:end]):
                preflop_tables.rank_hands(board, deck.hand_cards, *deck.strength_rules, ranks[row])
            preflop_tables.add_pair_wins(ranks, weights[start:end], sums[part])
            finished[part] = end - first
            if report and part == 0:
                report(sum(finished) / len(boards))

    run_in_threads(add_part, [(part, part + 1) for part in range(len(parts))])
    return _table_from_sums(deck, np.add.reduce(sums, axis=0, dtype=np.int64))


def canonical_boards(deck: Deck) -> tuple[Ints, Ints]:
    """Return the boards up to permutations of suits [B, n] and the number of each [B]."""
    arguments = (deck.cards, deck.num_board, deck.card_permutations)
    empty = np.zeros((0, deck.num_board), np.int64), np.zeros(0, np.int16)
    count = preflop_tables.list_boards(*arguments, *empty)
    boards, weights = np.zeros((count, deck.num_board), np.int64), np.zeros(count, np.int16)
    preflop_tables.list_boards(*arguments, boards, weights)
    return boards, weights


def _table_from_sums(deck: Deck, sums: Ints) -> EquityTable:
    """Return the table of sums [H, H] over canonical boards, averaged over permutations of suits.

    The sum over a board's permutations of the wins of hands equals that over permuted hands.
    """
    hands, first = deck.class_hands
    images = deck.hand_permutations
    representatives = images[:, hands[first[:-1]]]  # [G, C]
    rows, columns = representatives[:, :, None], images[:, None, :]
    wins = sums[rows, columns].sum(axis=0) // len(images)
    losses = sums[columns, rows].sum(axis=0) // len(images)
    bits = deck.hand_bits
    disjoint = (bits[hands[first[:-1]], None] & bits) == 0
    num_boards = math.comb(deck.num_cards - 4, deck.num_board)
    ties = np.where(disjoint, num_boards - wins - losses, 0)
    return EquityTable(deck, np.where(disjoint, wins, 0).astype(np.int32), ties.astype(np.int32))
