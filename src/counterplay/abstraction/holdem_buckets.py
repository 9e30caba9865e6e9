"""Buckets of hold'em hands: k-means on equity histograms with the earth mover's distance.

Before the flop each of the 169 hand classes is a bucket. On the flop and the turn the histogram of
a hand is that of its equity on the river over all cards to come; on the river it is its equity. The
centres of a street are computed from a sample of boards; then every hand on each of the 1,755
canonical flops and 16,432 canonical turns is assigned to its nearest centre. This takes minutes;
the result is cached on disk.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import accumulate, combinations, count, pairwise
from math import comb
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from counterplay.abstraction.abstracted_game import AbstractedGame
from counterplay.abstraction.by_equity import ByEquity, cluster_centres
from counterplay.arenas.holdem.hand_ranges import hand_class
from counterplay.core.archive import read_archive, write_archive
from counterplay.core.arena import Floats, Ints
from counterplay.core.cards import (
    ALL_HANDS,
    NUM_CARDS,
    SUIT_PERMUTATIONS,
    canonical_cards,
    canonical_flops,
    hand_index,
    permute_suits,
)
from counterplay.errors import RunError
from counterplay.games.compiled.poker import BucketTables, compile_game
from counterplay.games.compiled.protocol import CompiledGame
from counterplay.kernels.holdem import equity_histograms
from counterplay.kernels.poker import hand_buckets
from counterplay.kernels.runtime.threads import num_threads, run_in_threads

BUCKETS_FORMAT = "counterplay buckets 1"
NUM_SAMPLED_BOARDS = 40  # per street, for the centres
MAX_CLUSTERED_HANDS = 2500  # per street, sampled from these boards
NUM_RESTARTS = 3  # of k-means
MIN_COUNTED_BOARDS = 100  # of a street, from which on the bins of all rivers are computed first
_HAND_CARDS = np.array(ALL_HANDS)


@dataclass(frozen=True)
class HoldemBuckets:
    """Buckets of the hands on boards of 0, 3, 4 and 5 cards."""

    num_buckets: int = 50  # of each street after the flop is dealt
    num_bins: int = 30
    seed: int = 0

    @property
    def cache_path(self) -> Path:
        """The cache file, in $COUNTERPLAY_CACHE or the cache folder of the user."""
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(os.environ.get("COUNTERPLAY_CACHE") or Path(home) / "counterplay")
        return folder / f"buckets-{self.num_buckets}-{self.num_bins}-{self.seed}.npz"

    def hand_bucket(self, hand: tuple[int, int], board: tuple[int, ...]) -> int:
        """Return the number of a hand's bucket among those of its street."""
        if not board:
            return hand_class(*hand)
        canonical, suits = _canonical_board(tuple(sorted(board)))
        index = hand_index(*(permute_suits(card, suits) for card in hand))
        if len(board) == 5:
            return int(self._river_buckets(canonical)[index])
        row = _canonical_board_rows(len(board))[canonical]
        return int(self.tables[f"street_{len(board)}"][row][index])

    @lru_cache(maxsize=512)  # noqa: B019  objects are few and live as long as the program
    def board_buckets(self, board: tuple[int, ...]) -> Ints:
        """Return the buckets [1326] of all hands on a board of 0, 3, 4 or 5 cards.

        Hands that share a card with the board have some bucket.
        """
        if not board:
            return _hand_classes()
        canonical, suits = _canonical_board(tuple(sorted(board)))
        low, high = np.sort(_HAND_CARDS - _HAND_CARDS % 4 + np.array(suits)[_HAND_CARDS % 4]).T
        index = high * (high - 1) // 2 + low
        if len(board) == 5:
            return self.river_buckets(canonical)[index]
        row = _canonical_board_rows(len(board))[canonical]
        return self.tables[f"street_{len(board)}"][row][index].astype(np.int64)

    @cached_property
    def _bucket_of_bin(self) -> Ints:
        """The bucket [bins] of a hand on the river by the bin of its equity."""
        bucket_of_bin = np.zeros(self.num_bins, np.uint16)
        equity_histograms.assign_nearest(
            np.eye(self.num_bins), self.tables["centres_5"], bucket_of_bin
        )
        return bucket_of_bin

    def river_buckets(self, board: tuple[int, ...]) -> Ints:
        """Return the buckets [1326] of all hands on a river board, without the table of all."""
        code = np.array([sum(c * 52 ** (4 - k) for k, c in enumerate(sorted(board)))])
        out = np.zeros((1, len(ALL_HANDS)), np.int64)
        hand_buckets.river_bins(code, _HAND_CARDS, self.num_bins, self._bucket_of_bin, out)
        return out[0]

    @lru_cache(maxsize=2048)  # noqa: B019  objects are few and live as long as the program
    def _river_buckets(self, board: tuple[int, ...]) -> Ints:
        return self._assign_buckets(board, self.tables["centres_5"])

    @lru_cache(maxsize=16)  # noqa: B019  objects are few and live as long as the program
    def lookup_tables(self, num_cards: int) -> BucketTables:
        """Return the buckets on all boards of 0, 3, 4 or 5 cards, for compiled rules."""
        if num_cards == 0:
            classes = _hand_classes().astype(np.uint8)
            return BucketTables(np.zeros(1, np.int32), classes[None])
        entries = _board_entries(num_cards)[1]
        buckets = self.river_table if num_cards == 5 else self.tables[f"street_{num_cards}"]
        return BucketTables(entries, np.ascontiguousarray(buckets))

    @cached_property
    def river_table(self) -> Ints:
        """The buckets [134459, 1326] of all hands on all canonical rivers, computed in seconds.

        On the river a histogram has a single bin, so that the bucket depends on the bin alone.
        """
        return self._map_river_bins(self._bucket_of_bin)

    @cached_property
    def tables(self) -> dict[str, Any]:
        """Centres of every street and buckets of every flop and turn, cached on disk.

        Keys are `centres_3`, `centres_4`, `centres_5` [k, bins] and `street_3`, `street_4`
        [boards, 1326], by the number of cards on the board.
        """
        if self.cache_path.exists():
            try:
                return read_archive(self.cache_path, BUCKETS_FORMAT)
            except RunError:  # damaged: build again and overwrite
                pass
        tables: dict[str, Any] = {}
        rng = np.random.default_rng(self.seed)
        for num_cards in (3, 4, 5):
            tables[f"centres_{num_cards}"] = self._compute_centres(num_cards, rng)
        for num_cards in (3, 4):
            centres = tables[f"centres_{num_cards}"]
            tables[f"street_{num_cards}"] = self._build_table(num_cards, centres)
        self.cache_path.parent.mkdir(parents=True, exist_ok=True)
        write_archive(self.cache_path, BUCKETS_FORMAT, tables, compress=False)
        return tables

    def _compute_centres(self, num_cards: int, rng: np.random.Generator) -> Floats:
        """Return the centres [k, bins] of a street, from the hands on sampled boards."""
        parts = []
        for _ in range(NUM_SAMPLED_BOARDS):
            board = rng.choice(NUM_CARDS, num_cards, replace=False)
            live = ~np.isin(_HAND_CARDS, board).any(axis=1)
            parts.append(self._compute_histograms(tuple(board.tolist()))[live])
        histograms = np.concatenate(parts)
        num_hands = min(MAX_CLUSTERED_HANDS, len(histograms))
        sample = histograms[rng.choice(len(histograms), num_hands, replace=False)]
        return cluster_centres(sample, self.num_buckets, rng, NUM_RESTARTS)

    def _compute_histograms(self, board: tuple[int, ...]) -> Floats:
        """Return the equity histograms [1326, bins] of all hands on a board."""
        histograms = np.zeros((len(ALL_HANDS), self.num_bins))
        equity_histograms.compute_histograms(np.array(board, np.int64), _HAND_CARDS, histograms)
        return histograms

    def _assign_buckets(self, board: tuple[int, ...], centres: Floats) -> Ints:
        """Return the buckets [1326] of all hands on a board."""
        buckets = np.zeros(len(ALL_HANDS), np.uint16)
        equity_histograms.assign_nearest(self._compute_histograms(board), centres, buckets)
        return buckets

    def _build_table(self, num_cards: int, centres: Floats) -> Ints:
        """Return the buckets [boards, 1326] of all hands on all canonical boards of a street."""
        boards = list(_canonical_board_rows(num_cards))
        buckets, tasks = np.zeros((len(boards), len(ALL_HANDS)), np.uint16), count()
        compute = self._compute_histograms
        if len(boards) >= MIN_COUNTED_BOARDS:
            compute = self._count_histograms
            self._river_bins  # noqa: B018  computed before the threads need it

        def work(thread: int, _: int) -> None:
            while (row := next(tasks)) < len(boards):
                equity_histograms.assign_nearest(compute(boards[row]), centres, buckets[row])

        run_in_threads(work, [(thread, thread + 1) for thread in range(num_threads())])
        return buckets

    def _count_histograms(self, board: tuple[int, ...]) -> Floats:
        """Return `_compute_histograms` of a flop or a turn, from the bins of hands on all rivers.

        This takes a tenth of the time once the bins are known.
        """
        histograms = np.zeros((len(ALL_HANDS), self.num_bins))
        equity_histograms.count_river_bins(
            _list_rivers(board),
            _hand_permutations(),
            self._river_bins,
            _HAND_CARDS,
            self.num_bins,
            histograms,
        )
        histograms[np.isin(_HAND_CARDS, board).any(axis=1)] = 0.0
        return histograms

    @cached_property
    def _river_bins(self) -> Ints:
        """The bin [134459, 1326] of the equity of all hands on all canonical rivers."""
        return self._map_river_bins(np.arange(self.num_bins, dtype=np.uint16))

    def _map_river_bins(self, value_of_bin: Ints) -> Ints:
        """Return the values [134459, 1326] of the bins of all hands on all canonical rivers."""
        codes = _board_entries(5)[0]
        dtype = np.uint8 if int(value_of_bin.max()) < 256 else np.uint16
        table = np.zeros((len(codes), len(ALL_HANDS)), dtype)

        def work(first: int, last: int) -> None:
            hand_buckets.river_bins(
                codes[first:last], _HAND_CARDS, self.num_bins, value_of_bin, table[first:last]
            )

        bounds = np.linspace(0, len(codes), num_threads() + 1).astype(int).tolist()
        run_in_threads(work, list(pairwise(bounds)))
        return table


