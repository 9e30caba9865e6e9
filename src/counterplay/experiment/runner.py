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

from counterplay.arenas.build import build_arena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.build import build_tree
from counterplay.core.arena import check_runs_on
from counterplay.core.game import Game
from counterplay.core.policy import Policy
from counterplay.core.solve import SolveSession
from counterplay.core.state_io import find_invalid_value, find_layout_mismatch, memory_layout
from counterplay.errors import ConfigError, FileError, GameError, RunError
from counterplay.experiment import run_folder as files
from counterplay.experiment.checkpoint import (
    RunProgress,
    load_checkpoint,
    remove_temporary_files,
    write_checkpoint,
)
from counterplay.experiment.config import RunConfig, load_config
from counterplay.experiment.population import write_population
from counterplay.experiment.run_folder import (
    MetricsRecord,
    MetricsWriter,
    RunTakenOverError,
    load_metrics,
)
from counterplay.experiment.run_status import (
    CHECKPOINT_REQUEST,
    STOP_REQUEST,
    Heartbeat,
    note_finished,
    pending_requests,
    remove_requests,
    track_process,
)

MAX_SECONDS_BETWEEN_CHECKPOINTS = 600.0  # seconds without a checkpoint, at most

BuildTree = Callable[[Game], TreeArena]


@dataclass(frozen=True)
class RunResult:
    """What a run has come to."""

    folder: Path
    config: RunConfig
    step: int
    seconds: float  # spent in the algorithm
    records: tuple[MetricsRecord, ...] = field(repr=False)
    policies: Mapping[str, Policy] = field(repr=False)
    memory: Any = field(repr=False)
    stopped: bool = False  # by `stop`, before the end


