"""The folder of a run: config.json, env.json, metrics.jsonl and the checkpoints."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from glob import glob, has_magic
from pathlib import Path
from types import TracebackType
from typing import Any

from counterplay import __version__
from counterplay.errors import ConfigError, RunError
from counterplay.experiment.config import Config, load_config
from counterplay.files import write_text

CONFIG, ENV, METRICS = "config.json", "env.json", "metrics.jsonl"
CHECKPOINT, PREVIOUS = "checkpoint.npz", "checkpoint.previous.npz"
PACKAGES = ("numpy", "numba", "scipy", "pydantic", "jax", "jaxlib", "optax")

Record = dict[str, Any]  # step, seconds, and the exploitability of each policy by name


def create_folder(config: Config, folder: str | Path | None, runs: str | Path) -> Path:
    """Make the folder of a new run, `runs/<name>/<UTC time>` unless one is given.

    It appears with its config inside or not at all, and never in the place of another.
    """
    names = [Path(folder)] if folder is not None else _free_names(Path(runs) / config.name)
    try:
        names[0].parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=names[0].parent, prefix=".new-"))
        try:
            os.chmod(new, 0o755)
            write_json(new / CONFIG, config.to_json())
            write_json(new / ENV, environment(config.seed))
            (new / METRICS).touch()
            return _moved(new, names)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
    except OSError as error:
        raise RunError(f"cannot create {names[0]}: {error.strerror or error}") from error


def _free_names(parent: Path) -> list[Path]:
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return [parent / time, *(parent / f"{time}-{number}" for number in range(2, 1000))]


def _moved(new: Path, names: Sequence[Path]) -> Path:
    for name in names:
        try:
            if not name.exists():
                os.rename(new, name)  # fails where somebody else has just put a run
                return name
        except OSError:
            if not name.exists():
                raise
    raise ConfigError(f"{names[0]} exists already; choose another folder, or resume it")


def environment(seed: int) -> dict[str, Any]:
    """What a run depends on beside its config."""
    versions = {"counterplay": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(Path(__file__).parent.parent),
        "versions": versions,
        "seed": seed,
        "platform": {
            "system": platform.platform(),
            "machine": platform.machine(),
            "processors": os.cpu_count(),
        },
    }


def add_environment(folder: Path, seed: int, step: int) -> None:
    """Note in env.json that the run goes on here, perhaps with other versions."""
    try:
        first = json.loads((folder / ENV).read_bytes())
        resumed = first.setdefault("resumed", [])
    except (OSError, ValueError, AttributeError):
        first = environment(seed)
        resumed = first["resumed"] = []
    resumed.append({"step": step} | environment(seed))
    write_json(folder / ENV, first)


def _commit(package: Path) -> str | None:
    """The commit of the source, with `+` if it was changed since; None outside a repository."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(package), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # the repository may be somebody else's
        changed = git("status", "--porcelain", "--untracked-files=no", ".")
        return git("rev-parse", "HEAD") + "+" * bool(changed)
    except (OSError, subprocess.SubprocessError):
        return None


def write_json(path: Path, value: object) -> None:
    """Write a JSON file, whole or not at all."""
    write_text(path, json.dumps(value, indent=2) + "\n")


class Metrics:
    """metrics.jsonl, open for one process at a time; what came after `length` bytes is dropped."""

    def __init__(self, folder: Path, length: int):
        self.path = folder / METRICS
        try:
            self.file = open(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")  # noqa: SIM115
            try:
                _lock(self.file.fileno(), folder)
                self.file.truncate(length)
                self.file.seek(length)
            except BaseException:
                self.file.close()
                raise
        except OSError as error:
            raise self._error(error) from error

    def __enter__(self) -> Metrics:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):  # a full disk was reported when the record was added
            self.file.close()

    def add(self, record: Mapping[str, Any]) -> None:
        """Append a record; readers see it at once."""
        try:
            self.file.write(json.dumps(record).encode() + b"\n")
            self.file.flush()
        except OSError as error:
            raise self._error(error) from error

    def sync(self) -> int:
        """The length in bytes, once all of them are on the disk."""
        try:
            os.fsync(self.file.fileno())
        except OSError as error:
            raise self._error(error) from error
        return self.file.tell()

    def _error(self, error: OSError) -> RunError:
        return RunError(f"cannot write {self.path}: {error.strerror or error}")


def _lock(handle: int, folder: Path) -> None:
    """Keep other processes away from the run until this one ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise RunError(f"another process is running {folder} right now") from error
    except OSError:  # not on this file system
        return


def load_metrics(folder: str | Path, length: int | None = None) -> list[Record]:
    """The records of a run so far: step, seconds, and exploitability by policy name.

    With `length`, those in the first so many bytes.
    """
    path = Path(folder) / METRICS
    try:
        lines = path.read_bytes()[:length].split(b"\n")[
            :-1
        ]  # a last line without end is being written
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror or error}") from error
    records = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            assert isinstance(record["step"], int) and isinstance(record["seconds"], (int, float))
        except (ValueError, KeyError, TypeError, AssertionError) as error:
            raise RunError(f"{path}: line {number} is damaged") from error
        records.append(record)
    return records


def policy_names(records: Iterable[Record]) -> list[str]:
    """The policies that records judge, in their order."""
    return list(dict.fromkeys(key for r in records for key in r if key not in ("step", "seconds")))


def read_config(folder: Path) -> Config:
    """The config of a run."""
    return load_config(folder / CONFIG)


def find_runs(paths: Iterable[str | Path]) -> list[Path]:
    """The run folders that `paths` name: run folders, folders that hold some, or patterns."""
    found: dict[Path, None] = {}
    for given in paths:
        matches = [given]
        if has_magic(str(given)) and not Path(given).exists():
            matches = sorted(glob(str(given), recursive=True))
        runs = [run for match in matches for run in _runs_below(Path(match))]
        if not runs:
            raise ConfigError(f"there is no run in {given}")
        found |= dict.fromkeys(runs)
    return list(found)


def _runs_below(path: Path) -> list[Path]:
    if (path / CONFIG).is_file() and ((path / ENV).exists() or (path / METRICS).exists()):
        return [path]
    if not path.is_dir():
        return []
    inside = sorted(child for child in path.iterdir() if not child.name.startswith("."))
    return [run for child in inside if child.is_dir() for run in _runs_below(child)]
