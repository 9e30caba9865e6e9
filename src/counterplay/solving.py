"""Run an algorithm on a tree, judging its policy exactly on the way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from counterplay.errors import ConfigError
from counterplay.evaluate import judge
from counterplay.policy import Policy
from counterplay.tree import Tree


class Algorithm(Protocol):
    """Hyper-parameters as fields of a frozen dataclass, and these three methods."""

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
    end, seconds, rate = start + iterations, 0.0, 1
    records: list[Record] = []
    stopped = False
    while not stopped:
        goal = min(next_evaluation(done), end)
        while done < goal and not stopped:
            chunk = min(goal - done, rate)
            began = time.perf_counter()
            memory = algorithm.step(tree, memory, chunk)
            took = time.perf_counter() - began
            seconds += took
            done += chunk
            rate = max(1, min(2 * rate, int(0.1 * chunk / max(took, 1e-9))))
            if getattr(memory, "finished", False):  # an exact method has nothing left to do
                end = goal = done
            if tick:
                tick(done - start)
            stopped = stop is not None and stop()
        policy = algorithm.policy(tree, memory)
        record = Record(done, judge(tree, policy).exploitability, seconds)
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
        seconds=seconds,
        memory=memory,
        records=tuple(records),
        best_policy=best,
        stopped=stopped,
    )


def one_two_five(iteration: int) -> int:
    """The next of 1, 2, 5, 10, 20, 50, ... after `iteration`."""
    power = 10 ** (len(str(iteration)) - 1)
    return next(step * power for step in (1, 2, 5, 10) if step * power > iteration)
