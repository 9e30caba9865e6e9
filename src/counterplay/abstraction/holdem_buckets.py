"""Hold'em hands on real boards in buckets: equity histograms, k-means, earth mover's distance.

Before the flop the 169 kinds of hands are told apart. On the flop and the turn a hand's histogram
is that of its equity on the river over all cards to come; on the river it is its equity. Hands of
one street are clustered over all boards together, from a sample of them; then every hand on each of
the 1,755 flops and 16,432 turns that differ in more than the names of suits gets its bucket. That
takes some minutes once, and is kept on disk.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.abstraction.by_equity import cluster_centres
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
from counterplay.core.game import Game
from counterplay.errors import RunError
from counterplay.kernels.holdem import equity_histograms
from counterplay.kernels.runtime.threads import num_threads, run_in_threads
from counterplay.registry import get_spec

BUCKETS_FORMAT = "counterplay buckets 1"
NUM_SAMPLED_BOARDS = 40  # boards of a street that centres are made from
MAX_CLUSTERED_HANDS = 2500  # of their hands
NUM_RESTARTS = 3  # of k-means
_HAND_CARDS = np.array(ALL_HANDS)


@dataclass(frozen=True)
class HoldemBuckets:
    """Which bucket a hand is in on a board of 0, 3, 4 or 5 cards."""

    num_buckets: int = 50  # of each street after the first
    num_bins: int = 30
    seed: int = 0

    @property
    def cache_path(self) -> Path:
        """Where they are kept: $COUNTERPLAY_CACHE, or the user's folder for caches."""
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(os.environ.get("COUNTERPLAY_CACHE") or Path(home) / "counterplay")
        return folder / f"buckets-{self.num_buckets}-{self.num_bins}-{self.seed}.npz"

    def hand_bucket(self, hand: tuple[int, int], board: tuple[int, ...]) -> int:
        """The number of a hand's bucket among those of its street."""
        if not board:
            low, high = sorted(hand)
            a, b = low // 4, high // 4
            return 13 * b + a if low % 4 == high % 4 else 13 * a + b
        row, suits = _canonical_board(tuple(sorted(board)))
        index = hand_index(*(permute_suits(card, suits) for card in hand))
        if len(board) == 5:
            return int(self._river_buckets(row)[index])
        return int(
            self.tables[f"street_{len(board)}"][_canonical_board_rows(len(board))[row]][index]
        )

    @lru_cache(maxsize=2048)  # noqa: B019  one object per setting, as long as the program
    def _river_buckets(self, board: tuple[int, ...]) -> Ints:
        return self._assign_buckets(board, self.tables["centres_5"])

    @cached_property
    def tables(self) -> dict[str, Any]:
        """Centres of every street, buckets of every flop and turn: from the disk, or built."""
        if self.cache_path.exists():
            try:
                return read_archive(self.cache_path, BUCKETS_FORMAT)
            except RunError:  # damaged: built again and written over
                pass
        found: dict[str, Any] = {}
        rng = np.random.default_rng(self.seed)
        for cards in (3, 4, 5):
            found[f"centres_{cards}"] = self._compute_centres(cards, rng)
        for cards in (3, 4):
            found[f"street_{cards}"] = self._build_table(cards, found[f"centres_{cards}"])
        self.cache_path.parent.mkdir(parents=True, exist_ok=True)
        write_archive(self.cache_path, BUCKETS_FORMAT, found, compress=False)
        return found

    def _compute_centres(self, num_cards: int, rng: np.random.Generator) -> Floats:
        points = []
        for _ in range(NUM_SAMPLED_BOARDS):
            board = rng.choice(NUM_CARDS, num_cards, replace=False)
            live = ~np.isin(_HAND_CARDS, board).any(axis=1)
            points.append(self._compute_histograms(tuple(board.tolist()))[live])
        every = np.concatenate(points)
        chosen = every[rng.choice(len(every), min(MAX_CLUSTERED_HANDS, len(every)), replace=False)]
        return cluster_centres(chosen, self.num_buckets, rng, NUM_RESTARTS)

    def _compute_histograms(self, board: tuple[int, ...]) -> Floats:
        out = np.zeros((len(ALL_HANDS), self.num_bins))
        equity_histograms.compute_histograms(np.array(board, np.int64), _HAND_CARDS, out)
        return out

    def _assign_buckets(self, board: tuple[int, ...], centres: Floats) -> Ints:
        found = np.zeros(len(ALL_HANDS), np.uint16)
        equity_histograms.assign_nearest(self._compute_histograms(board), centres, found)
        return found

    def _build_table(self, num_cards: int, centres: Floats) -> Ints:
        boards = list(_canonical_board_rows(num_cards))
        found, tasks = np.zeros((len(boards), len(ALL_HANDS)), np.uint16), count()

        def work(thread: int, _: int) -> None:
            while (number := next(tasks)) < len(boards):
                found[number] = self._assign_buckets(boards[number], centres)

        run_in_threads(work, [(thread, thread + 1) for thread in range(num_threads())])
        return found


@cache
def _canonical_board_rows(num_cards: int) -> dict[tuple[int, ...], int]:
    """The boards of 3 or 4 cards that differ in more than suits, numbered."""
    if num_cards == 3:
        return {flop: row for row, flop in enumerate(canonical_flops())}
    found = {canonical_cards((*flop, card)) for flop in canonical_flops() for card in range(NUM_CARDS)
             if card not in flop}  # fmt: skip
    return {board: row for row, board in enumerate(sorted(found))}


@lru_cache(maxsize=1 << 16)
def _canonical_board(board: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The board that stands for one, and the renaming of suits that makes it that."""
    return min((tuple(sorted(permute_suits(c, s) for c in board)), s) for s in SUIT_PERMUTATIONS)


class BucketedGame:
    """A hold'em game whose players tell hands apart by their buckets only.

    With `recall` they know their buckets of earlier streets too; else only the last one.
    """

    def __init__(self, game: Any, buckets: HoldemBuckets, perfect_recall: bool):
        self.game, self.buckets, self.perfect_recall = game, buckets, perfect_recall

    def __getattr__(self, name: str) -> Any:
        return getattr(self.game, name)

    @property
    def spec(self) -> str:
        """The game and its buckets, for people."""
        return f"{get_spec(self.game)} in {self.buckets.num_buckets} buckets a street"

    def infoset_key(self, state: Any, player: int) -> str:
        """The buckets and the betting, without cards."""
        hand = state.cards[2 * player : 2 * player + 2]
        if len(hand) < 2:
            return ":"
        board = state.cards[2 * self.game.num_players :]
        shown = [sum(self.game.board_cards[: r + 1]) for r in range(state.round + 1)]
        known = [cards for cards in shown if cards <= len(board)]
        streets = known if self.perfect_recall else known[-1:]
        names = [str(self.buckets.hand_bucket(hand, board[:cards])) for cards in streets]
        betting = "|".join(part.rpartition(":")[2] for part in state.history.split("|"))
        return f"{'-'.join(names)}:{betting}"


def bucket_game(game: Game, buckets: HoldemBuckets, perfect_recall: bool = False) -> Any:
    """The game with its hands in buckets, for algorithms that sample rules."""
    return BucketedGame(game, buckets, perfect_recall)
