"""Run an algorithm for long: evaluate, checkpoint, stop in good order, go on later.

    result = run("config.json")            # or new_run(...).advance(...) to see its folder first
    result = resume(result.folder)

However often a run is interrupted, its memory and its records are those of a run that never was.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from counterplay.arena import check_runs_on
from counterplay.errors import ConfigError, FileError, GameError, RunError
from counterplay.experiment import folder as files
from counterplay.experiment.checkpoint import (
    Progress,
    load_checkpoint,
    remove_leftovers,
    write_checkpoint,
)
from counterplay.experiment.config import Config, load_config
from counterplay.experiment.folder import FencedError, Metrics, Record, load_metrics
from counterplay.experiment.population import write_population
from counterplay.experiment.process import (
    CHECKPOINT,
    STOP,
    Pulse,
    note_finished,
    noted,
    requests,
    withdraw,
)
from counterplay.game import Game
from counterplay.generated.choosing import build_arena
from counterplay.memory import ailment, layout, misfit
from counterplay.policy import Policy
from counterplay.solving import Course
from counterplay.tree import Tree
from counterplay.tree.unrolling import build_tree

PATIENCE = 600.0  # seconds without a checkpoint, at most

Build = Callable[[Game], Tree]


@dataclass(frozen=True)
class RunResult:
    """What a run has come to."""

    folder: Path
    config: Config
    step: int
    seconds: float  # spent in the algorithm
    records: tuple[Record, ...] = field(repr=False)
    policies: Mapping[str, Policy] = field(repr=False)
    memory: Any = field(repr=False)
    stopped: bool = False  # by `stop`, before the end


@dataclass
class Run:
    """A run, new or as its folder has it; reading one changes nothing before `advance`."""

    folder: Path
    config: Config
    course: Course = field(repr=False)
    at: Progress
    records: list[Record] = field(repr=False)
    last_checkpoint: str = ""  # its file and step
    note: str = ""  # something the user should know
    changed: bool = False  # config.json is to be written again

    def __post_init__(self) -> None:
        self.recorded = self.at.recorded
        self.least, self.judged = math.inf, 0  # of so many records
        self.layout = layout(self.course.memory)
        self.check_owner: Callable[[], None] = lambda: None  # raises once the run is another's

    @property
    def step(self) -> int:
        """Iterations done."""
        return self.course.iteration

    @property
    def seconds(self) -> float:
        """Spent in the algorithm."""
        return self.course.seconds

    @property
    def best(self) -> float | None:
        """The least exploitability so far, of the policy with the guarantee."""
        if not self.records or self.config.arena == "rules":
            return None
        name = files.policy_names(self.records[:1])[0]
        while self.judged < len(self.records):
            self.least = min(self.least, self.records[self.judged][name])
            self.judged += 1
        return self.least

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return self.recorded == self.step and self.step >= self._end()

    def advance(
        self,
        *,
        report: Callable[[Record], None] | None = None,
        tick: Callable[[int], None] | None = None,
        stop: Callable[[], bool] | None = None,
        tensorboard: bool = False,
    ) -> RunResult:
        """Run to the end, or until `stop` says so.

        Args:
            report: called with every new record.
            tick: called with the step, several times a second.
            stop: asked several times a second; True checkpoints and returns.
            tensorboard: also write the records as TensorBoard events.
        """
        if self.finished:
            self._tidy()
            with on_device(self.config):
                return self._result(stopped=False)
        writer: Any = _tensorboard(self.folder, self.step) if tensorboard else None
        old = requests(self.folder)  # once it is locked, it is seen as running and may be asked
        with (
            contextlib.closing(writer) if writer else contextlib.nullcontext(),
            Metrics(self.folder, self.at.metrics_bytes, self.at.metrics_sha256) as metrics,
            noted(pulse := Pulse(self.folder, old), self),
            on_device(self.config),
        ):
            self.check_owner = pulse.check
            self._prepare()

            def note(record: Record) -> None:
                for name in files.policy_names([record]) if writer else []:
                    writer.add_scalar(f"exploitability/{name}", record[name], record["step"])
                if report:
                    report(record)

            stopped = self._loop(metrics, pulse, note, tick or (lambda step: None), stop)
            write_population(self.folder, self.course.arena, self.course.memory)
            result = self._result(stopped)
            self._beat(pulse, force=True)
            pulse.end("stopped" if stopped else "finished", self.step)
            return result

    def _tidy(self) -> None:
        """Finish what a process left undone that was killed after its last checkpoint."""
        whole = self.folder, self.at.metrics_bytes, self.at.metrics_sha256
        with contextlib.suppress(RunError), Metrics(*whole):
            remove_leftovers(self.folder)
            note_finished(self.folder, self.step)

    def _prepare(self) -> None:
        """Bring the folder in order, now that it is this process's alone."""
        remove_leftovers(self.folder)
        if self.changed:
            files.write_json(self.folder / files.CONFIG, self.config.to_json())
            self.changed = False
        if self.step:
            files.add_environment(self.folder, self.config.seed, self.step)

    def _loop(
        self,
        metrics: Metrics,
        pulse: Pulse,
        report: Callable[[Record], None],
        tick: Callable[[int], None],
        stop: Callable[[], bool] | None,
    ) -> bool:
        """Step, evaluate and checkpoint; whether `stop`, or a request to stop, ended it."""
        saved, asked = time.monotonic(), False
        every = self.config.checkpoint_every

        def pause() -> bool:
            nonlocal asked
            self._beat(pulse)
            asked = asked or pulse.asked(STOP) or (stop is not None and stop())
            return asked or pulse.asked(CHECKPOINT) or time.monotonic() - saved > PATIENCE

        while not self.finished:
            # the next evaluation may be due already: a signal came before it
            goal = min(self._next_evaluation(), (self.step // every + 1) * every, self._end())
            paused = self.course.advance(goal, tick, pause)
            if asked and self.step < self._end():
                self._checkpoint(metrics)
                return True
            if self.step == self._next_evaluation():
                report(self._evaluate(metrics))
            if self.step % every == 0 or self.step == self._end() or paused:
                self._checkpoint(metrics)
                saved = time.monotonic()
                withdraw(self.folder, CHECKPOINT)
        return False

    def _beat(self, pulse: Pulse, force: bool = False) -> None:
        pulse.beat(self.step, self.seconds, self.best, force)

    def _end(self) -> int:
        """The last step: `max_steps`, or this one if the algorithm says that it has finished."""
        return self.step if self.course.finished else self.config.max_steps

    def _next_evaluation(self) -> int:
        """The first step from here on that is to be evaluated and is not yet."""
        every, before = self.config.evaluate_every, max(self.recorded, self.step - 1)
        regular = (before // every + 1) * every if before else 1
        return min(regular, max(self._end(), self.recorded + 1))

    def _evaluate(self, metrics: Metrics) -> Record:
        self._check_health()
        try:
            found = self.course.record(self.course.policies())
        except ConfigError as error:  # no policy can be made of this memory
            raise self._failure(str(error)) from error
        for name, value in found.measured.items():
            if not math.isfinite(value):
                raise self._failure(f"the exploitability of {name} is {value}")
        record: Record = {"step": found.iteration, "seconds": round(found.seconds, 6)}
        record |= found.measured
        self.check_owner()
        with self._naming_the_checkpoint():
            metrics.add(record)
        self.records.append(record)
        self.recorded = self.step
        return record

    def _checkpoint(self, metrics: Metrics) -> None:
        self._check_health()
        problem = misfit(self.layout, layout(self.course.memory))
        if problem:
            name = self.config.algorithm_name
            raise self._failure(f"{name} has changed the shape of its memory: {problem}")
        self.check_owner()
        with self._naming_the_checkpoint():
            self.at = Progress(self.step, self.seconds, self.recorded, *metrics.sync())
            game, memory = self.course.arena.spec, self.course.memory
            whole = self.folder, self.config, game, self.at, memory
            path = write_checkpoint(*whole, self.check_owner)
        self.last_checkpoint = f"{path} (step {self.step})"

    def _check_health(self) -> None:
        problem = ailment(self.course.memory, getattr(self.config.algorithm, "watched", ()))
        if problem:
            raise self._failure(problem)

    def _failure(self, problem: str) -> RunError:
        kept = self.last_checkpoint
        text = f"the last good checkpoint is {kept}" if kept else "there is no checkpoint yet"
        return RunError(f"{self.folder} stopped at step {self.step}: {problem}; {text}")

    @contextlib.contextmanager
    def _naming_the_checkpoint(self) -> Any:
        try:
            yield
        except FencedError:
            raise
        except RunError as error:
            raise self._failure(str(error)) from error

    def _result(self, stopped: bool) -> RunResult:
        return RunResult(
            folder=self.folder,
            config=self.config,
            step=self.step,
            seconds=self.seconds,
            records=tuple(self.records),
            policies=self.course.policies(),
            memory=self.course.memory,
            stopped=stopped,
        )


def new_run(
    config: str | Path | Mapping[str, Any] | Config,
    folder: str | Path | None = None,
    *,
    runs: str | Path = "runs",
    overrides: Mapping[str, Any] | None = None,
    build: Build = build_tree,
) -> Run:
    """Check a config and make the folder of its run, `runs/<name>/<time>` unless one is given."""
    checked = load_config(config, overrides)
    with on_device(checked):
        arena = _arena(checked, build)
        memory = checked.algorithm.init(arena, checked.seed)
    place = files.create_folder(checked, folder, runs)
    return Run(place, checked, Course(arena, checked.algorithm, memory), Progress(), [])


@contextlib.contextmanager
def discard_if_refused(made: Run) -> Iterator[None]:
    """Inside a new run begins; if it is refused before its first step, its folder is removed."""
    try:
        yield
    except (ConfigError, GameError):
        if not made.step:
            files.remove_folder(made.folder)
            with contextlib.suppress(OSError):  # there are other runs of that name
                if made.folder.parent.name == made.config.name:
                    made.folder.parent.rmdir()
        raise


def open_run(folder: str | Path, *, steps: int | None = None, build: Build = build_tree) -> Run:
    """Read a run from its folder, at its latest checkpoint.

    Args:
        steps: replaces `max_steps`, to run longer than was planned.
    """
    place = Path(folder)
    if files.find_runs([place]) != [place]:
        raise ConfigError(f"{place} is not the folder of a run")
    config = files.read_config(place)
    longer = config if steps is None else config.with_steps(steps)
    with on_device(config):
        arena = _arena(config, build)
        memory = config.algorithm.init(arena, config.seed)
        found = load_checkpoint(place, config, arena.spec)
        memory = found.memory(memory, arena) if found else memory
    at = found.progress if found else Progress()
    if longer.max_steps < at.step:
        raise ConfigError(f"{place} is at step {at.step} already, beyond {longer.max_steps}")
    records = load_metrics(place, at.metrics_bytes)
    kept = f"{found.path} (step {at.step})" if found else ""
    note = found.note if found else f"{place} has no checkpoint: starting from the first step"
    course = Course(arena, config.algorithm, memory, at.seconds)
    return Run(place, longer, course, at, records, kept, note, longer != config)


def run(
    config: str | Path | Mapping[str, Any] | Config,
    folder: str | Path | None = None,
    *,
    runs: str | Path = "runs",
    overrides: Mapping[str, Any] | None = None,
    tensorboard: bool = False,
    **options: Any,
) -> RunResult:
    """Run a config from the first step; `options` are those of `Run.advance`."""
    if tensorboard:
        tensorboard_writer()  # complains before a folder is made
    made = new_run(config, folder, runs=runs, overrides=overrides)
    with discard_if_refused(made):
        return made.advance(tensorboard=tensorboard, **options)


def resume(folder: str | Path, *, steps: int | None = None, **options: Any) -> RunResult:
    """Go on with a run where its latest checkpoint stands; a finished one is left alone."""
    return open_run(folder, steps=steps).advance(**options)


def load_run(folder: str | Path, *, build: Build = build_tree) -> RunResult:
    """What a run has learnt by its latest checkpoint: its policies, records and config.

    The run itself is not touched; it may still be going on.
    """
    found = open_run(folder, build=build)
    if not found.last_checkpoint:
        raise FileError(f"{found.folder} has no checkpoint yet")
    with on_device(found.config):
        return found._result(stopped=False)


def _arena(config: Config, build: Build) -> Any:
    """What the algorithm plays on: the tree, or what else the config says."""
    tree = config.arena == "tree"
    arena = build(config.game) if tree else build_arena(config.game, config.arena)
    check_runs_on(config.algorithm, arena)
    return arena


def on_device(config: Config) -> AbstractContextManager[Any]:
    """Inside, the arrays of deep algorithms live on the device that the config names."""
    if config.algorithm.needs != "deep":
        return contextlib.nullcontext()
    jax = importlib.import_module("jax")
    try:
        return jax.default_device(jax.devices(config.device)[0])
    except RuntimeError as error:
        raise ConfigError(f"device is {config.device!r}, but JAX finds none here") from error


def tensorboard_writer() -> Any:
    """The class that writes TensorBoard events, if its package is there."""
    try:
        return importlib.import_module("tensorboardX").SummaryWriter
    except ImportError as error:
        install = "pip install 'counterplay[tensorboard]'"
        raise ConfigError(f"TensorBoard events need the package tensorboardX: {install}") from error


def _tensorboard(folder: Path, step: int) -> Any:
    purge = {"purge_step": step + 1} if step else {}
    place = str(folder / "tensorboard")
    return tensorboard_writer()(place, filename_suffix=f".{step}", **purge)