@dataclass
class Run:
    """A run, new or as its folder has it; reading one changes nothing before `advance`."""

    folder: Path
    config: RunConfig
    session: SolveSession = field(repr=False)
    progress: RunProgress
    records: list[MetricsRecord] = field(repr=False)
    last_checkpoint: str = ""  # its file and step
    note: str = ""  # something the user should know
    config_changed: bool = False  # config.json is to be written again

    def __post_init__(self) -> None:
        self.last_recorded_step = self.progress.recorded
        self.lowest_exploitability, self.num_scanned_records = math.inf, 0  # of so many records
        self.memory_layout = memory_layout(self.session.memory)
        self.check_ownership: Callable[[], None] = lambda: None  # raises once the run is another's

    @property
    def step(self) -> int:
        """Iterations done."""
        return self.session.iteration

    @property
    def seconds(self) -> float:
        """Spent in the algorithm."""
        return self.session.seconds

    @property
    def best_exploitability(self) -> float | None:
        """The least exploitability so far, of the policy with the guarantee."""
        if not self.records or self.config.arena == "rules":
            return None
        name = files.policy_names(self.records[:1])[0]
        while self.num_scanned_records < len(self.records):
            self.lowest_exploitability = min(
                self.lowest_exploitability, self.records[self.num_scanned_records][name]
            )
            self.num_scanned_records += 1
        return self.lowest_exploitability

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return self.last_recorded_step == self.step and self.step >= self._last_step()

    def advance(
        self,
        *,
        report: Callable[[MetricsRecord], None] | None = None,
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
            self._clean_up_finished()
            with use_device(self.config):
                return self._build_result(stopped=False)
        writer: Any = _open_tensorboard(self.folder, self.step) if tensorboard else None
        old = pending_requests(
            self.folder
        )  # once it is locked, it is seen as running and may be asked
        with (
            contextlib.closing(writer) if writer else contextlib.nullcontext(),
            MetricsWriter(
                self.folder, self.progress.metrics_bytes, self.progress.metrics_sha256
            ) as metrics,
            track_process(pulse := Heartbeat(self.folder, old), self),
            use_device(self.config),
        ):
            self.check_ownership = pulse.check_ownership
            self._prepare_folder()

            def record_and_report(record: MetricsRecord) -> None:
                for name in files.policy_names([record]) if writer else []:
                    writer.add_scalar(f"exploitability/{name}", record[name], record["step"])
                if report:
                    report(record)

            stopped = self._run_loop(
                metrics, pulse, record_and_report, tick or (lambda step: None), stop
            )
            write_population(self.folder, self.session.arena, self.session.memory)
            result = self._build_result(stopped)
            self._send_heartbeat(pulse, force=True)
            pulse.record_end("stopped" if stopped else "finished", self.step)
            return result

    def _clean_up_finished(self) -> None:
        """Finish what a process left undone that was killed after its last checkpoint."""
        whole = self.folder, self.progress.metrics_bytes, self.progress.metrics_sha256
        with contextlib.suppress(RunError), MetricsWriter(*whole):
            remove_temporary_files(self.folder)
            note_finished(self.folder, self.step)

    def _prepare_folder(self) -> None:
        """Bring the folder in order, now that it is this process's alone."""
        remove_temporary_files(self.folder)
        if self.config_changed:
            files.write_json(self.folder / files.CONFIG_FILE, self.config.to_json())
            self.config_changed = False
        if self.step:
            files.record_resume_environment(self.folder, self.config.seed, self.step)

    def _run_loop(
        self,
        metrics: MetricsWriter,
        heartbeat: Heartbeat,
        report: Callable[[MetricsRecord], None],
        tick: Callable[[int], None],
        stop: Callable[[], bool] | None,
    ) -> bool:
        """Step, evaluate and checkpoint; whether `stop`, or a request to stop, ended it."""
        saved, asked = time.monotonic(), False
        every = self.config.checkpoint_every

        def should_pause() -> bool:
            nonlocal asked
            self._send_heartbeat(heartbeat)
            asked = asked or heartbeat.is_requested(STOP_REQUEST) or (stop is not None and stop())
            return (
                asked
                or heartbeat.is_requested(CHECKPOINT_REQUEST)
                or time.monotonic() - saved > MAX_SECONDS_BETWEEN_CHECKPOINTS
            )

        while not self.finished:
            # the next evaluation may be due already: a signal came before it
            goal = min(self._next_evaluation(), (self.step // every + 1) * every, self._last_step())
            paused = self.session.advance(goal, tick, should_pause)
            if asked and self.step < self._last_step():
                self._write_checkpoint(metrics)
                return True
            if self.step == self._next_evaluation():
                report(self._evaluate(metrics))
            if self.step % every == 0 or self.step == self._last_step() or paused:
                self._write_checkpoint(metrics)
                saved = time.monotonic()
                remove_requests(self.folder, CHECKPOINT_REQUEST)
        return False

    def _send_heartbeat(self, heartbeat: Heartbeat, force: bool = False) -> None:
        heartbeat.beat(self.step, self.seconds, self.best_exploitability, force)

    def _last_step(self) -> int:
        """The last step: `max_steps`, or this one if the algorithm says that it has finished."""
        return self.step if self.session.finished else self.config.max_steps

    def _next_evaluation(self) -> int:
        """The first step from here on that is to be evaluated and is not yet."""
        every, before = self.config.evaluate_every, max(self.last_recorded_step, self.step - 1)
        regular = (before // every + 1) * every if before else 1
        return min(regular, max(self._last_step(), self.last_recorded_step + 1))

    def _evaluate(self, metrics: MetricsWriter) -> MetricsRecord:
        self._check_memory()
        try:
            found = self.session.measure(self.session.policies())
        except ConfigError as error:  # no policy can be made of this memory
            raise self._run_error(str(error)) from error
        for name, value in found.metrics.items():
            if not math.isfinite(value):
                raise self._run_error(f"the exploitability of {name} is {value}")
        record: MetricsRecord = {"step": found.iteration, "seconds": round(found.seconds, 6)}
        record |= found.metrics
        self.check_ownership()
        with self._add_checkpoint_to_errors():
            metrics.append(record)
        self.records.append(record)
        self.last_recorded_step = self.step
        return record

    def _write_checkpoint(self, metrics: MetricsWriter) -> None:
        self._check_memory()
        problem = find_layout_mismatch(self.memory_layout, memory_layout(self.session.memory))
        if problem:
            name = self.config.algorithm_name
            raise self._run_error(f"{name} has changed the shape of its memory: {problem}")
        self.check_ownership()
        with self._add_checkpoint_to_errors():
            self.progress = RunProgress(
                self.step, self.seconds, self.last_recorded_step, *metrics.sync()
            )
            game, memory = self.session.arena.spec, self.session.memory
            whole = self.folder, self.config, game, self.progress, memory
            path = write_checkpoint(*whole, self.check_ownership)
        self.last_checkpoint = f"{path} (step {self.step})"

    def _check_memory(self) -> None:
        problem = find_invalid_value(
            self.session.memory, getattr(self.config.algorithm, "monitored_paths", ())
        )
        if problem:
            raise self._run_error(problem)

    def _run_error(self, problem: str) -> RunError:
        kept = self.last_checkpoint
        text = f"the last good checkpoint is {kept}" if kept else "there is no checkpoint yet"
        return RunError(f"{self.folder} stopped at step {self.step}: {problem}; {text}")

    @contextlib.contextmanager
    def _add_checkpoint_to_errors(self) -> Any:
        try:
            yield
        except RunTakenOverError:
            raise
        except RunError as error:
            raise self._run_error(str(error)) from error

    def _build_result(self, stopped: bool) -> RunResult:
        return RunResult(
            folder=self.folder,
            config=self.config,
            step=self.step,
            seconds=self.seconds,
            records=tuple(self.records),
            policies=self.session.policies(),
            memory=self.session.memory,
            stopped=stopped,
        )


def new_run(
    config: str | Path | Mapping[str, Any] | RunConfig,
    folder: str | Path | None = None,
    *,
    runs_folder: str | Path = "runs",
    overrides: Mapping[str, Any] | None = None,
    build: BuildTree = build_tree,
) -> Run:
    """Check a config and make the folder of its run, `runs/<name>/<time>` unless one is given."""
    checked = load_config(config, overrides)
    with use_device(checked):
        arena = _build_arena(checked, build)
        memory = checked.algorithm.init(arena, checked.seed)
    place = files.create_run_folder(checked, folder, runs_folder)
    return Run(place, checked, SolveSession(arena, checked.algorithm, memory), RunProgress(), [])


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


def open_run(
    folder: str | Path, *, max_steps: int | None = None, build: BuildTree = build_tree
) -> Run:
    """Read a run from its folder, at its latest checkpoint.

    Args:
        steps: replaces `max_steps`, to run longer than was planned.
    """
    place = Path(folder)
    if files.find_runs([place]) != [place]:
        raise ConfigError(f"{place} is not the folder of a run")
    config = files.load_run_config(place)
    longer = config if max_steps is None else config.with_max_steps(max_steps)
    with use_device(config):
        arena = _build_arena(config, build)
        memory = config.algorithm.init(arena, config.seed)
        found = load_checkpoint(place, config, arena.spec)
        memory = found.restore_memory(memory, arena) if found else memory
    at = found.progress if found else RunProgress()
    if longer.max_steps < at.step:
        raise ConfigError(f"{place} is at step {at.step} already, beyond {longer.max_steps}")
    records = load_metrics(place, at.metrics_bytes)
    kept = f"{found.path} (step {at.step})" if found else ""
    note = (
        found.fallback_reason
        if found
        else f"{place} has no checkpoint: starting from the first step"
    )
    course = SolveSession(arena, config.algorithm, memory, at.seconds)
    return Run(place, longer, course, at, records, kept, note, longer != config)


def run(
    config: str | Path | Mapping[str, Any] | RunConfig,
    folder: str | Path | None = None,
    *,
    runs_folder: str | Path = "runs",
    overrides: Mapping[str, Any] | None = None,
    tensorboard: bool = False,
    **options: Any,
) -> RunResult:
    """Run a config from the first step; `options` are those of `Run.advance`."""
    if tensorboard:
        tensorboard_writer_class()  # complains before a folder is made
    made = new_run(config, folder, runs_folder=runs_folder, overrides=overrides)
    with discard_if_refused(made):
        return made.advance(tensorboard=tensorboard, **options)


def resume(folder: str | Path, *, max_steps: int | None = None, **options: Any) -> RunResult:
    """Go on with a run where its latest checkpoint stands; a finished one is left alone."""
    return open_run(folder, max_steps=max_steps).advance(**options)


def load_run(folder: str | Path, *, build: BuildTree = build_tree) -> RunResult:
    """What a run has learnt by its latest checkpoint: its policies, records and config.

    The run itself is not touched; it may still be going on.
    """
    found = open_run(folder, build=build)
    if not found.last_checkpoint:
        raise FileError(f"{found.folder} has no checkpoint yet")
    with use_device(found.config):
        return found._build_result(stopped=False)


def _build_arena(config: RunConfig, build: BuildTree) -> Any:
    """What the algorithm plays on: the tree, or what else the config says."""
    tree = config.arena == "tree"
    arena = build(config.game) if tree else build_arena(config.game, config.arena)
    check_runs_on(config.algorithm, arena)
    return arena


def use_device(config: RunConfig) -> AbstractContextManager[Any]:
    """Inside, the arrays of deep algorithms live on the device that the config names."""
    if config.algorithm.required_extra != "deep":
        return contextlib.nullcontext()
    jax = importlib.import_module("jax")
    try:
        return jax.default_device(jax.devices(config.device)[0])
    except RuntimeError as error:
        raise ConfigError(f"device is {config.device!r}, but JAX finds none here") from error


def tensorboard_writer_class() -> Any:
    """The class that writes TensorBoard events, if its package is there."""
    try:
        return importlib.import_module("tensorboardX").SummaryWriter
    except ImportError as error:
        install = "pip install 'counterplay[tensorboard]'"
        raise ConfigError(f"TensorBoard events need the package tensorboardX: {install}") from error


def _open_tensorboard(folder: Path, step: int) -> Any:
    purge = {"purge_step": step + 1} if step else {}
    place = str(folder / "tensorboard")
    return tensorboard_writer_class()(place, filename_suffix=f".{step}", **purge)
