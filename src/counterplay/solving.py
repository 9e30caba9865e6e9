"""Run an algorithm on a tree, judging its policy exactly on the way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from counterplay.errors import ConfigError
from counterplay.evaluate import judge
from counterplay.game import Game
from counterplay.policy import Policy
from counterplay.registry import spec_of
from counterplay.sampled import SampledGame, SampledPolicy, SizeReport
from counterplay.tree import Tree


class Algorithm(Protocol):
    """Hyper-parameters as fields of a frozen dataclass, and these three methods.

    Those that sample say `on_rules = True`: they take a `SampledGame` wherever they take a tree.
    """

    def init(self, tree: Tree, seed: int = 0) -> Any:
        """The memory before the first iteration."""
        ...

    def step(self, tree: Tree, memory: Any, iterations: int = 1) -> Any:
        """The memory after so many iterations of all players.

        It counts them in `memory.iteration`, and may say `memory.finished` when more is useless.
        """
        ...

    def policy(self, tree: Tree, memory: Any) -> Policy:
        """The policy with the guarantee, usually the average."""
        ...


@dataclass(frozen=True)
class Record:
    """One evaluation on the way."""

    iteration: int
    exploitability: float
    seconds: float  # spent in the algorithm, evaluation not counted


@dataclass(frozen=True)
class Result:
    """What `solve` returns."""

    policy: Policy
    exploitability: float
    iterations: int
    seconds: float  # spent in the algorithm
    memory: Any = field(repr=False)
    records: tuple[Record, ...] = field(repr=False)
    best_policy: Policy = field(repr=False)  # the least exploitable of those evaluated
    stopped: bool = False  # by `stop`, before iterations or target were reached


@dataclass(frozen=True)
class SampledResult:
    """What `solve_sampled` returns."""

    policy: SampledPolicy
    size: SizeReport
    seconds: float  # spent in the algorithm
    memory: Any = field(repr=False)
    stopped: bool = False  # by `stop`, before all iterations were done


class _Pace:
    """Steps of about a tenth of a second, and the time they take."""

    def __init__(self) -> None:
        self.seconds, self.rate = 0.0, 1

    def step(self, algorithm: Algorithm, tree: Any, memory: Any, most: int) -> tuple[Any, int]:
        """The memory after some iterations, at most so many, and how many they were."""
        chunk = min(most, self.rate)
        began = time.perf_counter()
        memory = algorithm.step(tree, memory, chunk)
        took = time.perf_counter() - began
        self.seconds += took
        self.rate = max(1, min(2 * self.rate, int(0.1 * chunk / max(took, 1e-9))))
        return memory, chunk


def solve(
    tree: Tree,
    algorithm: Algorithm,
    *,
    iterations: int = 1000,
    seed: int = 0,
    target: float | None = None,
    evaluate_at: Callable[[int], int] | None = None,
    report: Callable[[Record], None] | None = None,
    tick: Callable[[int], None] | None = None,
    stop: Callable[[], bool] | None = None,
    memory: Any = None,
) -> Result:
    """Iterate, and evaluate the policy at 1, 2, 5, 10, 20, 50, ... iterations and at the end.

    Args:
        iterations: iterations to do, all players updated in each.
        target: stop at the first evaluation with at most this exploitability.
        evaluate_at: the next iteration to evaluate at, given the last one; replaces 1, 2, 5, ...
        report: called with every evaluation.
        tick: called with the iterations done, several times a second.
        stop: asked several times a second; True ends the run after the current iteration.
        memory: what an earlier result had, to go on from there.
    """
    if iterations < 1:
        raise ConfigError(f"iterations is {iterations}, must be at least 1")
    memory = algorithm.init(tree, seed) if memory is None else memory
    next_evaluation = evaluate_at or one_two_five
    done = start = int(memory.iteration)
    end, pace = start + iterations, _Pace()
    records: list[Record] = []
    stopped = False
    while not stopped:
        goal = min(next_evaluation(done), end)
        while done < goal and not stopped:
            memory, chunk = pace.step(algorithm, tree, memory, goal - done)
            done += chunk
            if getattr(memory, "finished", False):  # an exact method has nothing left to do
                end = goal = done
            if tick:
                tick(done - start)
            stopped = stop is not None and stop()
        policy = algorithm.policy(tree, memory)
        record = Record(done, judge(tree, policy).exploitability, pace.seconds)
        if not records or record.exploitability <= min(r.exploitability for r in records):
            best = policy
        records.append(record)
        if report:
            report(record)
        if done >= end or (target is not None and record.exploitability <= target):
            stopped = False
            break
    return Result(
        policy=policy,
        exploitability=record.exploitability,
        iterations=done,
        seconds=pace.seconds,
        memory=memory,
        records=tuple(records),
        best_policy=best,
        stopped=stopped,
    )


def solve_sampled(
    game: Game,
    algorithm: Any,
    *,
    iterations: int = 1000,
    seed: int = 0,
    report: Callable[[SizeReport], None] | None = None,
    tick: Callable[[int], None] | None = None,
    stop: Callable[[], bool] | None = None,
    memory: Any = None,
) -> SampledResult:
    """Iterate on rules that are never unrolled, for games too large for a tree.

    There is no exact judgement without a tree. What is reported, at 1, 2, 5, 10, ... iterations and
    at the end, is how much has been met and how large the tables are. Arguments as for `solve`.

    Raises:
        ConfigError: the algorithm does not sample.
    """
    if iterations < 1:
        raise ConfigError(f"iterations is {iterations}, must be at least 1")
    if not getattr(algorithm, "on_rules", False):
        raise ConfigError(
            f"{spec_of(algorithm)} needs a tree; to sample the rules take an algorithm such as "
            "external_sampling or outcome_sampling"
        )
    rules = SampledGame(game)
    memory = algorithm.init(rules, seed) if memory is None else memory
    start, pace, stopped = memory.iteration, _Pace(), False
    end = start + iterations
    while memory.iteration < end and not stopped:
        goal = min(one_two_five(memory.iteration), end)
        while memory.iteration < goal and not stopped:
            memory, _ = pace.step(algorithm, rules, memory, goal - memory.iteration)
            if tick:
                tick(memory.iteration - start)
            stopped = stop is not None and stop()
        if report:
            report(memory.size)
    policy = algorithm.policy(rules, memory)
    return SampledResult(policy, memory.size, pace.seconds, memory, memory.iteration < end)


def one_two_five(iteration: int) -> int:
    """The next of 1, 2, 5, 10, 20, 50, ... after `iteration`."""
    power = 10 ** (len(str(iteration)) - 1)
    return next(step * power for step in (1, 2, 5, 10) if step * power > iteration)
