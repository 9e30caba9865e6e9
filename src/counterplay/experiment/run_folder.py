"""The folder of a run: its files, how it is created, locked and found."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from glob import glob, has_magic
from pathlib import Path

from counterplay import __version__
from counterplay.core.archive import sync_folder, write_text
from counterplay.errors import ConfigError, RunError
from counterplay.experiment.config import JsonObject, RunConfig, load_config

CONFIG_FILE, ENV_FILE, METRICS_FILE = "config.json", "env.json", "metrics.jsonl"
NEW_RUN_FILES = (CONFIG_FILE, ENV_FILE, METRICS_FILE)  # that a new folder has
CHECKPOINT_FILE, PREVIOUS_CHECKPOINT_FILE = "checkpoint.npz", "checkpoint.previous.npz"
TEMPORARY_PREFIX = ".new-"  # of a folder that is being created
RECORDED_PACKAGES = ("numpy", "numba", "scipy", "pydantic", "jax", "jaxlib", "optax")


class RunLockedError(RunError):
    """Another process is running the run."""


class RunTakenOverError(RunError):
    """Another process has taken over the run; this one must no longer write."""


def create_run_folder(
    config: RunConfig, folder: str | Path | None, runs_folder: str | Path
) -> Path:
    """Create the folder of a new run, `runs/<name>/<UTC time>` unless one is given.

    The folder is created complete, under a temporary name, and then renamed. An existing folder is
    never replaced.

    Raises:
        ConfigError: the folder exists already.
        RunError: it cannot be written.
    """
    names = (
        [Path(folder)] if folder is not None else _candidate_paths(Path(runs_folder) / config.name)
    )
    parent = names[0].parent
    try:
        missing = [path for path in (parent, *parent.parents) if not path.exists()]
        parent.mkdir(parents=True, exist_ok=True)
        for path in missing:
            sync_folder(path.parent)
        _remove_abandoned_folders(parent)
        new, handle = _make_temporary_folder(parent)
        try:
            os.chmod(new, 0o755)
            write_json(new / CONFIG_FILE, config.to_json())
            write_json(new / ENV_FILE, describe_environment(config.seed))
            (new / METRICS_FILE).touch()
            sync_folder(new)
            path = _move_to_free_path(new, names)
            sync_folder(parent)
            return path
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
        finally:
            if handle is not None:
                os.close(handle)
    except OSError as error:
        raise RunError(f"cannot create {names[0]}: {error.strerror or error}") from error


def remove_folder(folder: Path) -> None:
    """Remove the folder of a run that has no records."""
    with contextlib.suppress(OSError):
        if (folder / METRICS_FILE).stat().st_size == 0:
            shutil.rmtree(folder)


def _make_temporary_folder(parent: Path) -> tuple[Path, int | None]:
    """Create a folder, and lock it against `_remove_abandoned_folders` until the handle closes.

    The handle is None on a system that does not open folders.
    """
    while True:
        new = Path(tempfile.mkdtemp(dir=parent, prefix=TEMPORARY_PREFIX))
        try:
            handle = os.open(new, os.O_RDONLY)
        except FileNotFoundError:  # removed as abandoned before it was locked
            continue
        except OSError:  # a system that does not open folders
            return new, None
        if try_lock(handle) is not False and new.exists():
            return new, handle
        os.close(handle)


def _remove_abandoned_folders(parent: Path) -> None:
    """Remove the temporary folders of processes that were killed while they created a run."""
    for folder in parent.glob(f"{TEMPORARY_PREFIX}*"):
        with contextlib.suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                is_new_run = all(
                    path.name.lstrip(".").startswith(NEW_RUN_FILES) for path in folder.iterdir()
                )
                if try_lock(handle) and is_new_run:
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def _candidate_paths(parent: Path) -> list[Path]:
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return [parent / time, *(parent / f"{time}-{number}" for number in range(2, 1000))]


def _move_to_free_path(new: Path, names: Sequence[Path]) -> Path:
    for name in names:
        try:
            if not name.exists():
                os.rename(new, name)  # fails if another process has just created it
                return name
        except OSError:
            if not name.exists():
                raise
    raise ConfigError(f"{names[0]} exists already; choose another folder, or resume it")


def describe_environment(seed: int) -> JsonObject:
    """Return versions, commit and platform, on which a run depends besides its config."""
    versions = {"counterplay": __version__, "python": platform.python_version()}
    for package in RECORDED_PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _source_commit(Path(__file__).parent.parent),
        "versions": versions,
        "seed": seed,
        "platform": {
            "system": platform.platform(),
            "machine": platform.machine(),
            "processors": os.cpu_count(),
        },
    }


def record_resume_environment(folder: Path, seed: int, step: int) -> None:
    """Add the present environment to env.json, with the step at which the run resumes."""
    try:
        environment = json.loads((folder / ENV_FILE).read_bytes())
        resumed = [*environment.get("resumed", [])]
    except (OSError, ValueError, AttributeError, TypeError):
        environment, resumed = describe_environment(seed), []
    environment["resumed"] = [*resumed, {"step": step} | describe_environment(seed)]
    write_json(folder / ENV_FILE, environment)


def _source_commit(package: Path) -> str | None:
    """Return the commit of the source, with `+` if files have changed; None if unknown."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(package), *arguments]
        process = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
        return process.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # fails in another repository
        changes = git("status", "--porcelain", "--untracked-files=no", ".")
        return git("rev-parse", "HEAD") + "+" * bool(changes)
    except (OSError, subprocess.SubprocessError):
        return None


def write_json(path: Path, value: object) -> None:
    """Write a JSON file atomically."""
    write_text(path, json.dumps(value, indent=2) + "\n")


def try_lock(file_descriptor: int) -> bool | None:
    """Lock a file until this process ends; False if another has it, None without file locks."""
    try:
        import fcntl
    except ImportError:  # a system without locks
        return None
    try:
        fcntl.flock(file_descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def load_run_config(folder: Path) -> RunConfig:
    """Load the config of a run from its folder."""
    return load_config(folder / CONFIG_FILE)


def find_runs(paths: Iterable[str | Path]) -> list[Path]:
    """Return the run folders at or below paths, without duplicates.

    Args:
        paths: run folders, folders that contain some at any depth, or patterns such as `runs/k*`.

    Raises:
        ConfigError: a path has no run.
    """
    folders: dict[Path, None] = {}
    for path in paths:
        matches = [path]
        if has_magic(str(path)) and not Path(path).exists():
            matches = sorted(glob(str(path), recursive=True))
        runs = [run for match in matches for run in _find_runs_below(Path(match))]
        if not runs:
            raise ConfigError(f"there is no run in {path}")
        folders |= dict.fromkeys(runs)
    return list(folders)


def _find_runs_below(path: Path) -> list[Path]:
    if (path / CONFIG_FILE).is_file() and (
        (path / ENV_FILE).exists() or (path / METRICS_FILE).exists()
    ):
        return [path]
    if not path.is_dir():
        return []
    children = sorted(child for child in path.iterdir() if not child.name.startswith("."))
    return [run for child in children if child.is_dir() for run in _find_runs_below(child)]
