"""What arenas with vectors over hands share: tables, the iterations of the CFR family, judgement.

Tables hold one piece [actions, hands] per betting node and board. Which hands there are, and how
the tree is walked, each arena says itself.
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
from counterplay.core.arena import Floats
from counterplay.core.evaluation import Judgement
from counterplay.errors import ConfigError
from counterplay.kernels.holdem import street_walk
from counterplay.kernels.holdem.types import HoldemTables

PRECISIONS = {"float64": np.float64, "float32": np.float32, "int16": np.int16}


@dataclass
class HoldemMemory:
    """What the CFR family keeps on a public tree. S sequences, K averages, Q pieces."""

    iteration: int
    regret: Any  # [S]
    prediction: Any  # [S], or nothing
    policy_sum: Any  # [K, S] of reach times policy, in units of `weight`
    last_weight: Floats  # [K] of the last policy that was added
    regret_scale: Any  # [Q] if pieces have 16 bits
    prediction_scale: Any
    policy_sum_scale: Any  # [K, Q]
    finished: ClassVar[bool] = False

    def scale_averages(self, factor: float) -> None:
        """Multiply the sums of policies."""
        self.last_weight *= factor


@dataclass(frozen=True, eq=False)
class HoldemPolicy:
    """A policy on a public tree: proportional to `weights` [S], where zero to `otherwise`."""

    arena: Any  # a VectorTree
    weights: Any = field(repr=False)
    fallback_weights: Any = field(repr=False)

    @property
    def tree(self) -> HoldemArena:
        """Its arena, by the name that other policies have for theirs."""
        tree: HoldemArena = self.arena
        return tree

    def judge(self, arena: HoldemArena) -> Judgement:
        """How good it is, as `judge` says it."""
        return Judgement(*arena.judge(self))

    def save(self, path: str | Path) -> None:
        """Write it, if its arena has files for policies alone."""
        self.arena.save_policy(self, path)

    def probabilities_at(self, node: int, board: int) -> Floats:
        """Probabilities [actions, hands] at a betting node and a board."""
        self.arena.check_fit(self.weights)
        place, count = (
            self.arena.piece_slice(node, board),
            len(self.arena.betting.nodes[node].actions),
        )
        chosen = np.maximum(self.weights[place].astype(np.float64), 0.0).reshape(count, -1)
        with np.errstate(divide="ignore", over="ignore"):  # as `kernels.streets.match` decides it
            usable = np.isfinite(1.0 / chosen.sum(axis=0).astype(self.arena.compute_dtype))
        chosen = np.where(usable, chosen, 0.0)
        if self.fallback_weights.size:
            other = np.maximum(self.fallback_weights[place].astype(np.float64), 0.0).reshape(
                count, -1
            )
            chosen = np.where(usable, chosen, other)
        lock = self.arena.locks.get((node, board))
        if lock is not None:
            chosen = np.where(lock.sum(axis=0) > 0.0, lock, chosen)
        total = chosen.sum(axis=0)
        return np.where(total > 0.0, chosen / np.where(total > 0.0, total, 1.0), 1.0 / count)


class HoldemArena:
    """The base of these arenas; `pieces`, `betting`, `weights` and `walk` are theirs."""

    capabilities: ClassVar[tuple[str, ...]] = ("vectors",)
    num_players: ClassVar[int] = 2
    memory_advice: ClassVar[str] = ""  # what to cut where memory is short
    spec: str
    betting: BettingTree
    piece_layout: PieceLayout
    value_sum: float | None  # what values add up to; None if chance takes a part of it
    hand_weights: tuple[Floats, Floats]  # of both players' hands at the root

    def __init__(self, precision: str):
        if precision not in PRECISIONS:
            names = ", ".join(PRECISIONS)
            raise ConfigError(f"precision is {precision!r}, must be one of {names}")
        self.precision = precision
        self.locks: dict[tuple[int, int], Floats] = {}

    def piece_slice(self, node: int, board: int) -> slice:
        """Where the tables hold [actions, hands] of a node that decides and a board."""
        raise NotImplementedError

    def walk(self, player: int, tables: HoldemTables, mode: int) -> Floats:
        """Walk the whole tree for one player; its cf_values [hands] at the root."""
        raise NotImplementedError

    @property
    def num_sequences(self) -> int:
        """Entries of a table."""
        return self.piece_layout.num_sequences

    @property
    def num_pieces(self) -> int:
        """Decisions on boards."""
        return self.piece_layout.num_pieces

    def check_fit(self, table: Any) -> None:
        """Refuse a table made before boards were solved apart, whose layout is another one."""
        if table.size != self.num_sequences:
            raise ConfigError(
                f"this policy has {table.size:,} entries where {self.spec} has "
                f"{self.num_sequences:,}: it was made before a lock, or for another spot; solve "
                "again"
            )

    def save_policy(self, policy: HoldemPolicy, path: str | Path) -> None:
        """Write a policy."""
        raise ConfigError(f"a policy of {self.spec} is saved as a Solution")

    def check_memory(self, num_averages: int = 1, num_tables: int = 1) -> None:
        """Refuse what would not fit, and say what to cut."""
        item = np.dtype(PRECISIONS[self.precision]).itemsize
        needed = self.num_sequences * item * (num_averages + num_tables)
        free = available_memory()
        if needed > 0.9 * free:
            smaller = "" if self.precision == "int16" else "; int16 needs half of that"
            raise ConfigError(
                f"{self.spec} has {self.num_sequences:,} sequences and needs "
                f"{format_gib(needed)} where {format_gib(free)} are free{self.memory_advice}{smaller}"
            )

    @property
    def compute_dtype(self) -> Any:
        """The type of numbers that walks compute with."""
        return np.float64 if self.precision == "float64" else np.float32

    # the CFR family, in this arena's own layout

    def new_memory(self, num_averages: int, is_predictive: bool) -> HoldemMemory:
        """No regrets and nothing summed yet."""
        self.check_memory(num_averages, 1 + is_predictive)
        kind, wide = PRECISIONS[self.precision], self.precision != "int16"
        size, pieces = self.num_sequences, 0 if wide else self.num_pieces
        return HoldemMemory(
            iteration=0,
            regret=np.zeros(size, kind),
            prediction=np.zeros(size if is_predictive else 0, kind),
            policy_sum=np.zeros((num_averages, size), kind),
            last_weight=np.zeros(num_averages),
            regret_scale=np.zeros(pieces, np.float32),
            prediction_scale=np.zeros(pieces if is_predictive else 0, np.float32),
            policy_sum_scale=np.zeros((num_averages, pieces), np.float32),
        )

    def iterate(
        self, memory: HoldemMemory, factors: Floats, weights: Floats, alternating: bool = True
    ) -> None:
        """One iteration per row of the factors p, n and m [T, 3] and weights [T, K], in turn."""
        if not alternating:
            raise ConfigError(f"on {self.spec} players learn in turn: alternating must be true")
        self.check_fit(memory.regret)
        for rule, weight in zip(factors, weights, strict=True):
            kept = weight > 0.0
            fade = np.where(kept, memory.last_weight / np.where(kept, weight, 1.0), 1.0)
            tables = HoldemTables(
                policy_weights=memory.prediction if memory.prediction.size else memory.regret,
                fallback_weights=memory.regret[:0],
                regret=memory.regret,
                regret_scale=memory.regret_scale,
                policy_weights_scale=memory.prediction_scale,
                policy_sum=memory.policy_sum,
                policy_sum_scale=memory.policy_sum_scale,
                **self._lock_tables,
                discounts=rule,
                sum_decay=fade,
                sum_weight=kept.astype(np.float64),
            )
            for player in (0, 1):
                self.walk(player, tables, street_walk.MODE_LEARN)
            memory.last_weight = np.where(kept, weight, memory.last_weight)
            memory.iteration += 1

    def policies(self, memory: HoldemMemory, averages: tuple[str, ...]) -> dict[str, HoldemPolicy]:
        """The averages by name, and the last iterate."""
        now = memory.prediction if memory.prediction.size else memory.regret
        found = {
            name: HoldemPolicy(self, total, now)
            for name, total in zip(averages, memory.policy_sum, strict=True)
        }
        return found | {"current": HoldemPolicy(self, now, now[:0])}

    # exact judgement

    def judge(self, policy: HoldemPolicy) -> tuple[Floats, Floats]:
        """Both players' values, and what best responses would earn.

        In 32 bits that is off by some 1e-7 of the pot (benchmarks/holdem/holdem.md).
        """
        tables = self.policy_tables(policy)
        values, best = np.zeros(2), np.zeros(2)
        for player in (0, 1):
            weight = self.hand_weights[player]
            best[player] = weight @ self.walk(player, tables, street_walk.MODE_BEST)
            if player == 1 and self.value_sum is not None:  # what one takes the other does not
                values[1] = self.value_sum - values[0]
                continue
            values[player] = weight @ self.walk(player, tables, street_walk.MODE_MEAN)
        return values, best

    def policy_tables(self, policy: HoldemPolicy) -> HoldemTables:
        """Tables that only say what the policy is."""
        self.check_fit(policy.weights)
        nothing = np.zeros(0, policy.weights.dtype)
        scales, none = np.zeros(0, np.float32), np.zeros(0)
        return HoldemTables(
            policy_weights=policy.weights,
            fallback_weights=policy.fallback_weights,
            regret=nothing,
            regret_scale=scales,
            policy_weights_scale=scales,
            policy_sum=nothing.reshape(0, 0),
            policy_sum_scale=scales.reshape(0, 0),
            **self._lock_tables,
            discounts=np.zeros(3),
            sum_decay=none,
            sum_weight=none,
        )

    @cached_property
    def _lock_tables(self) -> dict[str, Any]:
        locked = np.full(self.num_pieces if self.locks else 0, -1, np.int64)
        pieces, start = [np.zeros(0)], 0
        for (node, board), weights in self.locks.items():
            locked[self.piece_layout.piece_index[node] + board] = start
            pieces.append(weights.ravel())
            start += weights.size
        return {"lock_offset": locked, "lock_weights": np.concatenate(pieces)}
