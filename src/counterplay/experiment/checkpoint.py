"""Checkpoints: the memory and the progress of a run on disk.

A new checkpoint is written completely under a temporary name. Then the old one is renamed to the
previous one and the new one takes its place, so that a good checkpoint exists at all times.
"""

from __future__ import annotations

import contextlib
import math
import os
import platform
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
from counterplay.experiment.metrics import check_metrics
from counterplay.experiment.run_folder import (
    CHECKPOINT_FILE,
    METRICS_FILE,
    PREVIOUS_CHECKPOINT_FILE,
)
from counterplay.registry import get_spec

CHECKPOINT_FORMAT, FORMAT_VERSION = "counterplay checkpoint", 2
READABLE_VERSIONS = (1, FORMAT_VERSION)  # the first had no checksum of the records
# temporary names during writing
NEXT_CHECKPOINT_FILE, SPARE_CHECKPOINT_FILE = "checkpoint.next.npz", "checkpoint.spare.npz"
MEMORY_PREFIX = "memory."  # of the path of each array


@dataclass(frozen=True)
class RunProgress:
    """The progress of a run at a checkpoint."""

    step: int = 0
    seconds: float = 0.0  # spent in the algorithm
    recorded: int = 0  # last step that was evaluated
    metrics_bytes: int = 0  # length of metrics.jsonl
    metrics_sha256: str = ""  # of these bytes

    def check(self) -> None:
        """Raise DamagedFileError if no run can have such values."""
        for name in ("step", "recorded", "metrics_bytes"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 0:
                raise DamagedFileError(f"{name} is {getattr(self, name)!r}")
        if type(self.seconds) not in (int, float) or not 0.0 <= self.seconds < math.inf:
            raise DamagedFileError(f"seconds is {self.seconds!r}")
        if type(self.metrics_sha256) is not str:
            raise DamagedFileError("metrics_sha256 is not a string")
        if self.recorded > self.step:
            raise DamagedFileError(f"step is {self.step}, but {self.recorded} is recorded")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was read."""

    path: Path
    progress: RunProgress
    leaves: MemoryLeaves
    fallback_reason: str = ""  # why it is not the latest one

    def restore_memory(self, template: Any, arena: Any = None) -> Any:
        """Return the memory.

        Args:
            template: a memory of the same layout, as `algorithm.init(arena)` returns it.
            arena: passed to the memory's method `find_mismatch`, if it has one, which returns
                the problem of a memory that does not fit.

        Raises:
            ConfigError: the memory has another layout.
            FileError: it does not fit the arena.
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
    """Write a checkpoint, and return its path; if that fails, the last one stays as it was.

    Args:
        before_rename: called when the file is written but not yet renamed; if it raises an error,
            the last checkpoint stays as it was.
    """
    leaves = flatten_memory(memory)
    # a name of this process: a writer that was taken over may still be running
    path = folder / f"{NEXT_CHECKPOINT_FILE}.{platform.node()}.{os.getpid()}"
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
    """Return the latest usable checkpoint, or None if the folder has none.

    Raises:
        ConfigError: it belongs to another game, algorithm or version.
        FileError: both checkpoints are damaged, or metrics.jsonl has changed since.
    """
    problems = []
    for path in (folder / CHECKPOINT_FILE, folder / PREVIOUS_CHECKPOINT_FILE):
        if not path.exists():
            continue
        try:
            checkpoint = _read_checkpoint(path, config, game)
            at = checkpoint.progress
            check_metrics(folder, path, at.metrics_bytes, at.metrics_sha256, at.recorded)
        except RunError as error:
            problems.append(str(error))
            continue
        reason = "; ".join([*problems, f"continuing from {path}"]) if problems else ""
        return replace(checkpoint, fallback_reason=reason)
    if problems:
        raise FileError("; ".join([*problems, "restore them, or remove them to start again"]))
    return None


def remove_temporary_files(folder: Path) -> None:
    """Remove the temporary files of a process that was killed while writing."""
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
        if error.__cause__ is None:  # a complete file, but not a checkpoint
            raise ConfigError(str(error)) from error
        raise
    if type(values.get("version")) is not int or values["version"] not in READABLE_VERSIONS:
        version = f"{path} is a checkpoint of version {values.get('version')!s:.20}"
        raise ConfigError(
            f"{version} (counterplay {values.get('counterplay')!s:.20}), not {FORMAT_VERSION}"
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
        raise FileError(f"{path} is not a complete checkpoint ({error})") from error


def _check_leaves(config: RunConfig, leaves: MemoryLeaves, step: int) -> None:
    """Raise DamagedFileError if the leaves have values that no memory can have."""
    if not all(type(value) in TYPE_NAMES for value in leaves.scalars.values()):
        raise DamagedFileError("a value is neither a number nor a string")
    if not all(isinstance(path, str) for path in leaves.jax_paths):
        raise DamagedFileError("on_device is not a list of names")
    if leaves.jax_paths and not config.algorithm.required_extra:
        raise DamagedFileError(f"{config.algorithm_name} has no arrays on a device")
    if leaves.scalars.get("iteration", step) != step:
        raise DamagedFileError(f"step is {step}, but iteration {leaves.scalars['iteration']}")
    problem = find_invalid_value(leaves.arrays | leaves.scalars)
    if problem:
        raise DamagedFileError(problem)


def _run_identity(config: RunConfig, game: str) -> dict[str, object]:
    """Return the settings that a checkpoint must share with the run that continues from it."""
    content = config.to_json()
    fields = content["networks"] | content["spec"]
    for name in ("max_steps", "evaluate_every", "checkpoint_every"):
        del fields[name]
    identity = {"game": game, "algorithm": config.algorithm_name}
    if config.abstraction:
        identity["abstraction"] = get_spec(config.abstraction)
    return identity | fields


def _check_identity(
    path: Path, stored_identity: Mapping[str, object], run_identity: Mapping[str, object]
) -> None:
    for key in {**run_identity, **stored_identity}:
        stored, expected = stored_identity.get(key, "nothing"), run_identity.get(key, "nothing")
        if stored != expected:
            raise ConfigError(
                f"{path} is from another run: {key} is {stored} there, {expected} here"
            )


def _back_up_checkpoint(folder: Path) -> None:
    """Make the latest checkpoint also the previous one."""
    latest, spare = folder / CHECKPOINT_FILE, folder / SPARE_CHECKPOINT_FILE
    if not latest.exists():
        return
    spare.unlink(missing_ok=True)
    try:
        os.link(latest, spare)
    except OSError:  # a file system without links
        shutil.copyfile(latest, spare)
    os.replace(spare, folder / PREVIOUS_CHECKPOINT_FILE)
    spare.unlink(missing_ok=True)  # it stays if both names are links to the same file
