"""Workers of the Monte Carlo family.

In one iteration each of W workers does one walk per player, on tables of its own. Now and
then all go on with the mean of their regrets, R = R_old + mean of (R_w - R_old), so that an
iteration counts once however many walks estimate it. (With the sum, workers who have all found the
same correction would make it W times.) Averages of policies are added up. Guesses at values
(baselines) stay with their worker. Rounds between two merges grow with t and are shorter the more
workers there are (`round_at`): rounds of a fixed length would be too long at first, when regrets
are all noise, and too short later. Workers are numbered units of work: who walks them, threads or
machines, does not change a bit.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from counterplay.algorithms.mccfr.memory import RulesSamplingMemory
from counterplay.arenas.rules import SizeReport
from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.arenas.tree.replay import number_augmented_actions
from counterplay.arenas.tree.sampling_view import node_rows
from counterplay.core.arena import Floats, Ints
from counterplay.kernels.runtime.threads import num_threads, run_in_threads, split_evenly
from counterplay.kernels.sampling import primitives
from counterplay.kernels.sampling.types import GameNodes, RegretTables, Scratch

ROUND_FRACTION = 0.16  # of t, divided by the number of workers: about as long is a round


def round_length(t: int, num_workers: int) -> int:
    """Iterations in a round about iteration t, a power of two: there, multiples of it are merges"""
    return 1 << max(int(t * ROUND_FRACTION / num_workers).bit_length() - 1, 0)


def next_merge_iteration(t: int, num_workers: int) -> int:
    """The first iteration after t that ends with a merge."""
    later = t + 1
    while rest := later % round_length(later, num_workers):
        later += round_length(later, num_workers) - rest
    return later


def run_workers(
    tree: TreeArena, memory: Any, iterations: int, kernel: Any, settings: Any, baseline_kind: str
) -> None:
    workers = memory.seed.size
    arena = GameNodes(
        node_rows(tree), tree.utility, BASELINE_SLOTS[baseline_kind](tree), tree.num_players
    )
    rooms = [_new_scratch(tree) for _ in range(workers)]
    tables = [_worker_tables(memory, w) for w in range(workers)]
    parts = split_evenly(0, workers, num_threads())
    end = memory.iteration + iterations
    merging = workers > 1 and memory.can_merge
    while memory.iteration < end:
        begin, last = memory.iteration + 1, end
        if merging:
            last = min(end, next_merge_iteration(memory.iteration, workers))

        def work(first: int, after: int, begin: int = begin, last: int = last) -> None:
            for w in range(first, after):
                own = arena, tables[w], rooms[w]
                kernel(begin, last + 1, memory.seed[w], *settings, *own)

        run_in_threads(work, parts)
        memory.iteration = last
        if merging and last % round_length(last, workers) == 0:
            merge_workers(tree, memory, settings[1])
    for w, room in enumerate(rooms):
        memory.nodes_touched[w] += room.counters[0]


def merge_workers(tree: TreeArena, memory: Any, learner: tuple[float, float]) -> None:
    """Give all workers the mean of their regrets, and the policy that follows from it."""
    mean = memory.regret.mean(axis=0)
    primitives.update_all_policies(
        learner, tree.offset, memory.max_abs_value.max(axis=0), mean, memory.policy[0]
    )
    memory.regret[:] = mean
    memory.policy[1:] = memory.policy[0]


@cache_on_tree
def _empty_slots(tree: TreeArena) -> Ints:
    return _number_slots(0, tree.num_players)


@cache_on_tree
def _history_slots(tree: TreeArena) -> Ints:
    return _number_slots(tree.num_nodes, tree.num_players)


def _number_slots(size: int, players: int) -> Ints:
    slots = np.arange(size * players, dtype=np.int32).reshape(size, players)
    slots.flags.writeable = False
    return slots


BASELINE_SLOTS = {
    "": _empty_slots,
    "history": _history_slots,
    "augmented": number_augmented_actions,
}  # of guesses


def _worker_tables(memory: Any, w: int) -> RegretTables:
    tables = memory.regret, memory.policy, memory.policy_sum, memory.last_averaged, memory.baseline
    return RegretTables(*(table[w] for table in (*tables, memory.max_abs_value)))


def _new_scratch(tree: TreeArena) -> Scratch:
    """Room for one worker; no array so short that two workers would write to one cache line."""
    depth = max(tree.level_offset.size, 16)
    integers, floats = np.zeros((2, depth), np.int64), np.zeros((4, depth))
    met = np.empty(tree.num_nodes, np.int64)
    return Scratch(np.zeros(16, np.uint64), np.zeros(16, np.int64), met, *integers, *floats)


WORKER_TABLES = (
    "regret",
    "policy_sum",
    "last_averaged",
    "max_abs_value",
)  # tables laid out like the policy


@dataclass
class WorkerMemories:
    """The memories of W workers."""

    memories: list[RulesSamplingMemory]
    finished: ClassVar[bool] = False

    @classmethod
    def new(cls, seed: int, num_workers: int, baseline_kind: str) -> WorkerMemories:
        """Workers that have met nothing, with the seeds they have on a tree."""
        seeds = np.random.SeedSequence(seed).generate_state(num_workers, np.uint64)
        return cls([RulesSamplingMemory(0, int(one), baseline_kind) for one in seeds])

    @property
    def iteration(self) -> int:
        return self.memories[0].iteration

    @property
    def size(self) -> SizeReport:
        """How much all of them have met."""
        sizes = [member.size for member in self.memories]
        return SizeReport(
            self.iteration,
            sum(size.nodes_touched for size in sizes),
            len(set().union(*(member.infosets for member in self.memories))),
            max(size.num_entries for size in sizes),
            sum(size.num_bytes for size in sizes),
        )

    def advance(
        self,
        iterations: int,
        walk: Callable[[list[RulesSamplingMemory], int], list[RulesSamplingMemory]],
        learner: tuple[float, float],
    ) -> None:
        """So many iterations; `walk` brings members that many further, on their own."""
        end, count = self.iteration + iterations, len(self.memories)
        while self.iteration < end:
            last = min(end, next_merge_iteration(self.iteration, count))
            self.memories = walk(self.memories, last - self.iteration)
            if last % round_length(last, count) == 0:
                self.merge(learner)

    def merge(self, learner: tuple[float, float]) -> None:
        """Give all workers the mean of their regrets, and the policy that follows from it."""
        union = MergedTables.from_memories(self.memories)
        mean = union.stack_table("regret").mean(axis=0)
        largest, policy = union.stack_table("max_abs_value").max(axis=0), union.policy.copy()
        for first, names in union.infosets.values():
            primitives.update_policy(learner, first, first + len(names), largest, mean, policy)
        tables = {name: union.stack_table(name) for name in WORKER_TABLES} | {"policy": policy}
        for w, member in enumerate(self.memories):
            for name in WORKER_TABLES:
                setattr(member, name, array("d", tables[name][w].tobytes()))
            member.regret = array("d", mean.tobytes())
            member.policy = array("d", policy.tobytes())
            member.infosets, member.chance_distributions = (
                dict(union.infosets),
                dict(union.chance_distributions),
            )

    def to_arrays(self) -> dict[str, Any]:
        """All of it as arrays and numbers, by worker."""
        inside = {str(w): member.to_arrays() for w, member in enumerate(self.memories)}
        return {"iteration": self.iteration, "workers": len(self.memories)} | inside

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Any]) -> WorkerMemories:
        """The memory that `to_arrays` made these of."""
        members = []
        for w in range(int(stored["workers"])):
            start = f"{w}."
            own = {k.removeprefix(start): v for k, v in stored.items() if k.startswith(start)}
            members.append(RulesSamplingMemory.from_arrays(own))
        return cls(members)


@dataclass
class MergedTables:
    """All that workers have met, in the order of the workers: one layout for their tables."""

    memories: list[RulesSamplingMemory]
    infosets: dict[tuple[int, str], tuple[int, tuple[str, ...]]]
    chance_distributions: dict[tuple[float, ...], int]
    policy: Floats  # of the first who has met it
    entry_indices: list[Any] = field(default_factory=list)  # for each worker, where its entries go

    @classmethod
    def from_memories(cls, members: list[RulesSamplingMemory]) -> MergedTables:
        first, *others = members
        found = cls(members, dict(first.infosets), dict(first.chance_distributions), np.zeros(0))
        policy = array("d", first.policy)
        found.entry_indices.append(np.arange(len(policy)))
        for member in others:
            place = np.full(len(member.policy), -1)
            lotteries = [(k, len(key), key) for key, k in member.chance_distributions.items()]
            infosets = [(k, len(names), key) for key, (k, names) in member.infosets.items()]
            for k, count, chances in lotteries:
                there = found.chance_distributions.setdefault(chances, len(policy))
                if there == len(policy):
                    policy.extend(member.policy[k : k + count])
                place[k : k + count] = np.arange(there, there + count)
            for k, count, infoset in infosets:
                new = len(policy), member.infosets[infoset][1]
                there, _ = found.infosets.setdefault(infoset, new)
                if there == len(policy):
                    policy.extend(member.policy[k : k + count])
                place[k : k + count] = np.arange(there, there + count)
            found.entry_indices.append(place)
        found.policy = np.array(policy)
        return found

    def stack_table(self, name: str) -> Floats:
        """The tables of that name [W, entries], zero where a worker has met nothing."""
        table = np.zeros((len(self.memories), self.policy.size))
        for row, place, member in zip(table, self.entry_indices, self.memories, strict=True):
            row[place] = getattr(member, name)
        return table


def collect_tables(memory: Any) -> tuple[Any, Any, Any]:
    """What knows the infosets that one worker or several have met, the average, and the policy."""
    if not isinstance(memory, WorkerMemories):
        size = memory.size.num_entries  # a compiled memory has room for more
        return memory, memory.policy_sum[:size], memory.policy[:size]
    union = MergedTables.from_memories(memory.memories)
    return union, union.stack_table("policy_sum").sum(axis=0), union.policy
