"""Betting trees with buckets, and policies on them, as `kernels.poker.betting_walk` takes them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from counterplay.abstraction.betting_policy import BettingPolicy, BettingTables
from counterplay.abstraction.holdem_buckets import BucketedGame
from counterplay.core.arena import Ints
from counterplay.errors import ConfigError
from counterplay.games.compiled.poker import BucketTables
from counterplay.kernels.poker import betting_walk


class PolicyRows(NamedTuple):
    """The positions of the weights of a policy: N nodes."""

    start: Ints  # [N] first entry of a node's bucket 0
    source: Ints  # [N] number of the set of buckets


class BucketSets:
    """Sets of buckets without repetition, in the order in which they were added."""

    def __init__(self) -> None:
        self.games: list[BucketedGame] = []

    def add(self, game: BucketedGame) -> int:
        """Return the number of a game's set of buckets."""
        for number, known in enumerate(self.games):
            if known.buckets == game.buckets:
                return number
        self.games.append(game)
        return len(self.games) - 1


def concatenate_weights(
    policies: Sequence[BettingPolicy], sets: BucketSets
) -> tuple[Any, list[PolicyRows]]:
    """Return the weights [W] of policies on one betting tree, and where each finds its own."""
    weights, rows, first = list[Any](), list[PolicyRows](), 0
    for policy in policies:
        start = np.zeros(len(policy.tables.start), np.int64)
        source = np.zeros(len(start), np.int32)
        for piece in reversed(policy.pieces):
            inside = piece.tables.start >= 0
            start[inside] = first + piece.tables.start[inside]
            source[inside] = sets.add(piece.game)
            weights.append(piece.weights.astype(np.float32))
            first += piece.weights.size
        rows.append(PolicyRows(start, source))
    return np.concatenate(weights), rows


def make_kernel_game(
    tables: BettingTables, sets: BucketSets, rows: PolicyRows, fixed_weights: Any
) -> betting_walk.BettingGame:
    """Return the record of a betting tree with sets of buckets."""
    tree = tables.tree
    lookups = [_lookup_tables(game) for game in sets.games]
    return betting_walk.BettingGame(
        player=tree.player,
        street=tree.street,
        first=tree.first,
        count=tree.count,
        chips=tree.chips,
        left=tree.left,
        start=rows.start,
        source=rows.source,
        fixed_weights=fixed_weights,
        num_board=np.cumsum(tables.game.board_cards),
        entries=np.array([[table.entries.ctypes.data for table in row] for row in lookups]),
        tables=np.array([[table.buckets.ctypes.data for table in row] for row in lookups]),
        widths=np.array([[table.buckets.itemsize for table in row] for row in lookups]),
    )


@lru_cache(maxsize=8)
def _lookup_tables(game: BucketedGame) -> list[BucketTables]:
    """Return the tables of all streets; the cache keeps them alive while kernels use them."""
    return [game.buckets.lookup_tables(int(n)) for n in np.cumsum(game.full_game.board_cards)]


def new_scratch(
    tables: BettingTables, num_sets: int, is_pure: bool = False
) -> betting_walk.WalkScratch:
    """Return the working memory of one thread, for external sampling or for pure CFR.

    Raises:
        ConfigError: a node has too many actions.
    """
    num_players, streets = tables.tree.chips.shape[1], len(tables.num_buckets)
    depth, width = tables.depth, betting_walk.MAX_ACTIONS
    if int(tables.tree.count.max()) > width:
        raise ConfigError(
            f"a node of the betting tree has {int(tables.tree.count.max())} actions, "
            f"must have at most {width}: offer fewer sizes"
        )
    num_cards = 2 * num_players + sum(tables.game.board_cards)
    return betting_walk.WalkScratch(
        rng=np.zeros(16, np.uint64),
        counters=np.zeros(16, np.int64),
        deck=np.arange(betting_walk.NUM_CARDS),
        cards=np.zeros(num_cards, np.int64),
        bucket=np.zeros((num_sets, num_players, streets), np.int64),
        rank=np.zeros(num_players, np.int64),
        node=np.zeros(depth, np.int64),
        action=np.zeros(depth, np.int64),
        entry=np.zeros(depth, np.int64),
        drawn=np.zeros(depth, np.int64),
        value=np.zeros((depth, width), np.int64 if is_pure else np.float32),
        skipped=np.zeros((depth, width), np.bool_),
        policy=np.zeros((depth + 1, width), np.float32),
    )
