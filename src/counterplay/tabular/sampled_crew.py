"""Several workers on rules that are never unrolled: each with tables that grow, merged by key.

Rounds and merges are those on a tree (`workers`), and so are the bits: an infoset that a worker has
not met yet has no regret there.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from counterplay.kernels import draws
from counterplay.sampled import SizeReport
from counterplay.tabular import workers
from counterplay.tabular.sampled_memory import SampledMemory
from counterplay.tree import Floats

MERGED = ("regret", "policy_sum", "visits", "largest")  # tables laid out like the policy


@dataclass
class SampledCrew:
    """The memories of W workers."""

    members: list[SampledMemory]
    finished: ClassVar[bool] = False

    @classmethod
    def new(cls, seed: int, count: int, guesses: str) -> SampledCrew:
        """Workers that have met nothing, with the seeds they have on a tree."""
        seeds = np.random.SeedSequence(seed).generate_state(count, np.uint64)
        return cls([SampledMemory(0, int(one), guesses) for one in seeds])

    @property
    def iteration(self) -> int:
        return self.members[0].iteration

    @property
    def size(self) -> SizeReport:
        """How much all of them have met."""
        sizes = [member.size for member in self.members]
        return SizeReport(
            self.iteration,
            sum(size.touched for size in sizes),
            len(set().union(*(member.infosets for member in self.members))),
            max(size.num_entries for size in sizes),
            sum(size.num_bytes for size in sizes),
        )

    def advance(
        self,
        iterations: int,
        walk: Callable[[list[SampledMemory], int], list[SampledMemory]],
        learner: tuple[float, float],
    ) -> None:
        """So many iterations; `walk` brings members that many further, on their own."""
        end, count = self.iteration + iterations, len(self.members)
        while self.iteration < end:
            last = min(end, workers.next_merge(self.iteration, count))
            self.members = walk(self.members, last - self.iteration)
            if last % workers.round_at(last, count) == 0:
                self.merge(learner)

    def merge(self, learner: tuple[float, float]) -> None:
        """Give all workers the mean of their regrets, and the policy that follows from it."""
        union = Union.of(self.members)
        mean = union.stacked("regret").mean(axis=0)
        largest, policy = union.stacked("largest").max(axis=0), union.policy.copy()
        for first, names in union.infosets.values():
            draws.learn(learner, first, first + len(names), largest, mean, policy)
        tables = {name: union.stacked(name) for name in MERGED} | {"policy": policy}
        for w, member in enumerate(self.members):
            for name in MERGED:
                setattr(member, name, array("d", tables[name][w].tobytes()))
            member.regret = array("d", mean.tobytes())
            member.policy = array("d", policy.tobytes())
            member.infosets, member.lotteries = dict(union.infosets), dict(union.lotteries)

    def to_arrays(self) -> dict[str, Any]:
        """All of it as arrays and numbers, by worker."""
        inside = {str(w): member.to_arrays() for w, member in enumerate(self.members)}
        return {"iteration": self.iteration, "workers": len(self.members)} | inside

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Any]) -> SampledCrew:
        """The memory that `to_arrays` made these of."""
        members = []
        for w in range(int(stored["workers"])):
            start = f"{w}."
            own = {k.removeprefix(start): v for k, v in stored.items() if k.startswith(start)}
            members.append(SampledMemory.from_arrays(own))
        return cls(members)


@dataclass
class Union:
    """All that workers have met, in the order of the workers: one layout for their tables."""

    members: list[SampledMemory]
    infosets: dict[tuple[int, str], tuple[int, tuple[str, ...]]]
    lotteries: dict[tuple[float, ...], int]
    policy: Floats  # of the first who has met it
    places: list[Any] = field(default_factory=list)  # for each worker, where its entries go

    @classmethod
    def of(cls, members: list[SampledMemory]) -> Union:
        first, *others = members
        found = cls(members, dict(first.infosets), dict(first.lotteries), np.zeros(0))
        policy = array("d", first.policy)
        found.places.append(np.arange(len(policy)))
        for member in others:
            place = np.full(len(member.policy), -1)
            lotteries = [(k, len(key), key) for key, k in member.lotteries.items()]
            infosets = [(k, len(names), key) for key, (k, names) in member.infosets.items()]
            for k, count, chances in lotteries:
                there = found.lotteries.setdefault(chances, len(policy))
                if there == len(policy):
                    policy.extend(member.policy[k : k + count])
                place[k : k + count] = np.arange(there, there + count)
            for k, count, infoset in infosets:
                new = len(policy), member.infosets[infoset][1]
                there, _ = found.infosets.setdefault(infoset, new)
                if there == len(policy):
                    policy.extend(member.policy[k : k + count])
                place[k : k + count] = np.arange(there, there + count)
            found.places.append(place)
        found.policy = np.array(policy)
        return found

    def stacked(self, name: str) -> Floats:
        """The tables of that name [W, entries], zero where a worker has met nothing."""
        table = np.zeros((len(self.members), self.policy.size))
        for row, place, member in zip(table, self.places, self.members, strict=True):
            row[place] = getattr(member, name)
        return table


def what_was_met(memory: Any) -> tuple[Any, Any, Any]:
    """What knows the infosets that one worker or several have met, the average, and the policy."""
    if not isinstance(memory, SampledCrew):
        size = memory.size.num_entries  # a compiled memory has room for more
        return memory, memory.policy_sum[:size], memory.policy[:size]
    union = Union.of(memory.members)
    return union, union.stacked("policy_sum").sum(axis=0), union.policy
