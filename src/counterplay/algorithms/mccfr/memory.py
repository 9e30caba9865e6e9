"""What sampling algorithms keep about a tree."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from counterplay.arenas.rules import SizeReport
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import Game
from counterplay.core.game_checks import action_names
from counterplay.kernels.runtime import hash_index
from counterplay.kernels.sampling.lazy_nodes import (
    NUM_CHANCE_DISTRIBUTIONS,
    NUM_ENTRIES,
    NUM_HISTORY_ACTIONS,
    NUM_INFOSETS,
)


@dataclass
class TreeSamplingMemory:
    """What the family keeps on a tree; every one of W workers has a row of its own."""

    iteration: int
    seed: Ints  # [W]
    nodes_touched: Ints  # [W] nodes, counted as often as they were visited
    regret: Floats  # [W, S]
    policy: Floats  # [W, S + C] the current one, with the probabilities of chance behind it
    policy_sum: Floats  # [W, S]
    last_averaged: Floats  # [W, S] the last iteration counted by the lazy average; [W, 0] if unused
    baseline: Floats  # [W, B] guesses at values; [W, 0] if unused
    max_abs_value: Floats  # [W, S] values met at an infoset, kept at its first action
    finished: ClassVar[bool] = False
    can_merge: ClassVar[bool] = True


BYTES_PER_KEY = 260  # of a dictionary entry with its tuples and string, the text not counted
RULES_SCALARS = ("iteration", "seed", "baseline_kind", "nodes_touched")
RULES_TABLES = ("regret", "policy", "policy_sum", "last_averaged", "baseline", "max_abs_value")


def _empty_floats() -> array[float]:
    return array("d")


@dataclass
class RulesSamplingMemory:
    """Tables, and where what was met stands in them.

    `infosets` says where the actions of (player, infoset key) stand in the tables and what they are
    called; `lotteries` where the probabilities of chance stand in `policy`. `slots` numbers what
    there are guesses for: (player, infoset key, action), or histories, which are known by the
    number of the history before the last action, and that action.
    """

    iteration: int
    seed: int
    baseline_kind: str = ""  # what a baseline is kept for: "augmented" infosets, or every "history"
    nodes_touched: int = 0
    regret: array[float] = field(default_factory=_empty_floats)
    policy: array[float] = field(default_factory=_empty_floats)
    policy_sum: array[float] = field(default_factory=_empty_floats)
    last_averaged: array[float] = field(default_factory=_empty_floats)
    baseline: array[float] = field(default_factory=_empty_floats)
    max_abs_value: array[float] = field(default_factory=_empty_floats)
    infosets: dict[tuple[int, str], tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    chance_distributions: dict[tuple[float, ...], int] = field(default_factory=dict)
    baseline_slots: dict[Any, int] = field(default_factory=dict)  # in the order of their numbers
    # actions of infosets and of chance nodes that were checked in this process; not stored
    legal: dict[Any, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)
    outcomes: set[tuple[int, ...]] = field(default_factory=set, compare=False, repr=False)
    finished: ClassVar[bool] = False

    @property
    def size(self) -> SizeReport:
        """How much has been met so far."""
        tables = [getattr(self, name) for name in RULES_TABLES]
        return SizeReport(
            self.iteration,
            self.nodes_touched,
            len(self.infosets),
            len(self.policy),
            sum(table.itemsize * len(table) for table in tables)
            + sum(
                BYTES_PER_KEY + len(key) + 8 * len(names)
                for (_, key), (_, names) in self.infosets.items()
            )
            + BYTES_PER_KEY * len(self.baseline_slots),
        )

    def to_arrays(self) -> dict[str, Any]:
        """All of it as arrays, numbers and a string: what was met is JSON, as bytes."""
        index = {
            "infosets": [(*key, *place) for key, place in self.infosets.items()],
            "chance_distributions": [
                (first, len(key)) for key, first in self.chance_distributions.items()
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
        """The memory that `to_arrays` made these of."""
        index, policy = json.loads(stored["index"].tobytes()), stored["policy"].tolist()
        parts: dict[str, Any] = {name: stored[name] for name in RULES_SCALARS}
        parts |= {name: array("d", stored[name].tobytes()) for name in RULES_TABLES}
        return cls(
            **parts,
            infosets={(p, key): (k, tuple(names)) for p, key, k, names in index["infosets"]},
            chance_distributions={
                tuple(policy[k : k + count]): k for k, count in index["chance_distributions"]
            },
            baseline_slots={
                tuple(key): number for number, key in enumerate(index["baseline_slots"])
            },
        )


COMPILED_SCALARS = ("iteration", "seed", "nodes_touched")
COMPILED_TABLES = ("regret", "policy", "policy_sum", "last_averaged", "max_abs_value")
MIN_HASH_SLOTS = 1 << 20  # slots of the hash table
MAX_NODES_PER_ITERATION = (
    1 << 22
)  # nodes of an iteration, and so entries and infosets that it may add


@dataclass
class CompiledSamplingMemory:
    """Tables with room at their ends; `counts` says how much is in use: see `kernels.lazy_nodes`.

    An infoset is known by its player and by what the machine sees there. The actions that led to
    its first node are kept, so that the readable rules can name it when somebody asks.
    """

    game: Game
    iteration: int
    seed: int
    nodes_touched: int = 0
    counts: Ints = field(default_factory=lambda: np.zeros(7, np.int64))
    regret: Floats = field(default_factory=lambda: np.zeros(0))
    policy: Floats = field(default_factory=lambda: np.zeros(0))
    policy_sum: Floats = field(default_factory=lambda: np.zeros(0))
    last_averaged: Floats = field(default_factory=lambda: np.zeros(0))
    max_abs_value: Floats = field(default_factory=lambda: np.zeros(0))
    hash_keys: Ints = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    infoset_entries: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    history_actions: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    history_end: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    chance_distributions: Ints = field(default_factory=lambda: np.zeros((4096, 2), np.int64))
    hash_table: Ints = field(default_factory=lambda: np.full(2, -1, np.int32))
    infosets_by_key: dict[tuple[int, str], tuple[int, tuple[str, ...]]] = field(
        default_factory=dict
    )
    finished: ClassVar[bool] = False
    baseline_kind: ClassVar[str] = ""

    def reserve(self) -> None:
        """Let every table have room for one more iteration, whatever it meets."""
        infosets, entries = int(self.counts[NUM_INFOSETS]), int(self.counts[NUM_ENTRIES])
        for name in COMPILED_TABLES:
            setattr(self, name, _grow_array(getattr(self, name), entries))
        self.hash_keys, self.infoset_entries = (
            _grow_array(self.hash_keys, infosets),
            _grow_array(self.infoset_entries, infosets),
        )
        self.history_end = _grow_array(self.history_end, infosets + 1)
        self.history_actions = _grow_array(
            self.history_actions, int(self.counts[NUM_HISTORY_ACTIONS])
        )
        if self.hash_table.size < max(2 * infosets, MIN_HASH_SLOTS):
            self.hash_table = np.full(
                max(1 << (4 * infosets).bit_length(), MIN_HASH_SLOTS), -1, np.int32
            )
            hash_index.rebuild_table(infosets, self.hash_table, self.hash_keys)

    def scale_averages(self, factor: float) -> None:
        """Multiply the sums of policies."""
        self.policy_sum *= factor

    @property
    def infosets(self) -> dict[tuple[int, str], tuple[int, tuple[str, ...]]]:
        """Where the actions of (player, infoset key) stand, and their names; made when asked for"""
        game, states = self.game, {(): self.game.initial_state()}
        first, last = len(self.infosets_by_key), int(self.counts[NUM_INFOSETS])
        words, ends = self.history_actions, self.history_end[first : last + 1].tolist()
        owners, places = (
            self.hash_keys[first:last, 2].tolist(),
            self.infoset_entries[first:last, 0].tolist(),
        )
        for k in range(last - first):
            path = tuple(words[ends[k] : ends[k + 1]].tolist())
            depth = len(path)
            while path[:depth] not in states:
                depth -= 1
            state = states[path[:depth]]
            for action in path[depth:]:
                depth += 1
                state = states[path[:depth]] = game.next_state(state, action)
            if len(states) > 1 << 20:
                states = {(): game.initial_state()}
            key = owners[k], game.infoset_key(state, owners[k])
            names = action_names(game, state, game.actions(state))
            self.infosets_by_key[key] = places[k], names
        return self.infosets_by_key

    @property
    def size(self) -> SizeReport:
        """How much has been met so far."""
        infosets, entries = int(self.counts[NUM_INFOSETS]), int(self.counts[NUM_ENTRIES])
        words = int(self.counts[NUM_HISTORY_ACTIONS])
        num_bytes = 8 * entries * len(COMPILED_TABLES) + infosets * 8 * (3 + 2 + 1 + 1) + 4 * words
        return SizeReport(self.iteration, self.nodes_touched, infosets, entries, num_bytes)

    def to_arrays(self) -> dict[str, Any]:
        """All that is in use, as arrays and numbers."""
        infosets, entries = int(self.counts[NUM_INFOSETS]), int(self.counts[NUM_ENTRIES])
        return {
            **{name: getattr(self, name) for name in COMPILED_SCALARS},
            **{name: getattr(self, name)[:entries].copy() for name in COMPILED_TABLES},
            "hash_keys": self.hash_keys[:infosets].copy(),
            "infoset_entries": self.infoset_entries[:infosets].copy(),
            "history_actions": self.history_actions[: self.counts[NUM_HISTORY_ACTIONS]].copy(),
            "history_end": self.history_end[: infosets + 1].copy(),
            "chance_distributions": self.chance_distributions[
                : self.counts[NUM_CHANCE_DISTRIBUTIONS]
            ].copy(),
        }

    def from_arrays(self, stored: Mapping[str, Any]) -> Any:
        """The memory of these; what was learned on the readable rules stays what it was."""
        if "index" in stored:
            return RulesSamplingMemory.from_arrays(stored)
        counts = np.zeros(7, np.int64)
        counts[NUM_INFOSETS], counts[NUM_ENTRIES] = len(stored["hash_keys"]), len(stored["policy"])
        counts[NUM_CHANCE_DISTRIBUTIONS], counts[NUM_HISTORY_ACTIONS] = (
            len(stored["chance_distributions"]),
            len(stored["history_actions"]),
        )
        lotteries = np.zeros((4096, 2), np.int64)
        lotteries[: counts[NUM_CHANCE_DISTRIBUTIONS]] = stored["chance_distributions"]
        given = {
            name: stored[name]
            for name in (
                *COMPILED_SCALARS,
                *COMPILED_TABLES,
                "hash_keys",
                "infoset_entries",
                "history_actions",
            )
        }
        given |= {"history_end": stored["history_end"], "chance_distributions": lotteries}
        return CompiledSamplingMemory(self.game, counts=counts, **given)


def _grow_array(array: Any, used: int) -> Any:
    """The array with room for an iteration behind what is used; pages not written cost nothing."""
    if len(array) >= used + MAX_NODES_PER_ITERATION:
        return array
    longer = np.zeros(
        (used + used // 2 + MAX_NODES_PER_ITERATION + 1, *array.shape[1:]), array.dtype
    )
    longer[:used] = array[:used]
    return longer
