"""One loop for every algorithm on every arena, and the judgement on the way.

`solve` goes through it once; a run (`experiment`) adds a folder and checkpoints.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from counterplay.core.arena import Arena, check_runs_on, is_exact
from counterplay.core.evaluation import judge
from counterplay.core.game import Game
from counterplay.core.policy import as_arena
from counterplay.core.settings import check_type
from counterplay.core.state_io import wait_until_ready
from counterplay.errors import ConfigError
from counterplay.registry import get_registry_name, load_algorithm

if TYPE_CHECKING:
    from counterplay.arenas.tree.arena import TreeArena

CHUNK_SECONDS = 0.1  # seconds of work between two looks at signals
MAX_CHUNK_GROWTH = 8  # times as many iterations in the next moment, at most


class Memory(Protocol):
    """What an algorithm keeps between iterations: numbers and arrays, nothing else."""

    @property
    def iteration(self) -> int:
        """Iterations done."""
        ...

    @property
    def finished(self) -> bool:
        """Whether more iterations would change nothing."""
        ...


class Algorithm(Protocol):
    """Hyper-parameters as fields of a frozen dataclass; what it runs on and needs; three methods.

    What it may ask of an arena is listed in `arena`.

    The memory passed to `step` is gone afterwards: tabular algorithms change it in place, deep ones
    return another.
    """

    @property
    def runs_on(self) -> tuple[str, ...]:
        """What it asks of an arena, any of which will do; of the class, or by its parameters."""
        ...

    required_extra: ClassVar[str]  # the extra to install for it, such as "deep"; or nothing

    def init(self, arena: Any, /, seed: int = 0) -> Any:
        """The memory before the first iteration."""
        ...

    def step(self, arena: Any, memory: Any, /, iterations: int = 1) -> Any:
        """The memory after so many iterations of all players."""
        ...

    def policies(self, arena: Any, memory: Any, /) -> Mapping[str, Any]:
        """Every policy worth judging, by name; the first carries the guarantee."""
        ...


@dataclass(frozen=True)
class Record:
    """What was measured on the way.

    On an arena with exact values that is the exploitability of policies by name, the one with the
    guarantee first. On rules nothing is exact, and it is how much has been met.
    """

    iteration: int
    seconds: float  # spent in the algorithm, the device waited for, judging not counted
    metrics: Mapping[str, float]
    is_exact: bool = True  # whether `measured` is exploitability

    @property
    def exploitability(self) -> float:
        """That of the policy with the guarantee; NaN on rules, where nobody knows it."""
        return next(iter(self.metrics.values())) if self.is_exact else math.nan


@dataclass(frozen=True, repr=False)
class Result:
    """What an algorithm has come to."""

    policies: Mapping[str, Any] = field(repr=False)
    records: tuple[Record, ...] = field(repr=False)
    memory: Any = field(repr=False)
    iterations: int
    seconds: float  # spent in the algorithm
    stopped: bool  # by `stop`, before iterations or target were reached
    best_policy: Any = field(repr=False)  # the least exploitable of those judged

    @property
    def policy(self) -> Any:
        """The policy with the guarantee."""
        return next(iter(self.policies.values()))

    @property
    def exploitability(self) -> float:
        """The last that was measured."""
        return self.records[-1].exploitability

    def __repr__(self) -> str:
        last = self.records[-1]
        how = (
            f"exploitability {last.exploitability:.2e}" if last.is_exact else "on rules, not judged"
        )
        return f"Result({self.iterations:,} iterations in {self.seconds:.2f} s, {how})"

    def _repr_html_(self) -> str:
        from counterplay.display.html import result_html

        return result_html(self)


class SolveSession:
    """An algorithm under way on an arena."""

    def __init__(self, arena: Arena, algorithm: Algorithm, memory: Any, seconds: float = 0.0):
        self.arena, self.algorithm, self.memory = arena, algorithm, memory
        self.seconds, self.chunk_size, self.is_exact = seconds, 1, is_exact(arena)

    @property
    def iteration(self) -> int:
        return int(self.memory.iteration)

    @property
    def finished(self) -> bool:
        """Whether the algorithm has nothing left to do."""
        return bool(self.memory.finished) and self.iteration > 0

    def advance(
        self,
        goal: int,
        tick: Callable[[int], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> bool:
        """Iterate up to `goal`, a moment at a time; whether `stop` ended it.

        Args:
            tick: called with the iteration after every moment.
            stop: asked after every moment; True ends it there.
        """
        while (done := self.iteration) < goal and not self.finished:
            chunk = min(goal - done, self.chunk_size)
            began = time.perf_counter()
            self.memory = self.algorithm.step(self.arena, self.memory, chunk)
            if (
                self.algorithm.required_extra
            ):  # only libraries of extras hand out work that is not done yet
                wait_until_ready(self.memory)
            took = max(time.perf_counter() - began, 1e-9)
            self.seconds += took
            fitting = max(
                1, min(MAX_CHUNK_GROWTH * self.chunk_size, int(CHUNK_SECONDS * chunk / took))
            )
            self.chunk_size = 1 << (
                fitting.bit_length() - 1
            )  # powers of two: few sizes to compile for
            if tick:
                tick(self.iteration)
            if stop and stop():
                return True
        return False

    def policies(self) -> Mapping[str, Any]:
        """Every policy there is by now."""
        return self.algorithm.policies(self.arena, self.memory)

    def measure(self, policies: Mapping[str, Any]) -> Record:
        """Measure these policies, exactly where the arena can."""
        arena: Any = self.arena
        if self.is_exact:
            measured = {name: judge(arena, one).exploitability for name, one in policies.items()}
            return Record(self.iteration, self.seconds, measured)
        return Record(self.iteration, self.seconds, self.memory.size.metrics(), is_exact=False)


def solve(
    arena: TreeArena | Game | str | Any,
    algorithm: Algorithm | str | None = None,
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
    """Iterate, and judge the policy at 1, 2, 5, 10, 20, 50, ... iterations and at the end.

    With a target it is judged more often, at 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, ...

    Args:
        arena: a tree; a game or its name, whose tree is built; or the rules (`SampledGame`) for
            algorithms that sample: then nothing can be judged, and the records say how much has
            been met.
        algorithm: an algorithm, or its name such as "cfr_plus" or "dcfr(gamma=3)"; by default
            "cfr_plus" where values are exact, "outcome_sampling" on rules.
        iterations: iterations to do, all players updated in each.
        target: stop at the first evaluation with at most this exploitability.
        evaluate_at: the next iteration to evaluate at, given the last one; replaces 1, 2, 5, ...
        report: called with every record.
        tick: called with the iterations done, several times a second.
        stop: asked several times a second; True ends the run after the current iteration.
        memory: what an earlier result had, to go on from there.

    >>> import counterplay as cp
    >>> result = cp.solve("kuhn_poker", cp.algorithms.CFRPlus(), iterations=1000)
    >>> print(f"{result.exploitability:.2e}")
    8.74e-05
    >>> [record.iteration for record in result.records]
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    """
    if isinstance(iterations, bool) or not isinstance(iterations, Integral):
        raise ConfigError(f"iterations is {iterations!r}, must be a whole number")
    if iterations < 1:
        raise ConfigError(f"iterations is {iterations}, must be at least 1")
    arena = as_arena(arena)
    algorithm = as_algorithm(default_algorithm(arena) if algorithm is None else algorithm)
    check_runs_on(algorithm, arena)
    exact = is_exact(arena)
    if target is not None and not exact:
        raise ConfigError(f"a target needs exact exploitability, which {arena.spec} as rules lacks")
    course = SolveSession(
        arena, algorithm, algorithm.init(arena, seed) if memory is None else memory
    )
    next_evaluation = evaluate_at or (
        next_three_per_decade if target is None else next_ten_per_decade
    )
    start = course.iteration
    end, records, stopped, least = start + iterations, [], False, math.inf
    count = (lambda now: tick(now - start)) if tick else None
    while not stopped:
        goal = min(next_evaluation(course.iteration), end)
        stopped = course.advance(goal, count, stop)
        policies = course.policies() if exact else {}
        name, policy = next(iter(policies.items()), ("", None))
        record = course.measure({name: policy} if exact else {})
        records.append(record)
        if exact and not record.exploitability > least:
            best, least = policy, record.exploitability
        if report:
            report(record)
        reached = target is not None and record.exploitability <= target
        if course.iteration >= end or course.finished or reached:
            stopped = False
            break
    policies = policies or course.policies()
    return Result(
        policies=policies,
        records=tuple(records),
        memory=course.memory,
        iterations=course.iteration,
        seconds=course.seconds,
        stopped=stopped,
        best_policy=best if exact else next(iter(policies.values())),
    )


def default_algorithm(arena: Arena) -> str:
    """Return the name of an algorithm that runs on an arena with its usual settings."""
    return "cfr_plus" if is_exact(arena) else "outcome_sampling"


def as_algorithm(source: Any) -> Any:
    """The algorithm, its parameters of the right types; a name is loaded."""
    if isinstance(source, str):
        return load_algorithm(source)
    if isinstance(source, type):
        raise ConfigError(f"{source.__name__} is a class: write {source.__name__}()")
    if is_dataclass(source):
        name = get_registry_name(source)
        for one in fields(source):
            check_type(f"{name}: {one.name}", getattr(source, one.name), one.default)
    return source


def next_three_per_decade(iteration: int) -> int:
    """The next of 1, 2, 5, 10, 20, 50, ... after `iteration`."""
    return _next_step((1.0, 2.0, 5.0, 10.0), iteration)


def next_ten_per_decade(iteration: int) -> int:
    """The next of ten in a decade, so that a target is overshot by a quarter at most."""
    return _next_step((1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0), iteration)


def _next_step(steps: tuple[float, ...], iteration: int) -> int:
    power = 10 ** (len(str(iteration)) - 1)
    return next(round(step * power) for step in steps if step * power >= iteration + 1)
