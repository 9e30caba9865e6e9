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

from counterplay.abstraction.by_equity import medians
from counterplay.arena import Floats, Ints
from counterplay.cards import (
    HANDS,
    NUM_CARDS,
    SUIT_SWAPS,
    canonical,
    canonical_flops,
    hand_index,
    swap_suits,
)
from counterplay.errors import RunError
from counterplay.files import read_arrays, write_arrays
from counterplay.game import Game
from counterplay.kernels import histograms
from counterplay.kernels.threads import num_threads, run_parts
from counterplay.registry import spec_of

FORMAT = "counterplay buckets 1"
SAMPLE = 40  # boards of a street that centres are made from
POINTS = 2500  # of their hands
STARTS = 3  # of k-means
_CARDS = np.array(HANDS)


@dataclass(frozen=True)
class HoldemBuckets:
    """Which bucket a hand is in on a board of 0, 3, 4 or 5 cards."""

    buckets: int = 50  # of each street after the first
    bins: int = 30
    seed: int = 0

    @property
    def path(self) -> Path:
        """Where they are kept: $COUNTERPLAY_CACHE, or the user's folder for caches."""
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(os.environ.get("COUNTERPLAY_CACHE") or Path(home) / "counterplay")
        return folder / f"buckets-{self.buckets}-{self.bins}-{self.seed}.npz"

    def bucket(self, hand: tuple[int, int], board: tuple[int, ...]) -> int:
        """The number of a hand's bucket among those of its street."""
        if not board:
            low, high = sorted(hand)
            a, b = low // 4, high // 4
            return 13 * b + a if low % 4 == high % 4 else 13 * a + b
        row, suits = _place(tuple(sorted(board)))
        index = hand_index(*(swap_suits(card, suits) for card in hand))
        if len(board) == 5:
            return int(self._river(row)[index])
        return int(self.tables[f"street_{len(board)}"][_rows(len(board))[row]][index])

    @lru_cache(maxsize=2048)  # noqa: B019  one object per setting, as long as the program
    def _river(self, board: tuple[int, ...]) -> Ints:
        return self._assigned(board, self.tables["centres_5"])

    @cached_property
    def tables(self) -> dict[str, Any]:
        """Centres of every street, buckets of every flop and turn: from the disk, or built."""
        if self.path.exists():
            try:
                return read_arrays(self.path, FORMAT)
            except RunError:  # damaged: built again and written over
                pass
        found: dict[str, Any] = {}
        rng = np.random.default_rng(self.seed)
        for cards in (3, 4, 5):
            found[f"centres_{cards}"] = self._centres(cards, rng)
        for cards in (3, 4):
            found[f"street_{cards}"] = self._table(cards, found[f"centres_{cards}"])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_arrays(self.path, FORMAT, found, compress=False)
        return found

    def _centres(self, cards: int, rng: np.random.Generator) -> Floats:
        points = []
        for _ in range(SAMPLE):
            board = rng.choice(NUM_CARDS, cards, replace=False)
            live = ~np.isin(_CARDS, board).any(axis=1)
            points.append(self._histograms(tuple(board.tolist()))[live])
        every = np.concatenate(points)
        chosen = every[rng.choice(len(every), min(POINTS, len(every)), replace=False)]
        return medians(chosen, self.buckets, rng, STARTS)

    def _histograms(self, board: tuple[int, ...]) -> Floats:
        out = np.zeros((len(HANDS), self.bins))
        histograms.histograms(np.array(board, np.int64), _CARDS, out)
        return out

    def _assigned(self, board: tuple[int, ...], centres: Floats) -> Ints:
        found = np.zeros(len(HANDS), np.uint16)
        histograms.nearest(self._histograms(board), centres, found)
        return found

    def _table(self, cards: int, centres: Floats) -> Ints:
        boards = list(_rows(cards))
        found, tasks = np.zeros((len(boards), len(HANDS)), np.uint16), count()

        def work(thread: int, _: int) -> None:
            while (number := next(tasks)) < len(boards):
                found[number] = self._assigned(boards[number], centres)

        run_parts(work, [(thread, thread + 1) for thread in range(num_threads())])
        return found


@cache
def _rows(cards: int) -> dict[tuple[int, ...], int]:
    """The boards of 3 or 4 cards that differ in more than suits, numbered."""
    if cards == 3:
        return {flop: row for row, flop in enumerate(canonical_flops())}
    found = {canonical((*flop, card)) for flop in canonical_flops() for card in range(NUM_CARDS)
             if card not in flop}  # fmt: skip
    return {board: row for row, board in enumerate(sorted(found))}


@lru_cache(maxsize=1 << 16)
def _place(board: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The board that stands for one, and the renaming of suits that makes it that."""
    return min((tuple(sorted(swap_suits(c, s) for c in board)), s) for s in SUIT_SWAPS)


class BucketedGame:
    """A hold'em game whose players tell hands apart by their buckets only.

    With `recall` they know their buckets of earlier streets too; else only the last one.
    """

    def __init__(self, game: Any, buckets: HoldemBuckets, recall: bool):
        self.game, self.buckets, self.recall = game, buckets, recall

    def __getattr__(self, name: str) -> Any:
        return getattr(self.game, name)

    @property
    def spec(self) -> str:
        """The game and its buckets, for people."""
        return f"{spec_of(self.game)} in {self.buckets.buckets} buckets a street"

    def infoset_key(self, state: Any, player: int) -> str:
        """The buckets and the betting, without cards."""
        hand = state.cards[2 * player : 2 * player + 2]
        if len(hand) < 2:
            return ":"
        board = state.cards[2 * self.game.num_players :]
        shown = [sum(self.game.board_cards[: r + 1]) for r in range(state.round + 1)]
        known = [cards for cards in shown if cards <= len(board)]
        streets = known if self.recall else known[-1:]
        names = [str(self.buckets.bucket(hand, board[:cards])) for cards in streets]
        betting = "|".join(part.rpartition(":")[2] for part in state.record.split("|"))
        return f"{'-'.join(names)}:{betting}"


def bucketed(game: Game, buckets: HoldemBuckets, recall: bool = False) -> Any:
    """The game with its hands in buckets, for algorithms that sample rules."""
    return BucketedGame(game, buckets, recall)
