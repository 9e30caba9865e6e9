"""Workers of the Monte Carlo CFR family, which sample in parallel and merge their regrets.

In one iteration each of W workers does one traversal per player, on its own tables. A merge gives
all workers the mean of their regrets, R = R_old + mean of (R_w - R_old), so that an iteration
counts once however many traversals estimate it. (With the sum, W workers that have found the same
correction would apply it W times.) Sums of policies are added up over the workers when a policy is
read. Baselines stay with their worker.

The rounds between two merges grow with t and are shorter the more workers there are
(`round_length`): rounds of a fixed length would be too long at first, when regrets are mostly
noise, and too short later.

Workers are numbered units of work. The threads or machines that run them do not change a bit.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np

from counterplay.algorithms.mccfr.memory import (
    CompiledSamplingMemory,
    InfosetIndex,
    RulesSamplingMemory,
    TreeSamplingMemory,
    new_scratch,
    worker_seeds,
)
from counterplay.arenas.rules import SizeReport
from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.arenas.tree.replay import number_augmented_actions
from counterplay.arenas.tree.sampling_view import node_rows
from counterplay.core.arena import Floats, Ints
from counterplay.kernels.runtime.threads import num_threads, run_in_threads, split_evenly
from counterplay.kernels.sampling import primitives
from counterplay.kernels.sampling.types import GameNodes, RegretTables

ROUND_FRACTION = 0.16  # a round has about t * ROUND_FRACTION / W iterations
WORKER_TABLES = ("regret", "policy_sum", "last_averaged", "max_abs_value")  # one entry per action

LearnerSettings = tuple[float, float]  # lowest regret, rate of Hedge (0: regret matching)
Entries: TypeAlias = "array[float] | Floats"


def round_length(t: int, num_workers: int) -> int:
    """Return the length of rounds near iteration t, a power of two; merges are at its multiples."""
    return 1 << max(int(t * ROUND_FRACTION / num_workers).bit_length() - 1, 0)


def next_merge_iteration(t: int, num_workers: int) -> int:
    """Return the first iteration after t that ends with a merge."""
    later = t + 1
    while rest := later % round_length(later, num_workers):
        later += round_length(later, num_workers) - rest
    return later


def run_workers(
    tree: TreeArena,
    memory: TreeSamplingMemory,
    iterations: int,
    kernel: Callable[..., object],
    arguments: tuple[Any, ...],
    baseline_kind: str,
) -> None:
    """Run a kernel on a tree, by all workers, with merges.

    Args:
        tree: the tree of the game.
        memory: the memory, changed in place.
        iterations: number of iterations.
        kernel: a kernel of `kernels.sampling`.
        arguments: its arguments after the seed; the second is the `LearnerSettings`.
        baseline_kind: "augmented", "history" or "", a key of `BASELINE_SLOTS`.
    """
    num_workers = memory.seed.size
    slots = BASELINE_SLOTS[baseline_kind](tree)
    nodes = GameNodes(node_rows(tree), tree.utility, slots, tree.num_players)
    scratches = [new_scratch(tree.num_nodes, tree.level_offset.size) for _ in range(num_workers)]
    tables = [worker_tables(memory, w) for w in range(num_workers)]
    parts = split_evenly(0, num_workers, num_threads())
    end = memory.iteration + iterations
    has_merges = num_workers > 1 and memory.can_merge
    while memory.iteration < end:
        begin, last = memory.iteration + 1, end
        if has_merges:
            last = min(end, next_merge_iteration(memory.iteration, num_workers))

        def run(first: int, after: int, begin: int = begin, last: int = last) -> None:
            for w in range(first, after):
                seed = memory.seed[w]
                kernel(begin, last + 1, seed, *arguments, nodes, tables[w], scratches[w])

        run_in_threads(run, parts)
        memory.iteration = last
        if has_merges and last % round_length(last, num_workers) == 0:
            merge_workers(tree, memory, arguments[1])
    for w, scratch in enumerate(scratches):
        memory.nodes_touched[w] += scratch.counters[0]


def merge_workers(tree: TreeArena, memory: TreeSamplingMemory, learner: LearnerSettings) -> None:
    """Give all workers the mean of their regrets, and the policy that follows from it."""
    mean = memory.regret.mean(axis=0)
    primitives.update_all_policies(
        learner, tree.offset, memory.max_abs_value.max(axis=0), mean, memory.policy[0]
    )
    memory.regret[:] = mean
    memory.policy[1:] = memory.policy[0]


def worker_tables(memory: TreeSamplingMemory, worker: int) -> RegretTables:
    """Return one worker's rows of a memory as kernels take them."""
    return RegretTables(*(getattr(memory, name)[worker] for name in RegretTables._fields))


@cache_on_tree
def _empty_slots(tree: TreeArena) -> Ints:
    return _number_slots(0, tree.num_players)


@cache_on_tree
def _history_slots(tree: TreeArena) -> Ints:
    return _number_slots(tree.num_nodes, tree.num_players)


def _number_slots(size: int, num_players: int) -> Ints:
    slots = np.arange(size * num_players, dtype=np.int32).reshape(size, num_players)
    slots.flags.writeable = False
    return slots


# functions from a tree to the indices of baselines [N, P], by kind of baseline
BASELINE_SLOTS = {
    "": _empty_slots,
    "history": _history_slots,
    "augmented": number_augmented_actions,
}


