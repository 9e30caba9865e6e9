"""The loop that runs any algorithm on any arena and evaluates its policies.

`solve` runs it once; a run (`experiment`) adds a folder and checkpoints.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

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

MAX_TIMED_CHUNK = 64  # iterations between two looks at the clock of `step_within`
CHUNK_SECONDS = 0.1  # target time of a chunk of iterations, after which `stop` is called
MAX_CHUNK_GROWTH = 8  # ratio of the sizes of two successive chunks, at most
DEFAULT_ITERATIONS = 1000  # of algorithms that do not declare another number
NUM_WARM_UP_ITERATIONS = 2  # which may compile, and do not count when the speed is measured
SPEED_SHARE = 0.05  # of the time given, to measure the speed

ArenaT = TypeVar("ArenaT", bound=Arena, contravariant=True)
MemoryT = TypeVar("MemoryT")


class Memory(Protocol):
    """The state of an algorithm between iterations: numbers and arrays, nothing else."""

    @property
    def iteration(self) -> int:
        """Number of iterations so far."""
        ...

    @property
    def finished(self) -> bool:
        """Whether further iterations would change nothing."""
        ...


class Algorithm(Protocol[ArenaT, MemoryT]):
    """The protocol of algorithms: frozen dataclasses of hyper-parameters with three methods.

    An algorithm is generic in its arena and in its memory, whose protocol is `Memory`. The memory
    passed to `step` must not be used again: tabular algorithms change it in place, deep algorithms
    return a new one.

    Example:
        >>> import counterplay as cp
        >>> algorithm, tree = cp.algorithms.CFRPlus(), cp.build_tree("kuhn_poker")
        >>> algorithm.runs_on
        ('sequences', 'vectors')
        >>> memory = algorithm.step(tree, algorithm.init(tree), 10)
        >>> memory.iteration, list(algorithm.policies(tree, memory))
        (10, ['linear_average', 'average', 'current'])
    """

    required_extra: ClassVar[str]  # the extra of the package that it needs, such as "deep", or ""

    @property
    def runs_on(self) -> tuple[str, ...]:
        """Capabilities of arenas, any one of which is enough; see `core.arena`."""
        ...

    def init(self, arena: ArenaT, /, seed: int = 0) -> MemoryT:
        """Return the memory before the first iteration."""
        ...

    def step(self, arena: ArenaT, memory: MemoryT, /, iterations: int = 1) -> MemoryT:
        """Return the memory after further iterations, each of which updates all players."""
        ...

    def policies(self, arena: ArenaT, memory: MemoryT, /) -> Mapping[str, Any]:
        """Return the policies by name; the first is the one with the convergence guarantee."""
        ...


AnyAlgorithm = Algorithm[Any, Any]  # of any arena and memory


class ScheduledAlgorithm(Protocol):
    """The further attributes of algorithms whose parameters change over a run, such as networks."""

    default_iterations: ClassVar[int]  # that `solve` takes if it is given none

    def with_schedule(self, iterations: int) -> AnyAlgorithm:
        """Return the algorithm with schedules over these iterations, unless the user set them."""
        ...


def step_within(
    arena: Any, algorithm: Any, seconds: float, max_chunk: int = MAX_TIMED_CHUNK
) -> tuple[Any, bool]:
    """Return the memory after a time limit, and whether the first iteration was in time.

    Args:
        arena: the game.
        algorithm: an algorithm that runs on the arena.
        seconds: time limit; at least one iteration is done.
        max_chunk: most iterations between two looks at the clock.
    """
    deadline, chunk = time.perf_counter() + seconds, 1
    memory = algorithm.step(arena, algorithm.init(arena), 1)
    is_in_time = memory.finished or time.perf_counter() < deadline
    while time.perf_counter() < deadline and not memory.finished:
        chunk = min(2 * chunk, max_chunk)
        memory = algorithm.step(arena, memory, chunk)
    return memory, is_in_time


def with_schedule(algorithm: Any, iterations: int | None = None) -> Any:
    """Return an algorithm whose schedules, if it has any, span a number of iterations.

    Args:
        algorithm: any algorithm.
        iterations: the length of the run; by default that of `default_iterations`.

    Example:
        >>> import counterplay as cp
        >>> with_schedule(cp.load_algorithm("ppo"), 500).schedule_iterations
        500
        >>> with_schedule(cp.load_algorithm("ppo(schedule_iterations=2000)")).schedule_iterations
        2000
        >>> with_schedule(cp.algorithms.CFRPlus(), 500)
        CFRPlus(delay=0)
    """
    if not hasattr(algorithm, "with_schedule"):
        return algorithm
    return algorithm.with_schedule(iterations or default_iterations(algorithm))


def default_iterations(algorithm: Any) -> int:
    """Return the number of iterations that `solve` takes for an algorithm if it is given none."""
    return int(getattr(algorithm, "default_iterations", DEFAULT_ITERATIONS))


def iterations_within(arena: Any, algorithm: Any, seconds: float, seed: int = 0) -> int:
    """Return how many iterations take about this many seconds after the first, rounded down.

    The speed is that of the first iterations, which are repeated by `solve`.

    Raises:
        ConfigError: `seconds` is not positive and finite, or too short for one iteration.
    """
    if not 0.0 < seconds < math.inf:
        raise ConfigError(f"seconds is {seconds}, must be positive and finite")
    session = SolveSession(arena, algorithm, algorithm.init(arena, seed))
    session.advance(NUM_WARM_UP_ITERATIONS)
    start, first = session.seconds, session.iteration
    while session.seconds - start < SPEED_SHARE * seconds and not session.finished:
        session.advance(session.iteration + session.chunk_size)
    if session.finished:
        return session.iteration
    speed = (session.iteration - first) / max(session.seconds - start, 1e-9)
    count = int(speed * seconds)
    if count < 1:
        problem = f"too short for one iteration of {type(algorithm).__name__}, which takes"
        raise ConfigError(f"seconds is {seconds:g}, {problem} about {1.0 / speed:.2g}")
    unit = 10 ** max(0, len(str(count)) - 2)
    return count // unit * unit


@dataclass(frozen=True)
class Record:
    """A measurement during a run.

    On an exact arena the metrics are the exploitabilities of policies by name, first that of the
    policy with the guarantee. On rules they are counts of visited nodes and infosets.
    """

    iteration: int
    seconds: float  # spent in the algorithm, device included, without evaluation
    metrics: Mapping[str, float]
    is_exact: bool = True  # whether `metrics` are exploitabilities

    @property
    def exploitability(self) -> float:
        """That of the policy with the guarantee; NaN on rules, where it is unknown."""
        return next(iter(self.metrics.values())) if self.is_exact else math.nan


@dataclass(frozen=True, repr=False)
class Result:
    """The result of `solve`: policies, measurements, and the memory to continue from.

    Example:
        >>> import counterplay as cp
        >>> result = cp.solve("kuhn_poker", "cfr", iterations=100)
        >>> result.iterations, list(result.policies)
        (100, ['average', 'linear_average', 'current'])
        >>> result.policy is result.policies["average"]
        True
        >>> result.records[-1].exploitability == result.exploitability
        True
    """

    policies: Mapping[str, Any] = field(repr=False)  # by name
    records: tuple[Record, ...] = field(repr=False)
    memory: Any = field(repr=False)
    iterations: int
    seconds: float  # spent in the algorithm
    stopped: bool  # by `stop`, before the last iteration or the target
    best_policy: Any = field(repr=False)  # the least exploitable of all records
    planned_iterations: int = 0  # the number given, or chosen by `solve`

    @property
    def policy(self) -> Any:
        """The policy with the guarantee."""
        return next(iter(self.policies.values()))

    @property
    def exploitability(self) -> float:
        """Exploitability of `policy`; NaN on rules."""
        return self.records[-1].exploitability

    def __repr__(self) -> str:
        last = self.records[-1]
        summary = (
            f"exploitability {last.exploitability:.2e}" if last.is_exact else "on rules, not judged"
        )
        return f"Result({self.iterations:,} iterations in {self.seconds:.2f} s, {summary})"

    def _repr_html_(self) -> str:
        from counterplay.display.html import result_html

        return result_html(self)


class SolveSession:
    """An algorithm that runs on an arena, with its memory and time so far."""

    def __init__(self, arena: Arena, algorithm: AnyAlgorithm, memory: Any, seconds: float = 0.0):
        self.arena, self.algorithm, self.memory = arena, algorithm, memory
        self.seconds, self.chunk_size, self.is_exact = seconds, 1, is_exact(arena)

    @property
    def iteration(self) -> int:
        return int(self.memory.iteration)

    @property
    def finished(self) -> bool:
        """Whether further iterations would change nothing."""
        return bool(self.memory.finished) and self.iteration > 0

    def advance(
        self,
        goal: int,
        tick: Callable[[int], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> bool:
        """Iterate up to iteration `goal`, in chunks of about `CHUNK_SECONDS`.

        Args:
            goal: the iteration to reach.
            tick: called with the iteration after every chunk.
            stop: called after every chunk; True ends the loop.

        Returns:
            Whether `stop` ended the loop.
        """
        while self.iteration < goal and not self.finished:
            self._run_chunk(min(goal - self.iteration, self.chunk_size))
            if tick:
                tick(self.iteration)
            if stop and stop():
                return True
        return False

    def _run_chunk(self, iterations: int) -> None:
        """Iterate, measure the time, and choose the size of the next chunk."""
        start = time.perf_counter()
        self.memory = self.algorithm.step(self.arena, self.memory, iterations)
        if self.algorithm.required_extra:  # only libraries of extras compute asynchronously
            wait_until_ready(self.memory)
        seconds = max(time.perf_counter() - start, 1e-9)
        self.seconds += seconds
        limit = MAX_CHUNK_GROWTH * self.chunk_size
        size = max(1, min(limit, int(CHUNK_SECONDS * iterations / seconds)))
        self.chunk_size = 1 << (size.bit_length() - 1)  # powers of two: few sizes to compile for

    def policies(self) -> Mapping[str, Any]:
        """Return the current policies by name."""
        return self.algorithm.policies(self.arena, self.memory)

    def measure(self, policies: Mapping[str, Any]) -> Record:
        """Return the exploitability of policies on an exact arena, or the counts on rules."""
        if self.is_exact:
            metrics = {
                name: judge(self.arena, policy).exploitability for name, policy in policies.items()
            }
            return Record(self.iteration, self.seconds, metrics)
        return Record(self.iteration, self.seconds, self.memory.size.metrics(), is_exact=False)


def solve(
    arena: TreeArena | Game | str | Any,
    algorithm: AnyAlgorithm | str | None = None,
    *,
    iterations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    target: float | None = None,
    evaluate_at: Callable[[int], int] | None = None,
    report: Callable[[Record], None] | None = None,
    tick: Callable[[int], None] | None = None,
    stop: Callable[[], bool] | None = None,
    memory: Any = None,
) -> Result:
    """Run an algorithm, and evaluate its policy at 1, 2, 5, 10, 20, 50, ... and the last iteration.

    With a target it is evaluated more often, at 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, ...
    Learning rates, temperatures and other schedules of an algorithm span the iterations of the
    call, unless the algorithm sets `schedule_iterations`; `Result.planned_iterations` tells them.

    Args:
        arena: a tree; a game or its name, whose tree is built; or the rules (`RulesArena`) for
            algorithms that sample: then exploitability is not measured, and the records count
            visited nodes and infosets.
        algorithm: an algorithm, or its name such as "cfr_plus" or "dcfr(gamma=3)"; by default
            "cfr_plus" on exact arenas, "outcome_sampling" on rules.
        iterations: number of iterations, each of which updates all players; by default the
            algorithm's `default_iterations`, or 1000.
        seconds: in place of `iterations`, the time that they take after the first; their number
            is chosen by the speed of the first few, see `iterations_within`.
        seed: seed of all random numbers.
        target: stop at the first evaluation with at most this exploitability, and at the latest
            after the iterations; schedules span these.
        evaluate_at: returns the next iteration to evaluate at, given the current one.
        report: called with every record.
        tick: called with the number of iterations so far, several times a second.
        stop: called several times a second; True ends the run after the current iteration.
        memory: the memory of an earlier result, to continue from.

    Returns:
        The policies, the records and the memory.

    Raises:
        ConfigError: the algorithm does not run on the arena, or an argument is out of range.

    Example:
        >>> import counterplay as cp
        >>> result = cp.solve("kuhn_poker", cp.algorithms.CFRPlus(), iterations=1000)
        >>> print(f"{result.exploitability:.2e}")
        8.74e-05
        >>> [record.iteration for record in result.records]
        [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    """
    check_budget(iterations, seconds)
    arena = as_arena(arena)
    algorithm = as_algorithm(default_algorithm(arena) if algorithm is None else algorithm)
    check_runs_on(algorithm, arena)
    exact = is_exact(arena)
    if target is not None and not exact:
        raise ConfigError(f"a target needs exact exploitability, which {arena.spec} as rules lacks")
    if seconds is not None:
        iterations = iterations_within(arena, algorithm, seconds, seed)
    iterations = iterations or default_iterations(algorithm)
    first = 0 if memory is None else memory.iteration
    runner: AnyAlgorithm = with_schedule(algorithm, first + iterations)
    session = SolveSession(arena, runner, runner.init(arena, seed) if memory is None else memory)
    next_evaluation = evaluate_at or (
        next_three_per_decade if target is None else next_ten_per_decade
    )
    start = session.iteration
    end, records, stopped, lowest = start + iterations, [], False, math.inf
    count = (lambda iteration: tick(iteration - start)) if tick else None
    while not stopped:
        stopped = session.advance(min(next_evaluation(session.iteration), end), count, stop)
        policies = session.policies() if exact else {}
        name, policy = next(iter(policies.items()), ("", None))
        record = session.measure({name: policy} if exact else {})
        records.append(record)
        if exact and not record.exploitability > lowest:
            best_policy, lowest = policy, record.exploitability
        if report:
            report(record)
        is_reached = target is not None and record.exploitability <= target
        if session.iteration >= end or session.finished or is_reached:
            stopped = False
            break
    policies = policies or session.policies()
    return Result(
        policies=policies,
        records=tuple(records),
        memory=session.memory,
        iterations=session.iteration,
        seconds=session.seconds,
        stopped=stopped,
        best_policy=best_policy if exact else next(iter(policies.values())),
        planned_iterations=iterations,
    )


def check_budget(iterations: object, seconds: object) -> None:
    """Raise ConfigError unless at most one is given, and iterations are a positive integer."""
    if iterations is None:
        return
    if seconds is not None:
        raise ConfigError("iterations and seconds are both given; leave out one of them")
    if isinstance(iterations, bool) or not isinstance(iterations, Integral):
        raise ConfigError(f"iterations is {iterations!r}, must be a whole number")
    if iterations < 1:
        raise ConfigError(f"iterations is {iterations}, must be at least 1")


def default_algorithm(arena: Arena) -> str:
    """Return the name of an algorithm that runs on an arena with its default parameters."""
    return "cfr_plus" if is_exact(arena) else "outcome_sampling"


def as_algorithm(source: Any) -> Any:
    """Return an algorithm with parameters of the right types; a name is loaded.

    Raises:
        ConfigError: the name is unknown, or a parameter has the wrong type.
    """
    if isinstance(source, str):
        return load_algorithm(source)
    if isinstance(source, type):
        raise ConfigError(f"{source.__name__} is a class: write {source.__name__}()")
    if is_dataclass(source):
        name = get_registry_name(source)
        for parameter in fields(source):
            value = getattr(source, parameter.name)
            check_type(f"{name}: {parameter.name}", value, parameter.default)
    return source


def next_three_per_decade(iteration: int) -> int:
    """Return the next of 1, 2, 5, 10, 20, 50, ... after an iteration."""
    return _next_step((1.0, 2.0, 5.0, 10.0), iteration)


def next_ten_per_decade(iteration: int) -> int:
    """Return the next of ten per decade, so that a target is overshot by a quarter at most."""
    return _next_step((1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0), iteration)


def _next_step(steps: tuple[float, ...], iteration: int) -> int:
    power = 10 ** (len(str(iteration)) - 1)
    return next(round(step * power) for step in steps if step * power >= iteration + 1)
