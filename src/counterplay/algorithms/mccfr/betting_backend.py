"""External sampling on the betting tree of poker with buckets: dense tables, no infoset keys.

Tables have an entry for every decision node of the betting tree, bucket of its street and action,
as in the blueprints of poker agents (Brown and Sandholm, 2019). Weights are linear if the tables
are discounted by k / (k + 1) after the k-th period of iterations: a period then weighs in
proportion to its number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from counterplay.abstraction.betting_policy import BettingPolicy, BettingTables, betting_tables
from counterplay.abstraction.holdem_buckets import BucketedGame
from counterplay.arenas.rules import RulesArena, SizeReport
from counterplay.errors import ConfigError
from counterplay.games.compiled.poker import BucketTables
from counterplay.kernels.poker import betting_walk
from counterplay.kernels.runtime.threads import run_in_threads


@dataclass
class BettingMemory:
    """The memory on a betting tree: S entries."""

    iteration: int
    seed: int
    nodes_touched: int
    num_infosets: int
    regret: Any  # [S] float32
    policy_sum: Any  # [S] float32
    finished: ClassVar[bool] = False

    @property
    def size(self) -> SizeReport:
        """The number of visited nodes, and the size of the tables."""
        num_bytes = self.regret.nbytes + self.policy_sum.nbytes
        return SizeReport(
            self.iteration, self.nodes_touched, self.num_infosets, self.regret.size, num_bytes
        )


def require_bucketed_game(arena: Any) -> BucketedGame:
    """Return the game of an arena if it is poker with buckets and imperfect recall.

    Raises:
        ConfigError: it is another game, or another kind of arena.
    """
    game = arena.game if isinstance(arena, RulesArena) else None
    if not isinstance(game, BucketedGame) or game.abstraction.perfect_recall:
        raise ConfigError(
            "external_sampling: dense_tables=true runs on the rules of limit_holdem, "
            "no_limit_holdem or poker with the abstraction by_equity(perfect_recall=false)"
        )
    return game


def new_betting_memory(arena: Any, seed: int) -> BettingMemory:
    """Return a memory with zero regrets."""
    tables = betting_tables(require_bucketed_game(arena))
    decisions = tables.tree.player >= 0
    num_infosets = int(np.array(tables.num_buckets)[tables.tree.street[decisions]].sum())
    regret, policy_sum = (np.zeros(tables.num_entries, np.float32) for _ in range(2))
    return BettingMemory(0, seed, 0, num_infosets, regret, policy_sum)


def run_on_betting_tree(
    arena: Any, memory: BettingMemory, iterations: int, period: int, num_workers: int
) -> BettingMemory:
    """Run iterations in place and return the memory.

    Args:
        arena: the rules of a game with buckets.
        memory: the memory.
        iterations: number of iterations; each has one deal and a traversal for every player.
        period: iterations after which the tables are discounted; 0 for equal weights.
        num_workers: threads that share the tables without locks; with more than one, results are
            not reproducible to the bit.
    """
    game = require_bucketed_game(arena)
    tables = betting_tables(game)
    kernel_game = _kernel_game(tables, _lookup_tables(game))
    scratches = [_new_scratch(tables) for _ in range(num_workers)]
    begin, end = memory.iteration + 1, memory.iteration + iterations + 1
    while begin < end:
        last = min(end, begin + period - (begin - 1) % period) if period else end
        bounds = np.linspace(begin, last, num_workers + 1).astype(int).tolist()
        parts = list(pairwise(bounds))

        def work(first: int, until: int, parts: list[tuple[int, int]] = parts) -> None:
            betting_walk.sample_iterations(
                first,
                until,
                np.uint64(memory.seed),
                kernel_game,
                memory.regret,
                memory.policy_sum,
                scratches[parts.index((first, until))],
            )

        run_in_threads(work, parts)
        begin = last
        memory.iteration = begin - 1
        if period and memory.iteration % period == 0:
            number = memory.iteration // period
            factor = np.float32(number / (number + 1))
            memory.regret *= factor
            memory.policy_sum *= factor
    memory.nodes_touched += sum(int(scratch.counters[0]) for scratch in scratches)
    return memory


def betting_policies(arena: Any, memory: BettingMemory) -> Mapping[str, BettingPolicy]:
    """Return the average and the current policy."""
    game = require_bucketed_game(arena)
    return {
        "average": BettingPolicy(game, memory.policy_sum.copy()),
        "current": BettingPolicy(game, np.maximum(memory.regret, 0.0)),
    }


@lru_cache(maxsize=2)
def _lookup_tables(game: BucketedGame) -> list[BucketTables]:
    return [game.buckets.lookup_tables(size) for size in np.cumsum(game.full_game.board_cards)]


def _kernel_game(tables: BettingTables, lookups: list[BucketTables]) -> betting_walk.BettingGame:
    tree = tables.tree
    return betting_walk.BettingGame(
        player=tree.player,
        street=tree.street,
        first=tree.first,
        count=tree.count,
        chips=tree.chips,
        left=tree.left,
        start=tables.start,
        num_board=np.cumsum(tables.game.board_cards),
        entries=np.array([lookup.entries.ctypes.data for lookup in lookups]),
        tables=np.array([lookup.buckets.ctypes.data for lookup in lookups]),
        widths=np.array([lookup.buckets.itemsize for lookup in lookups]),
    )


def _new_scratch(tables: BettingTables) -> betting_walk.WalkScratch:
    num_players, streets = tables.tree.chips.shape[1], len(tables.num_buckets)
    depth, width = tables.depth, betting_walk.MAX_ACTIONS
    if int(tables.tree.count.max()) > width:
        raise ConfigError(
            f"a node of the betting tree has {int(tables.tree.count.max())} actions, "
            f"must have at most {width}: offer fewer sizes"
        )
    num_cards = 2 * num_players + betting_walk.NUM_BOARD_CARDS
    return betting_walk.WalkScratch(
        rng=np.zeros(16, np.uint64),
        counters=np.zeros(16, np.int64),
        deck=np.arange(betting_walk.NUM_CARDS),
        cards=np.zeros(num_cards, np.int64),
        bucket=np.zeros((num_players, streets), np.int64),
        rank=np.zeros(num_players, np.int64),
        node=np.zeros(depth, np.int64),
        action=np.zeros(depth, np.int64),
        entry=np.zeros(depth, np.int64),
        value=np.zeros((depth, width), np.float32),
        policy=np.zeros((depth + 1, width), np.float32),
    )
