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
from counterplay.core.archive import DamagedFileError, read_archive, sync_folder, write_archive
from counterplay.core.state_io import (
    TYPE_NAMES,
    MemoryLeaves,
    find_invalid_value,
    flatten_memory,
    restore_memory,
)
from counterplay.errors import ConfigError, FileError, RunError
from counterplay.experiment.config import RunConfig
from counterplay.experiment.run_folder import (
    CHECKPOINT_FILE,
    METRICS_FILE,
    PREVIOUS_CHECKPOINT_FILE,
    check_metrics,
)

CHECKPOINT_FORMAT, FORMAT_VERSION = "counterplay checkpoint", 2
READABLE_VERSIONS = (1, FORMAT_VERSION)  # the first had no checksum of the records
NEXT_CHECKPOINT_FILE, SPARE_CHECKPOINT_FILE = (
    "checkpoint.next.npz",
    "checkpoint.spare.npz",
)  # for the moment of writing
MEMORY_PREFIX = "memory."  # before the path of each array


@dataclass(frozen=True)
class RunProgress:
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
                raise DamagedFileError(f"{name} is {getattr(self, name)!r}")
        if type(self.seconds) not in (int, float) or not 0.0 <= self.seconds < math.inf:
            raise DamagedFileError(f"seconds is {self.seconds!r}")
        if type(self.metrics_sha256) is not str:
            raise DamagedFileError("metrics_sha256 is no text")
        if self.recorded > self.step:
            raise DamagedFileError(f"step is {self.step}, but {self.recorded} is recorded")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint read back."""

    path: Path
    progress: RunProgress
    leaves: MemoryLeaves
    fallback_reason: str = ""  # why it is not the latest one

    def restore_memory(self, template: Any, arena: Any = None) -> Any:
        """The memory, shaped like what `algorithm.init(arena)` returns.

        A memory that holds indices has a method `problem(arena)`, which says what is wrong with it.
        """
        try:
            memory = restore_memory(template, self.leaves)
        except ConfigError as error:
            raise ConfigError(
                f"{self.path} does not fit this algorithm and game: {error}"
            ) from error
        problem = memory.find_mismatch(arena) if hasattr(memory, "find_mismatch") else ""
        if problem:
            raise FileError(f"{self.path} is damaged: {problem}")
        return memory


def write_checkpoint(
    folder: Path,
    config: RunConfig,
    game: str,
    progress: RunProgress,
    memory: Any,
    before_rename: Callable[[], None] = lambda: None,
) -> Path:
    """Write a checkpoint; if that fails, the one before stays as it was.

    Args:
        check: called when all is on the disk but the name; what it raises leaves all as it was.
    """
    leaves = flatten_memory(memory)
    path = (
        folder / f"{NEXT_CHECKPOINT_FILE}.{platform.node()}.{os.getpid()}"
    )  # another writer may live on
    write_archive(
        path,
        CHECKPOINT_FORMAT,
        {
            "version": FORMAT_VERSION,
            "counterplay": __version__,
            "identity": _run_identity(config, game),
            "progress": vars(progress),
            "scalars": leaves.scalars,
            "on_device": leaves.jax_paths,
        }
        | {MEMORY_PREFIX + name: array for name, array in leaves.arrays.items()},
        compress=False,
    )
    try:
        before_rename()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    try:
        _back_up_checkpoint(folder)
        os.replace(path, folder / CHECKPOINT_FILE)
        sync_folder(folder)
    except OSError as error:
        raise RunError(
            f"cannot write {folder / CHECKPOINT_FILE}: {error.strerror or error}"
        ) from error
    return folder / CHECKPOINT_FILE


def load_checkpoint(folder: Path, config: RunConfig, game: str) -> Checkpoint | None:
    """The latest checkpoint that can be used; None if there is none at all.

    Raises:
        ConfigError: it belongs to another game, algorithm or version.
        RunError: it is damaged, or metrics.jsonl is not as it was, and so with the previous one.
    """
    problems = []
    for path in (folder / CHECKPOINT_FILE, folder / PREVIOUS_CHECKPOINT_FILE):
        if not path.exists():
            continue
        try:
            found = _read_checkpoint(path, config, game)
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


def remove_temporary_files(folder: Path) -> None:
    """Remove what a process that was killed while writing has left behind."""
    for pattern in (
        f"{NEXT_CHECKPOINT_FILE}*",
        SPARE_CHECKPOINT_FILE,
        f".{NEXT_CHECKPOINT_FILE}*",
        f".{METRICS_FILE}.*",
        ".*.json.*",
    ):
        for path in folder.glob(pattern):
            with contextlib.suppress(OSError):
                path.unlink()


def _read_checkpoint(path: Path, config: RunConfig, game: str) -> Checkpoint:
    try:
        values = read_archive(path, CHECKPOINT_FORMAT)
    except RunError as error:
        if error.__cause__ is None:  # a whole file, but of another kind
            raise ConfigError(str(error)) from error
        raise
    if type(values.get("version")) is not int or values["version"] not in READABLE_VERSIONS:
        found = f"{path} is a checkpoint of version {values.get('version')!s:.20}"
        raise ConfigError(
            f"{found} (counterplay {values.get('counterplay')!s:.20}), not {FORMAT_VERSION}"
        )
    try:
        _check_identity(path, values["identity"], _run_identity(config, game))
        arrays = {
            name.removeprefix(MEMORY_PREFIX): array
            for name, array in values.items()
            if name.startswith(MEMORY_PREFIX)
        }
        leaves = MemoryLeaves(arrays, values["scalars"], values["on_device"])
        progress = RunProgress(**values["progress"])
        progress.check()
        _check_leaves(config, leaves, progress.step)
        return Checkpoint(path, progress, leaves)
    except (KeyError, TypeError, ValueError, AttributeError, DamagedFileError) as error:
        raise FileError(f"{path} is not a whole checkpoint ({error})") from error


def _check_leaves(config: RunConfig, leaves: MemoryLeaves, step: int) -> None:
    """Refuse numbers that no memory can have, before anything computes with them."""
    if not all(type(value) in TYPE_NAMES for value in leaves.scalars.values()):
        raise DamagedFileError("not only numbers and strings")
    if not all(isinstance(path, str) for path in leaves.jax_paths):
        raise DamagedFileError("on_device is no list of names")
    if leaves.jax_paths and not config.algorithm.required_extra:
        raise DamagedFileError(f"{config.algorithm_name} has nothing on a device")
    if leaves.scalars.get("iteration", step) != step:
        raise DamagedFileError(f"step is {step}, but iteration {leaves.scalars['iteration']}")
    problem = find_invalid_value(leaves.arrays | leaves.scalars)
    if problem:
        raise DamagedFileError(problem)


def _run_identity(config: RunConfig, game: str) -> dict[str, Any]:
    """What a checkpoint must share with the run that goes on from it."""
    full = config.to_json()
    fields = full["networks"] | full["spec"]
    for name in ("max_steps", "evaluate_every", "checkpoint_every"):
        del fields[name]
    return {"game": game, "algorithm": config.algorithm_name} | fields


def _check_identity(
    path: Path, stored_identity: dict[str, Any], run_identity: dict[str, Any]
) -> None:
    for key in run_identity | stored_identity:
        have, want = stored_identity.get(key, "nothing"), run_identity.get(key, "nothing")
        if have != want:
            raise ConfigError(f"{path} is from another run: {key} is {have} there, {want} here")


def _back_up_checkpoint(folder: Path) -> None:
    """Let the present checkpoint also be the previous one."""
    present, spare = folder / CHECKPOINT_FILE, folder / SPARE_CHECKPOINT_FILE
    if not present.exists():
        return
    spare.unlink(missing_ok=True)
    try:
        os.link(present, spare)
    except OSError:  # a file system without links
        shutil.copyfile(present, spare)
    os.replace(spare, folder / PREVIOUS_CHECKPOINT_FILE)
    spare.unlink(missing_ok=True)  # replacing a file by itself does nothing
