"""Shared parts of the hold'em arenas: tables, iterations of the CFR family, exact evaluation.

Tables hold one piece [actions, hands] per betting node and board. A subclass of `HoldemArena`
defines the hands and the walk over the tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from counterplay.arenas.holdem.array_layout import PieceLayout
from counterplay.arenas.holdem.betting import BettingTree
from counterplay.arenas.tree.size_estimate import available_memory, format_gib
from counterplay.core.arena import Floats, Ints
from counterplay.core.evaluation import Judgement
from counterplay.errors import ConfigError
from counterplay.kernels.holdem import street_walk
from counterplay.kernels.holdem.types import HoldemTables

PRECISIONS = {"float64": np.float64, "float32": np.float32, "int16": np.int16}


@dataclass
class HoldemMemory:
    """Memory of the CFR family on a hold'em arena. S sequences, K averages, Q pieces."""

    iteration: int
    regret: Any  # [S]
    prediction: Any  # [S]; empty without predictions
    policy_sum: Any  # [K, S] sum of reach times policy, divided by `last_weight`
    last_weight: Floats  # [K] weight of the last policy that was added
    regret_scale: Any  # [Q] with 16-bit pieces, else empty
    prediction_scale: Any
    policy_sum_scale: Any  # [K, Q]
    finished: ClassVar[bool] = False

    def scale_averages(self, factor: float) -> None:
        """Multiply the policy sums by a factor."""
        self.last_weight *= factor


@dataclass(frozen=True, eq=False)
class HoldemPolicy:
    """A policy on a hold'em arena.

    Action probabilities are proportional to the positive part of `weights` [S]; where that is zero,
    to `fallback_weights` [S] (may be empty); where both are zero, they are uniform.
    """

    arena: Any  # a HoldemArena; Any because callers use attributes of its subclasses
    weights: Any = field(repr=False)
    fallback_weights: Any = field(repr=False)

    def judge(self, arena: HoldemArena) -> Judgement:
        """Return the values and best-response values of the policy."""
        return Judgement(*arena.judge(self))

    def save(self, path: str | Path) -> None:
        """Write the policy to a file, if the arena supports policy files."""
        self.arena.save_policy(self, path)

    def probabilities_at(self, node: int, board: int) -> Floats:
        """Return the probabilities [actions, hands] at a betting node on a board."""
        self.arena.check_fit(self.weights)
        piece = self.arena.piece_slice(node, board)
        count = len(self.arena.betting.nodes[node].actions)

        def positive_part(table: Any) -> Floats:
            return np.maximum(table[piece].astype(np.float64), 0.0).reshape(count, -1)

        weights = positive_part(self.weights)
        with np.errstate(divide="ignore", over="ignore"):  # the test of kernels.holdem.street_walk
            usable = np.isfinite(1.0 / weights.sum(axis=0).astype(self.arena.compute_dtype))
        weights = np.where(usable, weights, 0.0)
        if self.fallback_weights.size:
            weights = np.where(usable, weights, positive_part(self.fallback_weights))
        lock = self.arena.locks.get((node, board))
        if lock is not None:
            weights = np.where(lock.sum(axis=0) > 0.0, lock, weights)
        total = weights.sum(axis=0)
        return np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), 1.0 / count)


