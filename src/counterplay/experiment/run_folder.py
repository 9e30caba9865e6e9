"""The folder of a run: config.json, env.json, metrics.jsonl and the checkpoints."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import math
import os
import platform
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from counterplay import __version__
from counterplay.core.archive import sync_folder, write_text
from counterplay.errors import ConfigError, FileError, RunError
from counterplay.experiment.config import RunConfig, load_config

CONFIG_FILE, ENV_FILE, METRICS_FILE = "config.json", "env.json", "metrics.jsonl"
NEW_RUN_FILES = (CONFIG_FILE, ENV_FILE, METRICS_FILE)  # of a new run
CHECKPOINT_FILE, PREVIOUS_CHECKPOINT_FILE = "checkpoint.npz", "checkpoint.previous.npz"
TEMPORARY_PREFIX = ".new-"  # before the name of a folder that is being made
RECORDED_PACKAGES = ("numpy", "numba", "scipy", "pydantic", "jax", "jaxlib", "optax")


class RunLockedError(RunError):
    """Another process has the folder right now."""


class RunTakenOverError(RunError):
    """Another process has taken the run over; this one must not write any more."""


MetricsRecord = dict[str, Any]  # step, seconds, and the exploitability of each policy by name

# Last key of a line of metrics.jsonl: the CRC-32 of the file up to the comma before it. So it
# covers all lines before, and lost, doubled and swapped lines are found as well as altered ones.
CHECKSUM = "crc32"
CHECKSUM_MARK = f', "{CHECKSUM}": '.encode()


def create_run_folder(
    config: RunConfig, folder: str | Path | None, runs_folder: str | Path
) -> Path:
    """Make the folder of a new run, `runs/<name>/<UTC time>` unless one is given.

    It appears with its config inside or not at all, and never in the place of another.
    """
    names = (
        [Path(folder)] if folder is not None else _candidate_paths(Path(runs_folder) / config.name)
    )
    parent = names[0].parent
    try:
        missing = [place for place in (parent, *parent.parents) if not place.exists()]
        parent.mkdir(parents=True, exist_ok=True)
        for place in missing:
            sync_folder(place.parent)
        _remove_abandoned_folders(parent)
        new, handle = _make_temporary_folder(parent)
        try:
            os.chmod(new, 0o755)
            write_json(new / CONFIG_FILE, config.to_json())
            write_json(new / ENV_FILE, describe_environment(config.seed))
            (new / METRICS_FILE).touch()
            sync_folder(new)
            made = _move_to_free_path(new, names)
            sync_folder(parent)
            return made
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
    """A folder under a name of its own; until the handle is closed, nobody sweeps it away."""
    while True:
        new = Path(tempfile.mkdtemp(dir=parent, prefix=TEMPORARY_PREFIX))
        try:
            handle = os.open(new, os.O_RDONLY)
        except FileNotFoundError:  # swept away before it was locked
            continue
        except OSError:  # a system that does not open folders
            return new, None
        if try_lock(handle) is not False and new.exists():
            return new, handle
        os.close(handle)


def _remove_abandoned_folders(parent: Path) -> None:
    """Remove the folders of processes that were killed while they made them."""
    for left in parent.glob(f"{TEMPORARY_PREFIX}*"):
        with contextlib.suppress(OSError):
            handle = os.open(left, os.O_RDONLY)
            try:
                ours = all(
                    path.name.lstrip(".").startswith(NEW_RUN_FILES) for path in left.iterdir()
                )
                if try_lock(handle) and ours:
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(handle)


def _candidate_paths(parent: Path) -> list[Path]:
    time = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return [parent / time, *(parent / f"{time}-{number}" for number in range(2, 1000))]


def _move_to_free_path(new: Path, names: Sequence[Path]) -> Path:
    for name in names:
        try:
            if not name.exists():
                os.rename(new, name)  # fails where somebody else has just put a run
                return name
        except OSError:
            if not name.exists():
                raise
    raise ConfigError(f"{names[0]} exists already; choose another folder, or resume it")


def describe_environment(seed: int) -> dict[str, Any]:
    """What a run depends on beside its config."""
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
    """Note in env.json that the run goes on here, perhaps with other versions."""
    try:
        first = json.loads((folder / ENV_FILE).read_bytes())
        resumed = [*first.get("resumed", [])]
    except (OSError, ValueError, AttributeError, TypeError):
        first, resumed = describe_environment(seed), []
    first["resumed"] = [*resumed, {"step": step} | describe_environment(seed)]
    write_json(folder / ENV_FILE, first)


def _source_commit(package: Path) -> str | None:
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


class MetricsWriter:
    """metrics.jsonl, open for one process at a time; what came after `length` bytes is dropped."""

    def __init__(self, folder: Path, length: int, sha256: str = ""):
        self.path, self.num_bytes = folder / METRICS_FILE, length
        try:
            self.file = open(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")  # noqa: SIM115
            try:
                held = try_lock(self.file.fileno())
                if held is False:
                    raise RunLockedError(f"another process is running {folder} right now")
                kept = self.file.read(length)
                self.digest, self.crc = hashlib.sha256(kept), zlib.crc32(kept)
                if len(kept) < length or sha256 not in ("", self.digest.hexdigest()):
                    raise RunLockedError(f"{self.path} has changed since it was read; resume again")
                if held is None and os.name == "posix":
                    self._replace_file(kept)
                self.file.truncate(length)
            except BaseException:
                self.file.close()
                raise
        except OSError as error:
            raise self._write_error(error) from error

    def __enter__(self) -> MetricsWriter:
        return self

    def __exit__(self, *problem: Any) -> None:
        with contextlib.suppress(OSError):  # a full disk was reported when the record was added
            self.file.close()

    def _replace_file(self, content: bytes) -> None:
        """Nobody can be locked out here: whoever still writes keeps the old file, without a name"""
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{METRICS_FILE}.")
        self.file.close()
        self.file = open(handle, "r+b")  # noqa: SIM115
        self.file.write(content)
        self.file.flush()
        os.chmod(name, 0o644)
        os.fsync(handle)
        os.replace(name, self.path)

    def append(self, record: Mapping[str, Any]) -> None:
        """Append a record; readers see it at once."""
        body = json.dumps(record).encode().removesuffix(b"}")
        line = body + _ending({CHECKSUM: zlib.crc32(body, self.crc)}) + b"\n"
        self._check_unchanged()
        try:
            self.file.write(line)
            self.file.flush()
        except OSError as error:
            raise self._write_error(error) from error
        self.digest.update(line)
        self.crc = zlib.crc32(line, self.crc)
        self.num_bytes += len(line)

    def sync(self) -> tuple[int, str]:
        """The length in bytes and their SHA-256, once all of them are on the disk."""
        self._check_unchanged()
        try:
            os.fsync(self.file.fileno())
        except OSError as error:
            raise self._write_error(error) from error
        return self.num_bytes, self.digest.hexdigest()

    def _check_unchanged(self) -> None:
        """What is written must be what others read under the name."""
        mine = os.fstat(self.file.fileno())
        try:
            if os.path.samestat(mine, os.stat(self.path)) and mine.st_size == self.num_bytes:
                return
        except FileNotFoundError:
            pass
        except OSError as error:
            raise self._write_error(error) from error
        raise RunError(f"somebody has removed or changed {self.path} during the run")

    def _write_error(self, error: OSError) -> RunError:
        return RunError(f"cannot write {self.path}: {error.strerror or error}")


def try_lock(file_descriptor: int) -> bool | None:
    """Whether this process alone has the file until it ends, however it ends; None: no locks."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return None
    try:
        fcntl.flock(file_descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # not on this file system
        return None
    return True


def load_metrics(folder: str | Path, length: int | None = None) -> list[MetricsRecord]:
    """Load the records of a run so far: step, seconds, and exploitability by policy name.

    Records of a run on rules hold counts, such as `infosets`, instead of exploitabilities.

    Args:
        folder: the folder of the run, which may be going on.
        length: read only that many bytes of the file.

    Raises:
        FileError: a line is damaged, or records of a run that has ended are missing. Files written
            before lines had checksums are checked for their schema and the order of steps only.
    """
    path = Path(folder) / METRICS_FILE
    content = _read_bytes(path)
    records = _parse_records(path, content[:length])
    if length is None:
        _check_ending(path, content, records)
    return records


def _check_ending(path: Path, content: bytes, records: list[MetricsRecord]) -> None:
    """Raise `FileError` if a run that has ended lacks records that it had written."""
    from counterplay.experiment.run_status import final_metrics_bytes, finished_at

    end, last = finished_at(path.parent), records[-1]["step"] if records else 0
    if end is not None and last < end:
        raise FileError(f"{path} is damaged: it ends at step {last}, but the run finished at {end}")
    size = final_metrics_bytes(path.parent)
    complete = len(content) if content.endswith(b"\n") else content.rfind(b"\n") + 1
    if complete < size:
        problem = f"its last record ends at byte {complete:,}, but the run wrote {size:,} bytes"
        raise FileError(f"{path} is damaged: {problem}")


def check_metrics(
    folder: Path, checkpoint: Path, length: int, sha256: str, last_recorded_step: int
) -> None:
    """Raise `RunError` unless metrics.jsonl begins with the records that a checkpoint had."""
    path = folder / METRICS_FILE
    content = _read_bytes(path)[:length]
    if len(content) < length:
        raise FileError(f"{path} lacks records that {checkpoint} had")
    if sha256 not in ("", hashlib.sha256(content).hexdigest()):
        raise FileError(f"{path} has other records than {checkpoint} had")
    steps = [record["step"] for record in _parse_records(path, content)]
    if (content and not content.endswith(b"\n")) or last_recorded_step != max(steps, default=0):
        raise FileError(f"{path} has other records than {checkpoint} had")


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error


def _parse_records(path: Path, content: bytes) -> list[MetricsRecord]:
    records: list[MetricsRecord] = []
    before: MetricsRecord | None = None
    crc = 0
    for number, line in enumerate(content.split(b"\n")[:-1], 1):  # the rest is being written
        try:
            record = json.loads(line)
            problem = _find_record_problem(record, before)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            problem = "not a record"
        if not problem and CHECKSUM in record:
            body = line[: line.rfind(CHECKSUM_MARK)]
            if zlib.crc32(body, crc) != record[CHECKSUM] or body + _ending(record) != line:
                problem = "the file up to here does not match its checksum"
        if problem:
            raise FileError(f"{path}: line {number} is damaged: {problem}")
        crc = zlib.crc32(line + b"\n", crc)
        before = record
        records.append({key: value for key, value in record.items() if key != CHECKSUM})
    return records


def _ending(record: MetricsRecord) -> bytes:
    return CHECKSUM_MARK + b"%d}" % record[CHECKSUM]


def _find_record_problem(record: MetricsRecord, previous: MetricsRecord | None) -> str:
    """Why a record cannot follow the one before, or nothing."""
    if type(record["step"]) is not int or not 0 <= record["step"] < 2**63:
        return f"step is {record['step']!r}"
    for name, value in record.items():
        if type(value) not in (int, float) or not math.isfinite(value):
            return f"{name} is {value!r}"
    if type(record.get(CHECKSUM, 0)) is not int:
        return f"{CHECKSUM} is {record[CHECKSUM]!r}"
    if record["seconds"] < (previous["seconds"] if previous else 0.0):
        return f"{record['seconds']} seconds after {previous['seconds'] if previous else 0.0}"
    if previous is None:
        return ""
    if record.keys() - {CHECKSUM} != previous.keys() - {CHECKSUM}:
        return f"it has {', '.join(record)}, and the one before {', '.join(previous)}"
    if CHECKSUM in previous and CHECKSUM not in record:
        return "it has no checksum, and the one before has"
    if record["step"] <= previous["step"]:
        return f"step {record['step']} after step {previous['step']}"
    return ""


def policy_names(records: Iterable[MetricsRecord]) -> list[str]:
    """The policies that records judge, in their order."""
    return list(dict.fromkeys(key for r in records for key in r if key not in ("step", "seconds")))


def load_run_config(folder: Path) -> RunConfig:
    """The config of a run."""
    return load_config(folder / CONFIG_FILE)


def find_runs(paths: Iterable[str | Path]) -> list[Path]:
    """The run folders that `paths` name: run folders, folders that hold some, or patterns."""
    found: dict[Path, None] = {}
    for given in paths:
        matches = [given]
        if has_magic(str(given)) and not Path(given).exists():
            matches = sorted(glob(str(given), recursive=True))
        runs = [run for match in matches for run in _find_runs_below(Path(match))]
        if not runs:
            raise ConfigError(f"there is no run in {given}")
        found |= dict.fromkeys(runs)
    return list(found)


def _find_runs_below(path: Path) -> list[Path]:
    if (path / CONFIG_FILE).is_file() and (
        (path / ENV_FILE).exists() or (path / METRICS_FILE).exists()
    ):
        return [path]
    if not path.is_dir():
        return []
    inside = sorted(child for child in path.iterdir() if not child.name.startswith("."))
    return [run for child in inside if child.is_dir() for run in _find_runs_below(child)]
