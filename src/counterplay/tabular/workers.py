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

from typing import Any

import numpy as np

from counterplay.kernels import draws
from counterplay.kernels.bundles import Arena, Scratch, Table
from counterplay.kernels.threads import even_parts, num_threads, run_parts
from counterplay.tree import Ints, Tree
from counterplay.tree.arrays import once_per_tree
from counterplay.tree.replaying import augmented
from counterplay.tree.walking import rows

SHARE = 0.16  # of t, divided by the number of workers: about as long is a round


def round_at(t: int, workers: int) -> int:
    """Iterations in a round about iteration t, a power of two: there, multiples of it are merges"""
    return 1 << max(int(t * SHARE / workers).bit_length() - 1, 0)


def next_merge(t: int, workers: int) -> int:
    """The first iteration after t that ends with a merge."""
    later = t + 1
    while rest := later % round_at(later, workers):
        later += round_at(later, workers) - rest
    return later


def walk(tree: Tree, memory: Any, iterations: int, kernel: Any, given: Any, guesses: str) -> None:
    workers = memory.seed.size
    arena = Arena(rows(tree), tree.utility, SLOTS[guesses](tree), tree.num_players)
    rooms = [_scratch(tree) for _ in range(workers)]
    tables = [_table(memory, w) for w in range(workers)]
    parts = even_parts(0, workers, num_threads())
    end = memory.iteration + iterations
    merging = workers > 1 and memory.merges
    while memory.iteration < end:
        begin, last = memory.iteration + 1, end
        if merging:
            last = min(end, next_merge(memory.iteration, workers))

        def work(first: int, after: int, begin: int = begin, last: int = last) -> None:
            for w in range(first, after):
                own = arena, tables[w], rooms[w]
                kernel(begin, last + 1, memory.seed[w], *given, *own)

        run_parts(work, parts)
        memory.iteration = last
        if merging and last % round_at(last, workers) == 0:
            merge(tree, memory, given[1])
    for w, room in enumerate(rooms):
        memory.touched[w] += room.tally[0]


def merge(tree: Tree, memory: Any, learner: tuple[float, float]) -> None:
    """Give all workers the mean of their regrets, and the policy that follows from it."""
    mean = memory.regret.mean(axis=0)
    draws.learn_all(learner, tree.offset, memory.largest.max(axis=0), mean, memory.policy[0])
    memory.regret[:] = mean
    memory.policy[1:] = memory.policy[0]


@once_per_tree
def _no_slots(tree: Tree) -> Ints:
    return _numbered(0, tree.num_players)


@once_per_tree
def _every_slot(tree: Tree) -> Ints:
    return _numbered(tree.num_nodes, tree.num_players)


def _numbered(size: int, players: int) -> Ints:
    slots = np.arange(size * players, dtype=np.int32).reshape(size, players)
    slots.flags.writeable = False
    return slots


SLOTS = {"": _no_slots, "history": _every_slot, "augmented": augmented}  # of guesses


def _table(memory: Any, w: int) -> Table:
    tables = memory.regret, memory.policy, memory.policy_sum, memory.visits, memory.baseline
    return Table(*(table[w] for table in (*tables, memory.largest)))


def _scratch(tree: Tree) -> Scratch:
    """Room for one worker; no array so short that two workers would write to one cache line."""
    depth = max(tree.level.size, 16)
    integers, floats = np.zeros((2, depth), np.int64), np.zeros((4, depth))
    met = np.empty(tree.num_nodes, np.int64)
    return Scratch(np.zeros(16, np.uint64), np.zeros(16, np.int64), met, *integers, *floats)