class HoldemArena:
    """Base class of the hold'em arenas.

    A subclass sets the attributes annotated here and implements `piece_slice` and `walk`.
    """

    capabilities: ClassVar[tuple[str, ...]] = ("vectors",)
    num_players: ClassVar[int] = 2
    memory_advice: ClassVar[str] = ""  # appended to the error if memory is short
    spec: str
    betting: BettingTree
    piece_layout: PieceLayout
    value_sum: float | None  # sum of both players' values; None if rake makes it vary
    hand_weights: tuple[Floats, Floats]  # by player, of the hands at the root

    def __init__(self, precision: str):
        if precision not in PRECISIONS:
            names = ", ".join(PRECISIONS)
            raise ConfigError(f"precision is {precision!r}, must be one of {names}")
        self.precision = precision
        self.locks: dict[tuple[int, int], Floats] = {}  # weights [actions, hands] by (node, board)

    def piece_slice(self, node: int, board: int) -> slice:
        """Return the slice of a table that holds [actions, hands] of a node on a board."""
        raise NotImplementedError

    def walk(self, player: int, tables: HoldemTables, mode: int) -> Floats:
        """Walk the whole tree for one player; return its cf_values [hands] at the root."""
        raise NotImplementedError

    @property
    def num_sequences(self) -> int:
        """Length S of a table."""
        return self.piece_layout.num_sequences

    @property
    def num_pieces(self) -> int:
        """Number of pairs of a decision node and a board."""
        return self.piece_layout.num_pieces

    def check_fit(self, table: Ints) -> None:
        """Raise ConfigError if a table has another layout, such as that before a lock."""
        if table.size != self.num_sequences:
            raise ConfigError(
                f"this policy has {table.size:,} entries where {self.spec} has "
                f"{self.num_sequences:,}: it was made before a lock, or for another spot; solve "
                "again"
            )

    def save_policy(self, policy: HoldemPolicy, path: str | Path) -> None:
        """Write a policy to a file; raise ConfigError in arenas without policy files."""
        raise ConfigError(f"a policy of {self.spec} is saved as a Solution")

    def table_bytes(self, num_tables: int = 2) -> int:
        """Return the bytes of some tables; CFR has regrets and one average."""
        return num_tables * self.num_sequences * int(np.dtype(PRECISIONS[self.precision]).itemsize)

    def check_memory(self, num_averages: int = 1, num_tables: int = 1) -> None:
        """Raise ConfigError if the tables do not fit into the free memory."""
        needed = self.table_bytes(num_averages + num_tables)
        free = available_memory()
        if needed > 0.9 * free:
            smaller = "" if self.precision == "int16" else "; int16 needs half of that"
            raise ConfigError(
                f"{self.spec} has {self.num_sequences:,} sequences and needs {format_gib(needed)} "
                f"where {format_gib(free)} are free{self.memory_advice}{smaller}"
            )

    @property
    def compute_dtype(self) -> Any:
        """The floating point type of the walks."""
        return np.float64 if self.precision == "float64" else np.float32

    # the CFR family on these tables

    def new_memory(self, num_averages: int, is_predictive: bool) -> HoldemMemory:
        """Return a memory with zero regrets and zero policy sums."""
        self.check_memory(num_averages, 1 + is_predictive)
        dtype = PRECISIONS[self.precision]
        size, pieces = self.num_sequences, self.num_pieces if self.precision == "int16" else 0
        return HoldemMemory(
            iteration=0,
            regret=np.zeros(size, dtype),
            prediction=np.zeros(size if is_predictive else 0, dtype),
            policy_sum=np.zeros((num_averages, size), dtype),
            last_weight=np.zeros(num_averages),
            regret_scale=np.zeros(pieces, np.float32),
            prediction_scale=np.zeros(pieces if is_predictive else 0, np.float32),
            policy_sum_scale=np.zeros((num_averages, pieces), np.float32),
        )

    def iterate(
        self, memory: HoldemMemory, factors: Floats, weights: Floats, alternating: bool = True
    ) -> None:
        """Run T iterations with alternating updates.

        Args:
            memory: is updated in place.
            factors: [T, 3] discounts of positive regrets, of negative regrets, of predictions.
            weights: [T, K] weights of the policy in the averages.
            alternating: must be True.
        """
        if not alternating:
            raise ConfigError(f"on {self.spec} players learn in turn: alternating must be true")
        self.check_fit(memory.regret)
        is_added, decays = weights > 0.0, np.ones(weights.shape)
        for t, weight in enumerate(weights):
            ratio = memory.last_weight / np.where(is_added[t], weight, 1.0)
            decays[t] = np.where(is_added[t], ratio, 1.0)
            memory.last_weight = np.where(is_added[t], weight, memory.last_weight)
        tables = HoldemTables(
            policy_weights=memory.prediction if memory.prediction.size else memory.regret,
            fallback_weights=memory.regret[:0],
            regret=memory.regret,
            regret_scale=memory.regret_scale,
            policy_weights_scale=memory.prediction_scale,
            policy_sum=memory.policy_sum,
            policy_sum_scale=memory.policy_sum_scale,
            **self._lock_tables,
            discounts=np.zeros(3),
            sum_decay=np.zeros(weights.shape[1]),
            sum_weight=np.zeros(weights.shape[1]),
        )
        self.run_iterations(tables, factors, decays, is_added.astype(np.float64))
        memory.iteration += len(factors)

    def run_iterations(
        self, tables: HoldemTables, factors: Floats, decays: Floats, weights: Floats
    ) -> None:
        """Run T iterations, both players in turn; the factors of `tables` are overwritten.

        Args:
            tables: are updated in place.
            factors: [T, 3] discounts of positive regrets, of negative regrets, of predictions.
            decays: [T, K] factors of the averages so far.
            weights: [T, K] weights of the current policy in the averages.
        """
        for discounts, decay, weight in zip(factors, decays, weights, strict=True):
            tables.discounts[:], tables.sum_decay[:], tables.sum_weight[:] = (
                discounts,
                decay,
                weight,
            )
            for player in (0, 1):
                self.walk(player, tables, street_walk.MODE_LEARN)

    def policies(self, memory: HoldemMemory, averages: tuple[str, ...]) -> dict[str, HoldemPolicy]:
        """Return the average policies by name, and the current policy."""
        current = memory.prediction if memory.prediction.size else memory.regret
        policies = {
            name: HoldemPolicy(self, total, current)
            for name, total in zip(averages, memory.policy_sum, strict=True)
        }
        return policies | {"current": HoldemPolicy(self, current, current[:0])}

    # exact evaluation

    def judge(self, policy: HoldemPolicy) -> tuple[Floats, Floats]:
        """Return both players' values [2] and best-response values [2].

        In 32 bits they are off by some 1e-7 of the pot (benchmarks/holdem).
        """
        tables = self.policy_tables(policy)
        values, best = np.zeros(2), np.zeros(2)
        for player in (0, 1):
            if player == 1 and self.value_sum is not None:  # saves a walk
                best[1] = self.hand_weights[1] @ self.walk(1, tables, street_walk.MODE_BEST)
                values[1] = self.value_sum - values[0]
            else:
                values[player], best[player] = self.judge_player(player, tables)
        return values, best

    def judge_player(self, player: int, tables: HoldemTables) -> tuple[float, float]:
        """Return the value of a policy and that of a best response to it, for one player."""
        weight = self.hand_weights[player]
        best = weight @ self.walk(player, tables, street_walk.MODE_BEST)
        return float(weight @ self.walk(player, tables, street_walk.MODE_MEAN)), float(best)

    def policy_tables(self, policy: HoldemPolicy) -> HoldemTables:
        """Return tables that hold a policy and nothing to learn."""
        self.check_fit(policy.weights)
        no_entries = np.zeros(0, policy.weights.dtype)
        no_scales, no_averages = np.zeros(0, np.float32), np.zeros(0)
        return HoldemTables(
            policy_weights=policy.weights,
            fallback_weights=policy.fallback_weights,
            regret=no_entries,
            regret_scale=no_scales,
            policy_weights_scale=no_scales,
            policy_sum=no_entries.reshape(0, 0),
            policy_sum_scale=no_scales.reshape(0, 0),
            **self._lock_tables,
            discounts=np.zeros(3),
            sum_decay=no_averages,
            sum_weight=no_averages,
        )

    @cached_property
    def _lock_tables(self) -> dict[str, Any]:
        """The fields of `HoldemTables` that describe the node locks."""
        lock_offset = np.full(self.num_pieces if self.locks else 0, -1, np.int64)
        parts, start = [np.zeros(0)], 0
        for (node, board), weights in self.locks.items():
            lock_offset[self.piece_layout.piece_index[node] + board] = start
            parts.append(weights.ravel())
            start += weights.size
        return {"lock_offset": lock_offset, "lock_weights": np.concatenate(parts)}
