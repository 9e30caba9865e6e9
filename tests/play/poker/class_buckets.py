"""Buckets by hand class alone, for tests: the real ones take minutes to compute."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from counterplay.abstraction.betting_policy import BettingPolicy, betting_tables
from counterplay.abstraction.holdem_buckets import BucketedGame, HoldemBuckets, _hand_classes
from counterplay.core.cards import hand_index
from counterplay.games.compiled.poker import BucketTables
from counterplay.registry import load_abstraction, load_game

NUM_BUCKETS = 20
SIZES = "1,a;a;|1,a;a;"
RULE = {"num_buckets": NUM_BUCKETS, "num_bins": NUM_BUCKETS, "perfect_recall": False}


def class_buckets(num_cards: int) -> np.ndarray:
    """The bucket [1326] of every hand: its class, in NUM_BUCKETS parts after the flop."""
    classes = _hand_classes()
    return classes if num_cards == 0 else classes * NUM_BUCKETS // 169


def use_class_buckets(patch: pytest.MonkeyPatch) -> None:
    def lookup_tables(self: HoldemBuckets, num_cards: int) -> BucketTables:
        row = class_buckets(num_cards).astype(np.uint8)[None]
        return BucketTables(np.zeros(comb(52, num_cards), np.int32), np.ascontiguousarray(row))

    def board_buckets(self: HoldemBuckets, board: tuple[int, ...]) -> np.ndarray:
        return class_buckets(len(board))

    def hand_bucket(self: HoldemBuckets, hand: tuple[int, int], board: tuple[int, ...]) -> int:
        return int(class_buckets(len(board))[hand_index(*hand)])

    patch.setattr(HoldemBuckets, "lookup_tables", lookup_tables)
    patch.setattr(HoldemBuckets, "hand_bucket", hand_bucket)
    patch.setattr(HoldemBuckets, "board_buckets", board_buckets)


def game_with_buckets(spec: str = f"no_limit_holdem(stack=2000,sizes='{SIZES}')") -> BucketedGame:
    return BucketedGame(load_game(spec), load_abstraction("by_equity", **RULE))


def random_policy(game: BucketedGame, seed: int = 0) -> BettingPolicy:
    weights = np.random.default_rng(seed).random(betting_tables(game).num_entries)
    return BettingPolicy(game, weights.astype(np.float32))