def _list_rivers(board: Sequence[int]) -> Ints:
    """Return the rivers [n, 4] that extend a flop or a turn, for `count_river_bins`."""
    left = [card for card in range(NUM_CARDS) if card not in board]
    if len(board) == 4:
        missing = np.array([(card, card) for card in left])
    else:
        missing = np.array(list(combinations(left, 2)))
    known = np.tile(np.array(board), (len(missing), 1))
    full = np.sort(np.hstack([known, missing[:, : 5 - len(board)]]), axis=1)
    numbers = sum(hand_buckets.BINOMIAL[full[:, k], k + 1] for k in range(5))
    entries = _board_entries(5)[1][numbers]
    units = hand_buckets.PERMUTATION_UNITS
    return np.column_stack([entries // units, entries % units, missing]).astype(np.int64)


@cache
def _hand_permutations() -> Ints:
    """Return the index [24, 1326] of every hand after each permutation of the suits."""
    rank, suit = _HAND_CARDS // 4, _HAND_CARDS % 4
    cards = 4 * rank + np.array(SUIT_PERMUTATIONS)[:, suit]
    low, high = cards.min(axis=2), cards.max(axis=2)
    return high * (high - 1) // 2 + low


@cache
def _hand_classes() -> Ints:
    """Return the classes [1326] of all hands before the flop."""
    return np.array([hand_class(*hand) for hand in ALL_HANDS])


@cache
def _canonical_board_rows(num_cards: int) -> dict[tuple[int, ...], int]:
    """Return the canonical boards of 3 or 4 cards with their row numbers."""
    if num_cards == 3:
        return {flop: row for row, flop in enumerate(canonical_flops())}
    turns = {
        canonical_cards((*flop, card))
        for flop in canonical_flops()
        for card in range(NUM_CARDS)
        if card not in flop
    }
    return {board: row for row, board in enumerate(sorted(turns))}


@cache
def _board_entries(num_cards: int) -> tuple[Ints, Ints]:
    """Return the codes of the canonical boards by row, and the entries of all boards.

    See `kernels.poker.hand_buckets`. The rows are those of `_canonical_board_rows`; on the river
    they are sorted.
    """
    num_boards = comb(NUM_CARDS, num_cards)
    codes, permutations = np.empty(num_boards, np.int64), np.empty(num_boards, np.int32)
    hand_buckets.canonical_codes(num_cards, codes, permutations)
    if num_cards == 5:
        by_row, rows = np.unique(codes, return_inverse=True)
    else:
        powers = NUM_CARDS ** np.arange(num_cards - 1, -1, -1)
        by_row = np.array(list(_canonical_board_rows(num_cards))) @ powers
        order = np.argsort(by_row)
        rows = order[np.searchsorted(by_row[order], codes)]
    return by_row, (rows * hand_buckets.PERMUTATION_UNITS + permutations).astype(np.int32)


@lru_cache(maxsize=4)
def _shared_buckets(num_buckets: int, num_bins: int, seed: int) -> HoldemBuckets:
    return HoldemBuckets(num_buckets, num_bins, seed)


@lru_cache(maxsize=1 << 16)
def _canonical_board(board: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the canonical board of a board, and the suit permutation that leads to it."""
    return min((tuple(sorted(permute_suits(c, s) for c in board)), s) for s in SUIT_PERMUTATIONS)


class BucketedGame(AbstractedGame):
    """A hold'em game whose players observe their buckets in place of cards.

    With `perfect_recall` players know their buckets of earlier streets, not only the current one.
    """

    abstraction: ByEquity
    is_suit_invariant: ClassVar[bool] = True

    def hand_groups(self, board: Sequence[int], rnd: int, hands: Ints) -> Ints:
        """Return a number [H] that hands [H, 2] share if they have the same buckets.

        Args:
            board: the public cards.
            rnd: the round.
            hands: the hands.
        """
        ends = np.cumsum(self.full_game.board_cards)[: rnd + 1].tolist()
        low, high = np.sort(hands, axis=1).T
        index, groups = high * (high - 1) // 2 + low, np.zeros(len(hands), np.int64)
        for end in ends if self.abstraction.perfect_recall else ends[-1:]:
            buckets = self.buckets.board_buckets(tuple(board[:end]))[index]
            groups = groups * (1 << 16) + buckets
        return groups

    @cached_property
    def buckets(self) -> HoldemBuckets:
        """The buckets of all hands; games with the same rule share their tables."""
        rule = self.abstraction
        return _shared_buckets(rule.num_buckets, rule.num_bins, rule.seed)

    @property
    def setup_note(self) -> str:
        """A message for the user as long as the buckets are not on disk."""
        if not sum(self.full_game.board_cards) or self.buckets.cache_path.exists():
            return ""
        return "computing the buckets of all boards: some minutes, only the first time"

    def compiled_game(self) -> CompiledGame:
        """Return the compiled rules with buckets; the tables take 230 MB and half a minute."""
        recall = self.abstraction.perfect_recall
        return compile_game(self.full_game, self._lookup_tables, recall)

    @cached_property
    def _lookup_tables(self) -> list[BucketTables]:
        sizes = accumulate(self.full_game.board_cards)
        return [self.buckets.lookup_tables(num_cards) for num_cards in sizes]

    def infoset_key(self, state: Any, player: int) -> str:
        """Return the buckets and the betting, without cards."""
        hand = state.cards[2 * player : 2 * player + 2]
        if len(hand) < 2:
            return ":"
        game = self.full_game
        board = state.cards[2 * game.num_players :]
        num_dealt = [sum(game.board_cards[: r + 1]) for r in range(state.round + 1)]
        complete = [num_cards for num_cards in num_dealt if num_cards <= len(board)]
        streets = complete if self.abstraction.perfect_recall else complete[-1:]
        names = [str(self.buckets.hand_bucket(hand, board[:num_cards])) for num_cards in streets]
        betting = "|".join(part.rpartition(":")[2] for part in state.history.split("|"))
        return f"{'-'.join(names)}:{betting}"
