"""Memories of the Monte Carlo CFR family: on a tree, on readable rules and on compiled rules.

On a tree all sequences are known, so tables have a fixed layout. On rules an infoset gets its
entries in the tables when it is first visited, and the memory holds the index of visited infosets.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from counterplay.arenas.rules import SizeReport
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import Game
from counterplay.core.game_checks import action_names
from counterplay.errors import RunError
from counterplay.kernels.runtime import hash_index
from counterplay.kernels.sampling.lazy_nodes import (
    NUM_CHANCE_DISTRIBUTIONS,
    NUM_ENTRIES,
    NUM_HISTORY_ACTIONS,
    NUM_INFOSETS,
)
from counterplay.kernels.sampling.types import Scratch
from counterplay.registry import get_spec

MAX_NODES_PER_ITERATION = 1 << 22  # on rules; also bounds the entries that an iteration adds
MIN_HASH_SLOTS = 1 << 20  # of the hash table of compiled infosets
MAX_CACHED_STATES = 1 << 20  # of the game, while infosets are named
BYTES_PER_KEY = 260  # of a dictionary entry with its tuples and string, without the text
RULES_SCALARS = ("iteration", "seed", "baseline_kind", "nodes_touched")
RULES_TABLES = ("regret", "policy", "policy_sum", "last_averaged", "baseline", "max_abs_value")
COMPILED_SCALARS = ("iteration", "seed", "nodes_touched")
COMPILED_TABLES = ("regret", "policy", "policy_sum", "last_averaged", "max_abs_value")
INDEX_ARRAYS = ("hash_keys", "infoset_entries", "history_actions", "history_end")

# first table entry and action names, by (player, infoset key)
InfosetIndex = dict[tuple[int, str], tuple[int, tuple[str, ...]]]


def worker_seeds(seed: int, num_workers: int) -> Ints:
    """Return a seed for each worker [W]; they are the same on all arenas."""
    return np.random.SeedSequence(seed).generate_state(num_workers, np.uint64)


def new_scratch(num_nodes: int, max_depth: int) -> Scratch:
    """Return scratch arrays for one worker's kernels.

    No array is shorter than 16 entries, so that two workers never write to one cache line.
    """
    depth = max(max_depth, 16)
    integers, floats = np.zeros((2, depth), np.int64), np.zeros((4, depth))
    pending_nodes = np.empty(num_nodes, np.int64)
    rng, counters = np.zeros(16, np.uint64), np.zeros(16, np.int64)
    return Scratch(rng, counters, pending_nodes, *integers, *floats)


def too_many_nodes_error(game: Game, max_nodes: int) -> RunError:
    """Return the error for an iteration that visits more nodes than `max_nodes`."""
    return RunError(
        f"{get_spec(game)}: one iteration met more than {max_nodes:,} nodes; take an algorithm "
        "that samples more, such as outcome_sampling"
    )


@dataclass
class TreeSamplingMemory:
    """The memory on a tree, one row per worker: W workers, S sequences, C chance outcomes."""

    iteration: int
    seed: Ints  # [W]
    nodes_touched: Ints  # [W] number of node visits
    regret: Floats  # [W, S]
    policy: Floats  # [W, S + C] the current policy, then the probabilities of chance
    policy_sum: Floats  # [W, S]
    last_averaged: Floats  # [W, S] last iteration in the lazy average; [W, 0] if unused
    baseline: Floats  # [W, B] estimates of values; [W, 0] if unused
    max_abs_value: Floats  # [W, S] largest value seen at an infoset, at its first action
    finished: ClassVar[bool] = False
    can_merge: ClassVar[bool] = True


def _empty_array() -> array[float]:
    return array("d")


_empty_floats = partial(np.zeros, 0)
_new_distributions = partial(np.zeros, (4096, 2), np.int64)  # kernels do not grow this table


@dataclass
class RulesSamplingMemory:
    """The memory on readable rules: growing tables, and the index of visited infosets.

    `baseline_slots` numbers the baselines in the order of their first visit. Its keys are (player,
    infoset key, action), or for baselines of histories (index of the history before the last
    action, that action).
    """

    iteration: int
    seed: int
    baseline_kind: str = ""  # "augmented" infosets, every "history", or "" without baselines
    nodes_touched: int = 0
    regret: array[float] = field(default_factory=_empty_array)
    policy: array[float] = field(default_factory=_empty_array)
    policy_sum: array[float] = field(default_factory=_empty_array)
    last_averaged: array[float] = field(default_factory=_empty_array)
    baseline: array[float] = field(default_factory=_empty_array)
    max_abs_value: array[float] = field(default_factory=_empty_array)
    infosets: InfosetIndex = field(default_factory=dict)
    # first entry in `policy`, by probabilities
    chance_distributions: dict[tuple[float, ...], int] = field(default_factory=dict)
    baseline_slots: dict[tuple[Any, ...], int] = field(default_factory=dict)
    # actions of infosets and chance nodes that this process has checked; not stored
    legal: dict[Any, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)
    outcomes: set[tuple[int, ...]] = field(default_factory=set, compare=False, repr=False)
    finished: ClassVar[bool] = False

    @property
    def size(self) -> SizeReport:
        """The number of visited nodes and infosets, and the memory they take."""
        tables = [getattr(self, name) for name in RULES_TABLES]
        key_bytes = sum(
            BYTES_PER_KEY + len(key) + 8 * len(names)
            for (_, key), (_, names) in self.infosets.items()
        )
        return SizeReport(
            iteration=self.iteration,
            nodes_touched=self.nodes_touched,
            num_infosets=len(self.infosets),
            num_entries=len(self.policy),
            num_bytes=sum(table.itemsize * len(table) for table in tables)
            + key_bytes
            + BYTES_PER_KEY * len(self.baseline_slots),
        )

    def to_arrays(self) -> dict[str, Any]:
        """Return the memory as arrays, numbers and a string; the index is JSON text as bytes."""
        index = {
            "infosets": [(*key, *entry) for key, entry in self.infosets.items()],
            "chance_distributions": [
                (first, len(probabilities))
                for probabilities, first in self.chance_distributions.items()
            ],
            "baseline_slots": list(self.baseline_slots),
        }
        text = json.dumps(index, default=int)  # rules may have NumPy's integers as actions
        return {
            **{name: getattr(self, name) for name in RULES_SCALARS},
            **{name: np.array(getattr(self, name)) for name in RULES_TABLES},
            "index": np.frombuffer(text.encode(), np.uint8),
        }

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Any]) -> RulesSamplingMemory:
        """Return the memory that `to_arrays` has stored."""
        index, policy = json.loads(stored["index"].tobytes()), stored["policy"].tolist()
        parts: dict[str, Any] = {name: stored[name] for name in RULES_SCALARS}
        parts |= {name: array("d", stored[name].tobytes()) for name in RULES_TABLES}
        return cls(
            **parts,
            infosets={(p, key): (k, tuple(names)) for p, key, k, names in index["infosets"]},
            chance_distributions={
                tuple(policy[k : k + count]): k for k, count in index["chance_distributions"]
            },
            baseline_slots={tuple(key): slot for slot, key in enumerate(index["baseline_slots"])},
        )


@dataclass
class CompiledSamplingMemory:
    """The memory on compiled rules: tables with free space at their ends.

    `counts` holds the number of used entries, in the places of `kernels.sampling.lazy_nodes`. An
    infoset is identified by its player and the key of the compiled rules. The actions that lead to
    its first node are stored, so that the readable rules can name it later.
    """

    game: Game
    iteration: int
    seed: int
    nodes_touched: int = 0
    counts: Ints = field(default_factory=partial(np.zeros, 7, np.int64))
    regret: Floats = field(default_factory=_empty_floats)
    policy: Floats = field(default_factory=_empty_floats)
    policy_sum: Floats = field(default_factory=_empty_floats)
    last_averaged: Floats = field(default_factory=_empty_floats)
    max_abs_value: Floats = field(default_factory=_empty_floats)
    hash_keys: Ints = field(default_factory=partial(np.zeros, (0, 3), np.int64))
    infoset_entries: Ints = field(default_factory=partial(np.zeros, (0, 2), np.int64))
    history_actions: Ints = field(default_factory=partial(np.zeros, 0, np.int32))
    history_end: Ints = field(default_factory=partial(np.zeros, 1, np.int64))
    chance_distributions: Ints = field(default_factory=_new_distributions)
    hash_table: Ints = field(default_factory=partial(np.full, 2, -1, np.int32))
    infosets_by_key: InfosetIndex = field(default_factory=dict)
    finished: ClassVar[bool] = False
    baseline_kind: ClassVar[str] = ""

    @property
    def num_infosets(self) -> int:
        """The number of visited infosets."""
        return int(self.counts[NUM_INFOSETS])

    @property
    def num_entries(self) -> int:
        """The number of used entries of each table."""
        return int(self.counts[NUM_ENTRIES])

    @property
    def num_history_actions(self) -> int:
        """The number of stored actions."""
        return int(self.counts[NUM_HISTORY_ACTIONS])

    def reserve(self) -> None:
        """Grow all tables so that one more iteration fits."""
        num_infosets = self.num_infosets
        used = dict.fromkeys(COMPILED_TABLES, self.num_entries) | {
            "hash_keys": num_infosets,
            "infoset_entries": num_infosets,
            "history_end": num_infosets + 1,
            "history_actions": self.num_history_actions,
        }
        for name, num_used in used.items():
            setattr(self, name, _grow_array(getattr(self, name), num_used))
        if self.hash_table.size < max(2 * num_infosets, MIN_HASH_SLOTS):
            num_slots = max(1 << (4 * num_infosets).bit_length(), MIN_HASH_SLOTS)
            self.hash_table = np.full(num_slots, -1, np.int32)
            hash_index.rebuild_table(num_infosets, self.hash_table, self.hash_keys)

    @property
    def infosets(self) -> InfosetIndex:
        """The index of visited infosets; new infosets are named by replaying their histories."""
        game, states = self.game, {(): self.game.initial_state()}
        first, last = len(self.infosets_by_key), self.num_infosets
        ends = self.history_end[first : last + 1].tolist()
        players = self.hash_keys[first:last, 2].tolist()
        entries = self.infoset_entries[first:last, 0].tolist()
        for k in range(last - first):
            path = tuple(self.history_actions[ends[k] : ends[k + 1]].tolist())
            depth = len(path)
            while path[:depth] not in states:
                depth -= 1
            state = states[path[:depth]]
            for action in path[depth:]:
                depth += 1
                state = states[path[:depth]] = game.next_state(state, action)
            if len(states) > MAX_CACHED_STATES:
                states = {(): game.initial_state()}
            key = players[k], game.infoset_key(state, players[k])
            names = action_names(game, state, game.actions(state))
            self.infosets_by_key[key] = entries[k], names
        return self.infosets_by_key

    @property
    def size(self) -> SizeReport:
        """The number of visited nodes and infosets, and the memory they take."""
        num_bytes = (
            8 * self.num_entries * len(COMPILED_TABLES)
            + self.num_infosets * 8 * (3 + 2 + 1 + 1)
            + 4 * self.num_history_actions
        )
        return SizeReport(
            self.iteration, self.nodes_touched, self.num_infosets, self.num_entries, num_bytes
        )

    def to_arrays(self) -> dict[str, Any]:
        """Return the used parts of the memory as arrays and numbers."""
        num_distributions = self.counts[NUM_CHANCE_DISTRIBUTIONS]
        return {
            **{name: getattr(self, name) for name in COMPILED_SCALARS},
            **{name: getattr(self, name)[: self.num_entries].copy() for name in COMPILED_TABLES},
            "hash_keys": self.hash_keys[: self.num_infosets].copy(),
            "infoset_entries": self.infoset_entries[: self.num_infosets].copy(),
            "history_actions": self.history_actions[: self.num_history_actions].copy(),
            "history_end": self.history_end[: self.num_infosets + 1].copy(),
            "chance_distributions": self.chance_distributions[:num_distributions].copy(),
        }

    def from_arrays(
        self, stored: Mapping[str, Any]
    ) -> CompiledSamplingMemory | RulesSamplingMemory:
        """Return the memory that `to_arrays` has stored, for the game of this memory.

        A memory stored on readable rules stays one of readable rules.
        """
        if "index" in stored:
            return RulesSamplingMemory.from_arrays(stored)
        arrays = {
            name: stored[name] for name in (*COMPILED_SCALARS, *COMPILED_TABLES, *INDEX_ARRAYS)
        }
        counts, distributions = np.zeros(7, np.int64), _new_distributions()
        counts[NUM_INFOSETS], counts[NUM_ENTRIES] = len(stored["hash_keys"]), len(stored["policy"])
        counts[NUM_HISTORY_ACTIONS] = len(stored["history_actions"])
        counts[NUM_CHANCE_DISTRIBUTIONS] = len(stored["chance_distributions"])
        distributions[: len(stored["chance_distributions"])] = stored["chance_distributions"]
        arrays |= {"counts": counts, "chance_distributions": distributions}
        return CompiledSamplingMemory(self.game, **arrays)


def _grow_array(values: Any, num_used: int) -> Any:
    """Return the array with space for one iteration after `num_used` entries.

    Space costs no memory before it is written.
    """
    if len(values) >= num_used + MAX_NODES_PER_ITERATION:
        return values
    size = num_used + num_used // 2 + MAX_NODES_PER_ITERATION + 1
    longer = np.zeros((size, *values.shape[1:]), values.dtype)
    longer[:num_used] = values[:num_used]
    return longer
