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
from math import lcm
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from zlib import crc32

import numpy as np

from counterplay.abstraction.betting_policy import (
    BettingPolicy,
    betting_tables,
    check_same_betting,
    load_betting_policy,
)
from counterplay.abstraction.holdem_buckets import BucketedGame
from counterplay.abstraction.kernel_game import (
    BucketSets,
    PolicyRows,
    concatenate_weights,
    make_kernel_game,
    new_scratch,
)
from counterplay.arenas.rules import RulesArena, SizeReport
from counterplay.errors import ConfigError
from counterplay.kernels.poker import betting_walk
from counterplay.kernels.runtime.threads import run_in_threads


@dataclass
class BettingMemory:
    """The memory on a betting tree: S entries."""

    iteration: int
    seed: int
    nodes_touched: int
    num_infosets: int
    regret: Any  # [S] float32; int32 in pure CFR
    policy_sum: Any  # [S] float32; uint32 in pure CFR
    finished: ClassVar[bool] = False

    @property
    def size(self) -> SizeReport:
        """The number of visited nodes, and the size of the tables."""
        num_bytes = self.regret.nbytes + self.policy_sum.nbytes
        return SizeReport(
            self.iteration, self.nodes_touched, self.num_infosets, self.regret.size, num_bytes
        )


@dataclass
class ExpertMemory(BettingMemory):
    """The memory on a part of a betting tree."""

    checksum: int  # of the policy outside of the part


class BettingOptions(NamedTuple):
    """The part of the betting tree that is solved, and how."""

    part: str = ""
    outside: str = ""  # file of the policy that all players follow outside of the part
    linear_period: int = 0  # iterations after which the tables are discounted; 0: never
    num_workers: int = 1  # threads that share the tables without locks; if several, results vary
    pure: bool = False  # pure CFR, with integers
    prune_below: float = 0.0  # chips; actions with regrets below minus this are skipped; 0: never

    @property
    def dtypes(self) -> tuple[Any, Any]:
        """Types of the tables of regrets and of the average."""
        return (np.int32, np.uint32) if self.pure else (np.float32, np.float32)


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


def new_betting_memory(arena: Any, seed: int, options: BettingOptions) -> BettingMemory:
    """Return a memory with zero regrets."""
    game = require_bucketed_game(arena)
    tables = betting_tables(game, options.part)
    inside = tables.start >= 0
    num_infosets = int(np.array(tables.num_buckets)[tables.tree.street[inside]].sum())
    regret, policy_sum = (np.zeros(tables.num_entries, dtype) for dtype in options.dtypes)
    fields = 0, seed, 0, num_infosets, regret, policy_sum
    if options.part:
        return ExpertMemory(*fields, _load_outside(game, options)[1])
    return BettingMemory(*fields)


def _load_outside(game: BucketedGame, options: BettingOptions) -> tuple[BettingPolicy, int]:
    """Return the policy outside of the part, and its checksum."""
    path = Path(options.outside)
    if not path.is_file():
        raise ConfigError(
            f"external_sampling: outside is {options.outside!r}, must be the file of a blueprint"
        )
    policy, checksum = _read_outside(str(path), path.stat().st_mtime_ns)
    check_same_betting(policy.game, game)
    return policy, checksum


@lru_cache(maxsize=2)
def _read_outside(path: str, modified: int) -> tuple[BettingPolicy, int]:
    """Return the policy of a file, and its checksum; `modified` is the time of the last change."""
    policy, checksum = load_betting_policy(path), 0
    for piece in policy.pieces:
        checksum = crc32(piece.weights.tobytes(), checksum)
    return policy, checksum


def run_on_betting_tree(
    arena: Any, memory: BettingMemory, iterations: int, options: BettingOptions
) -> BettingMemory:
    """Run iterations in place and return the memory.

    Args:
        arena: the rules of a game with buckets.
        memory: the memory.
        iterations: number of iterations; each has one deal and a traversal for every player.
        options: the part that is solved, and how.
    """
    game = require_bucketed_game(arena)
    tables, sets = betting_tables(game, options.part), BucketSets()
    inside, fixed_weights = tables.start >= 0, np.zeros(0, np.float32)
    rows = PolicyRows(tables.start, np.full(len(inside), sets.add(game), np.int32))
    if options.part:
        policy, checksum = _load_outside(game, options)
        if not isinstance(memory, ExpertMemory) or checksum != memory.checksum:
            raise ConfigError(f"{options.outside} has changed since the run began; start a new run")
        fixed_weights, (outside,) = concatenate_weights([policy], sets)
        rows = PolicyRows(
            np.where(inside, rows.start, outside.start),
            np.where(inside, rows.source, -1 - outside.source).astype(np.int32),
        )
    kernel_game = make_kernel_game(tables, sets, rows, fixed_weights)
    period, num_workers = options.linear_period, options.num_workers
    scratches = [new_scratch(tables, len(sets.games), options.pure) for _ in range(num_workers)]
    unit = lcm(*range(1, game.full_game.num_players + 1)) if options.pure else 1
    threshold = -unit * options.prune_below if options.prune_below else betting_walk.NO_THRESHOLD
    begin, end = memory.iteration + 1, memory.iteration + iterations + 1
    while begin < end:
        last = min(end, begin + period - (begin - 1) % period) if period else end
        bounds = np.linspace(begin, last, num_workers + 1).astype(int).tolist()
        parts = list(pairwise(bounds))

        def work(first: int, until: int, parts: list[tuple[int, int]] = parts) -> None:
            scratch = scratches[parts.index((first, until))]
            place = first, until, np.uint64(memory.seed), kernel_game
            tables = memory.regret, memory.policy_sum, scratch
            if options.pure:
                betting_walk.sample_pure_iterations(*place, unit, threshold, *tables)
            else:
                betting_walk.sample_iterations(*place, threshold, *tables)

        run_in_threads(work, parts)
        begin = last
        memory.iteration = begin - 1
        if period and memory.iteration % period == 0:
            discount_tables(memory, memory.iteration // period)
    memory.nodes_touched += sum(int(scratch.counters[0]) for scratch in scratches)
    return memory


def discount_tables(memory: BettingMemory, number: int) -> None:
    """Multiply the tables by number / (number + 1), in place; integers are rounded towards zero."""
    for table in (memory.regret, memory.policy_sum):
        if table.dtype.kind == "f":
            table *= np.float32(number / (number + 1))
        else:
            np.multiply(table, number / (number + 1), out=table, casting="unsafe")


def betting_policies(
    arena: Any, memory: BettingMemory, options: BettingOptions
) -> Mapping[str, BettingPolicy]:
    """Return the average and the current policy."""
    game, part = require_bucketed_game(arena), options.part
    outside = _load_outside(game, options)[0] if part else None
    current = np.maximum(memory.regret, 0)
    return {
        "average": BettingPolicy(game, memory.policy_sum.astype(np.float32), part, outside),
        "current": BettingPolicy(game, current.astype(np.float32), part, outside),
    }
