"""Long runs of an algorithm, with evaluations, checkpoints, stopping and resuming.

    result = run("config.json")            # or new_run(...).advance(...) to see its folder first
    result = resume(result.folder)

The memory and the records of a run are the same, however often it is interrupted.
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
from typing import Any, Protocol

from counterplay.abstraction.abstracted_game import abstract_game
from counterplay.abstraction.abstraction import AbstractedAlgorithm, build_abstraction
from counterplay.arenas.build import build_arena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.build import build_tree
from counterplay.core.arena import Arena, check_runs_on
from counterplay.core.game import Game
from counterplay.core.policy import Policy
from counterplay.core.solve import AnyAlgorithm, SolveSession
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
from counterplay.experiment.metrics import (
    MetricsRecord,
    MetricsWriter,
    load_metrics,
    policy_names,
)
from counterplay.experiment.population import write_population
from counterplay.experiment.run_folder import RunTakenOverError
from counterplay.experiment.run_status import (
    CHECKPOINT_REQUEST,
    STOP_REQUEST,
    Heartbeat,
    note_finished,
    pending_requests,
    remove_requests,
    track_process,
)

MAX_SECONDS_BETWEEN_CHECKPOINTS = 600.0

BuildTree = Callable[[Game], TreeArena]


@dataclass(frozen=True)
class RunResult:
    """The result of a run: its policies, records and memory."""

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
    """A run, new or read from its folder; only `advance` changes the folder."""

    folder: Path
    config: RunConfig
    session: SolveSession = field(repr=False)
    progress: RunProgress
    records: list[MetricsRecord] = field(repr=False)
    last_checkpoint: str = ""  # its file and step
    note: str = ""  # a message for the user, such as a damaged checkpoint
    config_changed: bool = False  # whether config.json must be written again

    def __post_init__(self) -> None:
        self.last_recorded_step = self.progress.recorded
        # lowest exploitability of the records that were scanned
        self.lowest_exploitability, self.num_scanned_records = math.inf, 0
        self.memory_layout = memory_layout(self.session.memory)
        # raises an error once another process has taken over the run
        self.check_ownership: Callable[[], None] = lambda: None

    @property
    def step(self) -> int:
        """Number of iterations so far."""
        return self.session.iteration

    @property
    def seconds(self) -> float:
        """Time spent in the algorithm."""
        return self.session.seconds

    @property
    def best_exploitability(self) -> float | None:
        """Lowest exploitability so far of the policy with the guarantee; None on rules."""
        if not self.records or self.config.arena == "rules":
            return None
        name = policy_names(self.records[:1])[0]
        while self.num_scanned_records < len(self.records):
            self.lowest_exploitability = min(
                self.lowest_exploitability, self.records[self.num_scanned_records][name]
            )
            self.num_scanned_records += 1
        return self.lowest_exploitability

    @property
    def finished(self) -> bool:
        """Whether the last step is done and evaluated."""
        return self.last_recorded_step == self.step and self.step >= self._last_step()

    def advance(
        self,
        *,
        report: Callable[[MetricsRecord], None] | None = None,
        tick: Callable[[int], None] | None = None,
        stop: Callable[[], bool] | None = None,
        tensorboard: bool = False,
    ) -> RunResult:
        """Run to the last step, or until `stop` returns True.

        Args:
            report: called with every new record.
            tick: called with the step, several times a second.
            stop: called several times a second; True writes a checkpoint and returns.
            tensorboard: also write the records as TensorBoard events.

        Raises:
            RunError: the memory has diverged, or a file cannot be written.
        """
        if self.finished:
            self._clean_up_finished()
            with use_device(self.config):
                return self._build_result(stopped=False)
        writer = _open_tensorboard(self.folder, self.step) if tensorboard else None
        # read before the file is locked: later requests are meant for this process
        stale_requests = pending_requests(self.folder)
        with (
            contextlib.closing(writer) if writer else contextlib.nullcontext(),
            MetricsWriter(
                self.folder, self.progress.metrics_bytes, self.progress.metrics_sha256
            ) as metrics,
            track_process(heartbeat := Heartbeat(self.folder, stale_requests), self),
            use_device(self.config),
        ):
            self.check_ownership = heartbeat.check_ownership
            self._prepare_folder()

            def record_and_report(record: MetricsRecord) -> None:
                if writer:
                    for name in policy_names([record]):
                        writer.add_scalar(f"exploitability/{name}", record[name], record["step"])
                if report:
                    report(record)

            stopped = self._run_loop(
                metrics, heartbeat, record_and_report, tick or (lambda step: None), stop
            )
            session = self.session
            arena = memory_arena(session.arena, session.algorithm)
            write_population(self.folder, arena, session.memory)
            result = self._build_result(stopped)
            self._send_heartbeat(heartbeat, force=True)
            heartbeat.record_end("stopped" if stopped else "finished", self.step)
            return result

    def _clean_up_finished(self) -> None:
        """Clean up after a process that was killed between its last checkpoint and its end."""
        progress = self.progress
        with (
            contextlib.suppress(RunError),
            MetricsWriter(self.folder, progress.metrics_bytes, progress.metrics_sha256),
        ):
            remove_temporary_files(self.folder)
            note_finished(self.folder, self.step)

    def _prepare_folder(self) -> None:
        """Remove temporary files, and write config and environment, once the folder is locked."""
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
        """Step, evaluate and write checkpoints; return True if a request or `stop` ended it."""
        last_saved, should_stop = time.monotonic(), False
        every = self.config.checkpoint_every

        def should_pause() -> bool:
            nonlocal should_stop
            self._send_heartbeat(heartbeat)
            should_stop = (
                should_stop or heartbeat.is_requested(STOP_REQUEST) or (stop is not None and stop())
            )
            return (
                should_stop
                or heartbeat.is_requested(CHECKPOINT_REQUEST)
                or time.monotonic() - last_saved > MAX_SECONDS_BETWEEN_CHECKPOINTS
            )

        while not self.finished:
            # the next evaluation may be at this step, if a signal came before it
            goal = min(self._next_evaluation(), (self.step // every + 1) * every, self._last_step())
            paused = self.session.advance(goal, tick, should_pause)
            if should_stop and self.step < self._last_step():
                self._write_checkpoint(metrics)
                return True
            if self.step == self._next_evaluation():
                report(self._evaluate(metrics))
            if self.step % every == 0 or self.step == self._last_step() or paused:
                self._write_checkpoint(metrics)
                last_saved = time.monotonic()
                remove_requests(self.folder, CHECKPOINT_REQUEST)
        return False

    def _send_heartbeat(self, heartbeat: Heartbeat, force: bool = False) -> None:
        heartbeat.beat(self.step, self.seconds, self.best_exploitability, force)

    def _last_step(self) -> int:
        """Return `max_steps`, or the present step if the algorithm has finished."""
        return self.step if self.session.finished else self.config.max_steps

    def _next_evaluation(self) -> int:
        """Return the first step, from the present one on, that remains to be evaluated."""
        every, before = self.config.evaluate_every, max(self.last_recorded_step, self.step - 1)
        regular = (before // every + 1) * every if before else 1
        return min(regular, max(self._last_step(), self.last_recorded_step + 1))

    def _evaluate(self, metrics: MetricsWriter) -> MetricsRecord:
        self._check_memory()
        try:
            measured = self.session.measure(self.session.policies())
        except ConfigError as error:  # the memory does not give a policy
            raise self._run_error(str(error)) from error
        for name, value in measured.metrics.items():
            if not math.isfinite(value):
                raise self._run_error(f"the exploitability of {name} is {value}")
        record: MetricsRecord = {"step": measured.iteration, "seconds": round(measured.seconds, 6)}
        record |= measured.metrics
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
            path = write_checkpoint(
                self.folder,
                self.config,
                self.session.arena.spec,
                self.progress,
                self.session.memory,
                self.check_ownership,
            )
        self.last_checkpoint = f"{path} (step {self.step})"

    def _check_memory(self) -> None:
        problem = find_invalid_value(
            self.session.memory, getattr(self.config.algorithm, "monitored_paths", ())
        )
        if problem:
            raise self._run_error(problem)

    def _run_error(self, problem: str) -> RunError:
        last = self.last_checkpoint
        text = f"the last good checkpoint is {last}" if last else "there is no checkpoint yet"
        return RunError(f"{self.folder} stopped at step {self.step}: {problem}; {text}")

    @contextlib.contextmanager
    def _add_checkpoint_to_errors(self) -> Iterator[None]:
        """Name the last good checkpoint in errors that leave the `with` block."""
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
    """Check a config and create the folder of its run.

    Args:
        config: a JSON file, its content, or a checked config.
        folder: the folder; by default `runs_folder/<name>/<time>`.
        overrides: replace keys of the config, see `load_config`.
        build: builds the tree of the game.
    """
    checked = load_config(config, overrides)
    with use_device(checked):
        arena, algorithm = _build_arena(checked, build)
        memory = algorithm.init(arena, checked.seed)
    path = files.create_run_folder(checked, folder, runs_folder)
    return Run(path, checked, SolveSession(arena, algorithm, memory), RunProgress(), [])


@contextlib.contextmanager
def discard_if_refused(new: Run) -> Iterator[None]:
    """Remove the folder of a new run if it is refused before its first step."""
    try:
        yield
    except (ConfigError, GameError):
        if not new.step:
            files.remove_folder(new.folder)
            with contextlib.suppress(OSError):  # other runs of that name exist
                if new.folder.parent.name == new.config.name:
                    new.folder.parent.rmdir()
        raise


def open_run(
    folder: str | Path, *, max_steps: int | None = None, build: BuildTree = build_tree
) -> Run:
    """Read a run from its folder, at its latest checkpoint.

    Args:
        max_steps: replaces that of the config, to run longer than was planned.
        build: builds the tree of the game.

    Raises:
        ConfigError: it is not the folder of a run, or the run is beyond `max_steps`.
        FileError: its files are damaged.
    """
    path = Path(folder)
    if files.find_runs([path]) != [path]:
        raise ConfigError(f"{path} is not the folder of a run")
    config = files.load_run_config(path)
    new_config = config if max_steps is None else config.with_max_steps(max_steps)
    with use_device(config):
        arena, algorithm = _build_arena(config, build)
        memory = algorithm.init(arena, config.seed)
        checkpoint = load_checkpoint(path, config, arena.spec)
        memory = (
            checkpoint.restore_memory(memory, memory_arena(arena, algorithm))
            if checkpoint
            else memory
        )
    progress = checkpoint.progress if checkpoint else RunProgress()
    if new_config.max_steps < progress.step:
        raise ConfigError(
            f"{path} is at step {progress.step} already, beyond {new_config.max_steps}"
        )
    return Run(
        path,
        new_config,
        SolveSession(arena, algorithm, memory, progress.seconds),
        progress,
        load_metrics(path, progress.metrics_bytes),
        last_checkpoint=f"{checkpoint.path} (step {progress.step})" if checkpoint else "",
        note=checkpoint.fallback_reason
        if checkpoint
        else f"{path} has no checkpoint: starting from the first step",
        config_changed=new_config != config,
    )


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
        tensorboard_writer_class()  # raises an error before a folder is created
    new = new_run(config, folder, runs_folder=runs_folder, overrides=overrides)
    with discard_if_refused(new):
        return new.advance(tensorboard=tensorboard, **options)


def resume(folder: str | Path, *, max_steps: int | None = None, **options: Any) -> RunResult:
    """Continue a run from its latest checkpoint; a finished run is not changed."""
    return open_run(folder, max_steps=max_steps).advance(**options)


def load_run(folder: str | Path, *, build: BuildTree = build_tree) -> RunResult:
    """Load the policies, records and config of a run at its latest checkpoint.

    The folder is only read; the run may be running.
    """
    opened = open_run(folder, build=build)
    if not opened.last_checkpoint:
        raise FileError(f"{opened.folder} has no checkpoint yet")
    with use_device(opened.config):
        return opened._build_result(stopped=False)


def _build_arena(config: RunConfig, build: BuildTree) -> tuple[Arena, AnyAlgorithm]:
    """Return the arena of a config, and the algorithm that runs on it.

    With an abstraction, the algorithm solves the smaller game. On a tree its policies are lifted to
    the full game and judged there; on rules they look up the infosets of the abstraction.
    """
    algorithm: Any = config.algorithm
    if config.arena == "tree":
        tree = build(config.game)
        if config.abstraction:
            algorithm = build_abstraction(tree, config.abstraction).wrap_algorithm(algorithm)
        check_runs_on(config.algorithm, memory_arena(tree, algorithm))
        return tree, algorithm
    game = abstract_game(config.game, config.abstraction) if config.abstraction else config.game
    arena: Arena = build_arena(game, config.arena)
    check_runs_on(algorithm, arena)
    return arena, algorithm


def memory_arena(arena: Any, algorithm: Any) -> Any:
    """Return the arena of an algorithm's memory: the smaller game if it has an abstraction."""
    return algorithm.abstraction.tree if isinstance(algorithm, AbstractedAlgorithm) else arena


