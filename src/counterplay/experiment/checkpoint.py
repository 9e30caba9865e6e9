"""Checkpoints: the memory of a run on disk, and how far the run had come.

A new checkpoint is written whole beside the old one, which then becomes the previous one; at every
moment there is a good one under its name.
"""

from __future__ import annotations

import contextlib
import math
import os
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterplay import __version__
from counterplay.errors import ConfigError, FileError, RunError
from counterplay.experiment.config import Config
from counterplay.experiment.folder import CHECKPOINT, METRICS, PREVIOUS, check_metrics
from counterplay.files import DamageError, read_arrays, sync_folder, write_arrays
from counterplay.memory import KINDS, Leaves, ailment, flatten, restore

FORMAT, VERSION = "counterplay checkpoint", 2
READABLE = (1, VERSION)  # the first had no checksum of the records
NEXT, SPARE = "checkpoint.next.npz", "checkpoint.spare.npz"  # for the moment of writing
MEMORY = "memory."  # before the path of each array


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    step: int = 0
    seconds: float = 0.0  # spent in the algorithm
    recorded: int = 0  # the last step that was evaluated
    metrics_bytes: int = 0  # the length of metrics.jsonl
    metrics_sha256: str = ""  # of so many bytes

    def check(self) -> None:
        """Raise `DamageError` where no run can be."""
        for name in ("step", "recorded", "metrics_bytes"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 0:
                raise DamageError(f"{name} is {getattr(self, name)!r}")
        if type(self.seconds) not in (int, float) or not 0.0 <= self.seconds < math.inf:
            raise DamageError(f"seconds is {self.seconds!r}")
        if type(self.metrics_sha256) is not str:
            raise DamageError("metrics_sha256 is no text")
        if self.recorded > self.step:
            raise DamageError(f"step is {self.step}, but {self.recorded} is recorded")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint read back."""

    path: Path
    progress: Progress
    leaves: Leaves
    note: str = ""  # why it is not the latest one

    def memory(self, template: Any, arena: Any = None) -> Any:
        """The memory, shaped like what `algorithm.init(arena)` returns.

        A memory that holds indices has a method `problem(arena)`, which says what is wrong with it.
        """
        try:
            memory = restore(template, self.leaves)
        except ConfigError as error:
            raise ConfigError(
                f"{self.path} does not fit this algorithm and game: {error}"
            ) from error
        problem = memory.problem(arena) if hasattr(memory, "problem") else ""
        if problem:
            raise FileError(f"{self.path} is damaged: {problem}")
        return memory


def write_checkpoint(
    folder: Path,
    config: Config,
    game: str,
    at: Progress,
    memory: Any,
    check: Callable[[], None] = lambda: None,
) -> Path:
    """Write a checkpoint; if that fails, the one before stays as it was.

    Args:
        check: called when all is on the disk but the name; what it raises leaves all as it was.
    """
    leaves = flatten(memory)
    path = folder / f"{NEXT}.{platform.node()}.{os.getpid()}"  # another writer may live on
    write_arrays(
        path,
        FORMAT,
        {
            "version": VERSION,
            "counterplay": __version__,
            "identity": _identity(config, game),
            "progress": vars(at),
            "scalars": leaves.scalars,
            "on_device": leaves.on_device,
        }
        | {MEMORY + name: array for name, array in leaves.arrays.items()},
        compress=False,
    )
    try:
        check()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    try:
        _keep_previous(folder)
        os.replace(path, folder / CHECKPOINT)
        sync_folder(folder)
    except OSError as error:
        raise RunError(f"cannot write {folder / CHECKPOINT}: {error.strerror or error}") from error
    return folder / CHECKPOINT


def load_checkpoint(folder: Path, config: Config, game: str) -> Checkpoint | None:
    """The latest checkpoint that can be used; None if there is none at all.

    Raises:
        ConfigError: it belongs to another game, algorithm or version.
        RunError: it is damaged, or metrics.jsonl is not as it was, and so with the previous one.
    """
    problems = []
    for path in (folder / CHECKPOINT, folder / PREVIOUS):
        if not path.exists():
            continue
        try:
            found = _read(path, config, game)
            at = found.progress
            check_metrics(folder, path, at.metrics_bytes, at.metrics_sha256, at.recorded)
        except RunError as error:
            problems.append(str(error))
            continue
        note = "; ".join([*problems, f"going on from {path}"]) if problems else ""
        return Checkpoint(found.path, found.progress, found.leaves, note)
    if problems:
        raise FileError("; ".join([*problems, "put them back, or remove them to start afresh"]))
    return None


def remove_leftovers(folder: Path) -> None:
    """Remove what a process that was killed while writing has left behind."""
    for pattern in (f"{NEXT}*", SPARE, f".{NEXT}*", f".{METRICS}.*", ".*.json.*"):
        for path in folder.glob(pattern):
            with contextlib.suppress(OSError):
                path.unlink()


def _read(path: Path, config: Config, game: str) -> Checkpoint:
    try:
        values = read_arrays(path, FORMAT)
    except RunError as error:
        if error.__cause__ is None:  # a whole file, but of another kind
            raise ConfigError(str(error)) from error
        raise
    if type(values.get("version")) is not int or values["version"] not in READABLE:
        found = f"{path} is a checkpoint of version {values.get('version')!s:.20}"
        raise ConfigError(f"{found} (counterplay {values.get('counterplay')!s:.20}), not {VERSION}")
    try:
        _check_identity(path, values["identity"], _identity(config, game))
        arrays = {
            name.removeprefix(MEMORY): array
            for name, array in values.items()
            if name.startswith(MEMORY)
        }
        leaves = Leaves(arrays, values["scalars"], values["on_device"])
        progress = Progress(**values["progress"])
        progress.check()
        _check_leaves(config, leaves, progress.step)
        return Checkpoint(path, progress, leaves)
    except (KeyError, TypeError, ValueError, AttributeError, DamageError) as error:
        raise FileError(f"{path} is not a whole checkpoint ({error})") from error


def _check_leaves(config: Config, leaves: Leaves, step: int) -> None:
    """Refuse numbers that no memory can have, before anything computes with them."""
    if not all(type(value) in KINDS for value in leaves.scalars.values()):
        raise DamageError("not only numbers and strings")
    if not all(isinstance(path, str) for path in leaves.on_device):
        raise DamageError("on_device is no list of names")
    if leaves.on_device and not config.algorithm.needs:
        raise DamageError(f"{config.algorithm_name} has nothing on a device")
    if leaves.scalars.get("iteration", step) != step:
        raise DamageError(f"step is {step}, but iteration {leaves.scalars['iteration']}")
    problem = ailment(leaves.arrays | leaves.scalars)
    if problem:
        raise DamageError(problem)


def _identity(config: Config, game: str) -> dict[str, Any]:
    """What a checkpoint must share with the run that goes on from it."""
    full = config.to_json()
    fields = full["networks"] | full["spec"]
    for name in ("max_steps", "evaluate_every", "checkpoint_every"):
        del fields[name]
    return {"game": game, "algorithm": config.algorithm_name} | fields


def _check_identity(path: Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for key in wanted | found:
        have, want = found.get(key, "nothing"), wanted.get(key, "nothing")
        if have != want:
            raise ConfigError(f"{path} is from another run: {key} is {have} there, {want} here")


def _keep_previous(folder: Path) -> None:
    """Let the present checkpoint also be the previous one."""
    present, spare = folder / CHECKPOINT, folder / SPARE
    if not present.exists():
        return
    spare.unlink(missing_ok=True)
    try:
        os.link(present, spare)
    except OSError:  # a file system without links
        shutil.copyfile(present, spare)
    os.replace(spare, folder / PREVIOUS)
    spare.unlink(missing_ok=True)  # replacing a file by itself does nothing