@dataclass
class WorkerMemories:
    """The memories of W workers on rules."""

    memories: list[RulesSamplingMemory]
    finished: ClassVar[bool] = False

    @classmethod
    def new(cls, seed: int, num_workers: int, baseline_kind: str) -> WorkerMemories:
        """Return empty memories, with the same seeds as on a tree."""
        seeds = worker_seeds(seed, num_workers)
        return cls([RulesSamplingMemory(0, int(state), baseline_kind) for state in seeds])

    @property
    def iteration(self) -> int:
        """The number of iterations done."""
        return self.memories[0].iteration

    @property
    def size(self) -> SizeReport:
        """The nodes and infosets that all workers together have visited, and their memory."""
        sizes = [memory.size for memory in self.memories]
        return SizeReport(
            iteration=self.iteration,
            nodes_touched=sum(size.nodes_touched for size in sizes),
            num_infosets=len(set().union(*(memory.infosets for memory in self.memories))),
            num_entries=max(size.num_entries for size in sizes),
            num_bytes=sum(size.num_bytes for size in sizes),
        )

    def advance(
        self,
        iterations: int,
        run: Callable[[list[RulesSamplingMemory], int], list[RulesSamplingMemory]],
        learner: LearnerSettings,
    ) -> None:
        """Run iterations, with merges.

        Args:
            iterations: number of iterations.
            run: runs the workers of some memories for a number of iterations, without merges.
            learner: settings of the local learner, for merges.
        """
        end, num_workers = self.iteration + iterations, len(self.memories)
        while self.iteration < end:
            last = min(end, next_merge_iteration(self.iteration, num_workers))
            self.memories = run(self.memories, last - self.iteration)
            if last % round_length(last, num_workers) == 0:
                self.merge(learner)

    def merge(self, learner: LearnerSettings) -> None:
        """Give all workers the mean of their regrets, and the policy that follows from it."""
        merged = MergedTables.from_memories(self.memories)
        tables = {name: merged.stack_table(name) for name in WORKER_TABLES}
        mean, policy = tables["regret"].mean(axis=0), merged.policy.copy()
        max_abs_value = tables["max_abs_value"].max(axis=0)
        for first, names in merged.infosets.values():
            last = first + len(names)
            primitives.update_policy(learner, first, last, max_abs_value, mean, policy)
        for w, memory in enumerate(self.memories):
            for name in WORKER_TABLES:
                setattr(memory, name, array("d", tables[name][w].tobytes()))
            memory.regret = array("d", mean.tobytes())
            memory.policy = array("d", policy.tobytes())
            memory.infosets = dict(merged.infosets)
            memory.chance_distributions = dict(merged.chance_distributions)

    def to_arrays(self) -> dict[str, Any]:
        """Return the memories as arrays and numbers, by worker."""
        arrays = {str(w): memory.to_arrays() for w, memory in enumerate(self.memories)}
        return {"iteration": self.iteration, "workers": len(self.memories)} | arrays

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Any]) -> WorkerMemories:
        """Return the memories that `to_arrays` has stored."""
        memories = []
        for w in range(int(stored["workers"])):
            prefix = f"{w}."
            arrays = {k.removeprefix(prefix): v for k, v in stored.items() if k.startswith(prefix)}
            memories.append(RulesSamplingMemory.from_arrays(arrays))
        return cls(memories)


@dataclass
class MergedTables:
    """One layout for the tables of all workers on rules.

    It has the entries of the first worker, then those that the second adds, and so on.
    """

    memories: list[RulesSamplingMemory]
    infosets: InfosetIndex
    chance_distributions: dict[tuple[float, ...], int]
    policy: Floats  # [E] of the first worker that has visited the infoset
    entry_indices: list[Ints] = field(default_factory=list)  # index of each worker's entries

    @classmethod
    def from_memories(cls, memories: list[RulesSamplingMemory]) -> MergedTables:
        """Merge the layouts of the workers' memories."""
        first, *others = memories
        merged = cls(memories, dict(first.infosets), dict(first.chance_distributions), np.zeros(0))
        policy = array("d", first.policy)
        merged.entry_indices.append(np.arange(len(policy)))
        for memory in others:
            merged.entry_indices.append(merged._add_memory(memory, policy))
        merged.policy = np.array(policy)
        return merged

    def _add_memory(self, memory: RulesSamplingMemory, policy: array[float]) -> Ints:
        """Add what a memory has visited, and its policy; return the indices of its entries."""
        indices = np.full(len(memory.policy), -1)

        def assign(start: int, count: int, target: int) -> None:
            if target == len(policy):
                policy.extend(memory.policy[start : start + count])
            indices[start : start + count] = np.arange(target, target + count)

        for probabilities, start in memory.chance_distributions.items():
            target = self.chance_distributions.setdefault(probabilities, len(policy))
            assign(start, len(probabilities), target)
        for infoset, (start, names) in memory.infosets.items():
            target, _ = self.infosets.setdefault(infoset, (len(policy), names))
            assign(start, len(names), target)
        return indices

    def stack_table(self, name: str) -> Floats:
        """Return the workers' tables of a name [W, E]; zero where a worker has no entry."""
        table = np.zeros((len(self.memories), self.policy.size))
        for row, indices, memory in zip(table, self.entry_indices, self.memories, strict=True):
            row[indices] = getattr(memory, name)
        return table


def collect_tables(
    memory: RulesSamplingMemory | CompiledSamplingMemory | WorkerMemories,
) -> tuple[RulesSamplingMemory | CompiledSamplingMemory | MergedTables, Entries, Entries]:
    """Return the record that holds `infosets`, the sum of policies and the current policy."""
    if not isinstance(memory, WorkerMemories):
        size = memory.size.num_entries  # a compiled memory has free space behind
        return memory, memory.policy_sum[:size], memory.policy[:size]
    merged = MergedTables.from_memories(memory.memories)
    return merged, merged.stack_table("policy_sum").sum(axis=0), merged.policy