def use_device(config: RunConfig) -> AbstractContextManager[object]:
    """Return a context in which new arrays of deep algorithms are on the config's device."""
    if config.algorithm.required_extra != "deep":
        return contextlib.nullcontext()
    jax = importlib.import_module("jax")
    try:
        return jax.default_device(jax.devices(config.device)[0])
    except RuntimeError as error:
        raise ConfigError(f"device is {config.device!r}, but JAX finds none here") from error


class TensorboardWriter(Protocol):
    """The methods of tensorboardX.SummaryWriter that are used here."""

    def add_scalar(self, tag: str, value: float, step: float) -> None: ...

    def close(self) -> None: ...


def tensorboard_writer_class() -> Callable[..., TensorboardWriter]:
    """Return the class that writes TensorBoard events.

    Raises:
        ConfigError: its package is not installed.
    """
    try:
        return importlib.import_module("tensorboardX").SummaryWriter
    except ImportError as error:
        install = "pip install 'counterplay[tensorboard]'"
        raise ConfigError(f"TensorBoard events need the package tensorboardX: {install}") from error


def _open_tensorboard(folder: Path, step: int) -> TensorboardWriter:
    purge = {"purge_step": step + 1} if step else {}
    path = str(folder / "tensorboard")
    return tensorboard_writer_class()(path, filename_suffix=f".{step}", **purge)
