"""The status of a run, and requests to it, as files in its folder.

    process.json     the process that runs it, since when, at which attempt, and how it ended
    heartbeat.json   the step it has reached, written at most once a second
    stop             a request to write a checkpoint and end
    checkpoint       a request to write a checkpoint and continue

Any program may create the last two, as empty files; the run handles them within about a second and
removes them. A full disk does not stop a run from here, and reading the status needs neither the
game nor the algorithm.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from counterplay.core.archive import open_regular
from counterplay.errors import RunError
from counterplay.experiment.config import JsonObject
from counterplay.experiment.run_folder import METRICS_FILE, RunTakenOverError, write_json

PROCESS_FILE, HEARTBEAT_FILE = "process.json", "heartbeat.json"
STOP_REQUEST, CHECKPOINT_REQUEST = "stop", "checkpoint"  # names of requests
HEARTBEAT_SECONDS = 1.0  # between two heartbeats, at least
LOST_AFTER_SECONDS = 30.0  # without a heartbeat, a run on another machine counts as lost
MAX_STATUS_BYTES = 1 << 16  # of process.json and heartbeat.json

RUN_STATES = (
    "running",
    "finished",  # reached its last step
    "stopped",  # on request
    "failed",  # by an error
    "aborted",  # by a second Ctrl-C
    "killed",  # without recording its end
    "lost",  # on another machine, without a heartbeat
    "new",  # has not started
    "ended",  # has records, but its end was not recorded
)

RequestIds = dict[str, tuple[int, int]]  # inode and time of change of each pending request


@dataclass(frozen=True)
class RunStatus:
    """The status of a run, read from its folder."""

    state: str  # one of RUN_STATES
    problem: str = ""  # why it failed
    process: JsonObject | None = None  # process.json
    heartbeat: JsonObject | None = None  # heartbeat.json


class SteppedRun(Protocol):
    """A run whose step is known."""

    @property
    def step(self) -> int: ...


class Heartbeat:
    """Writes process.json and heartbeat.json during a run, and checks for requests.

    Args:
        folder: the folder of the run.
        stale_requests: requests that were meant for an earlier process and are removed; by default
            all pending requests.
    """

    def __init__(self, folder: Path, stale_requests: RequestIds | None = None):
        self.folder = folder
        previous_attempt = (_read_json_file(folder / PROCESS_FILE) or {}).get("attempt")
        self.attempt = previous_attempt + 1 if isinstance(previous_attempt, int) else 1
        self.process_info: JsonObject = process_identity(os.getpid()) | {
            "began": _utc_now(),
            "ended": None,
            "attempt": self.attempt,
        }
        self.is_recorded = False
        self.last_beat = self.rate_start = (-HEARTBEAT_SECONDS, 0)  # time and step
        pending = pending_requests(folder)
        for request, identity in (pending if stale_requests is None else stale_requests).items():
            if pending.get(request) == identity:
                remove_requests(folder, request)

    def record_start(self, step: int) -> None:
        """Write process.json with this process as the one that runs from this step."""
        self.rate_start = (time.monotonic(), step)
        with contextlib.suppress(RunError):
            write_json(self.folder / PROCESS_FILE, self.process_info)
            self.is_recorded = True

    def check_ownership(self) -> None:
        """Raise RunTakenOverError if a later attempt runs it, so that this one must not write.

        Needed only on network file systems without locks.
        """
        recorded = _read_json_file(self.folder / PROCESS_FILE) if self.is_recorded else None
        if recorded is not None and recorded != self.process_info:
            attempt = recorded.get("attempt")
            if isinstance(attempt, int) and attempt < self.attempt:
                with contextlib.suppress(RunError):  # an earlier process has recorded its end
                    write_json(self.folder / PROCESS_FILE, self.process_info)
                return
            owner = f"process {recorded.get('pid')} on {recorded.get('host')}"
            raise RunTakenOverError(f"{self.folder} has been taken over by {owner}")

    def beat(self, step: int, seconds: float, best: float | None, force: bool = False) -> None:
        """Write heartbeat.json, unless that was done less than a second ago.

        Args:
            seconds: time spent in the algorithm.
            best: the lowest exploitability so far.
            force: write it in any case.
        """
        time_now = time.monotonic()
        if time_now - self.last_beat[0] < HEARTBEAT_SECONDS and not force:
            return
        since, first = self.last_beat if self.last_beat[0] >= 0 else self.rate_start
        elapsed = time_now - since
        rate = (step - first) / elapsed if elapsed > 0.2 else None
        self.last_beat = (time_now, step)
        heartbeat = {"step": step, "seconds": round(seconds, 3), "rate": rate, "best": best}
        _replace_json_file(self.folder / HEARTBEAT_FILE, heartbeat | {"time": _utc_now()})

    def is_requested(self, request: str) -> bool:
        """Return True if this request is pending."""
        return (self.folder / request).exists()

    def record_end(self, outcome: str, step: int, problem: str = "") -> None:
        """Record how the run ended, unless another process has taken it over.

        Args:
            outcome: finished, stopped, failed or aborted.
        """
        with contextlib.suppress(RunTakenOverError):
            self.check_ownership()
            self._write_end(outcome, step, problem)

    def _write_end(self, outcome: str, step: int, problem: str) -> None:
        ended = _ending(self.folder, outcome, step)
        if problem:
            ended["problem"] = problem
        with contextlib.suppress(RunError):
            write_json(self.folder / PROCESS_FILE, self.process_info | {"ended": ended})
        remove_requests(self.folder)


def send_request(folder: str | Path, request: str) -> None:
    """Request a stop or a checkpoint of a run, which handles it within about a second."""
    try:
        (Path(folder) / request).touch()
    except OSError as error:
        raise RunError(f"cannot ask {folder} to {request}: {error.strerror or error}") from error


def pending_requests(folder: Path) -> RequestIds:
    """Return the pending requests, each with an identity that a later one does not have."""
    pending = {}
    for request in (STOP_REQUEST, CHECKPOINT_REQUEST):
        with contextlib.suppress(OSError):
            info = os.stat(folder / request)
            pending[request] = info.st_ino, info.st_mtime_ns
    return pending


def remove_requests(folder: Path, *requests: str) -> None:
    """Remove these requests, or all of them."""
    for request in requests or (STOP_REQUEST, CHECKPOINT_REQUEST):
        with contextlib.suppress(OSError):
            (folder / request).unlink(missing_ok=True)


def read_status(folder: str | Path, locked_files: set[tuple[int, int]] | None = None) -> RunStatus:
    """Read the status of a run.

    Args:
        locked_files: the result of `find_locked_files`, for callers that read many runs.
    """
    path = Path(folder)
    process, heartbeat = (_read_json_file(path / name) for name in (PROCESS_FILE, HEARTBEAT_FILE))
    try:
        info = os.stat(path / METRICS_FILE)
        locked = find_locked_files() if locked_files is None else locked_files
        is_locked, has_records = (info.st_dev, info.st_ino) in locked, info.st_size > 0
    except OSError:
        is_locked = has_records = False
    ended = (process or {}).get("ended")
    if is_locked:
        return RunStatus("running", "", process, heartbeat)
    if isinstance(ended, dict) and ended.get("how") in RUN_STATES:
        return RunStatus(ended["how"], str(ended.get("problem", "")), process, heartbeat)
    if process is None:
        return RunStatus("ended" if has_records else "new", "", None, heartbeat)
    if process.get("host") != platform.node():
        is_recent = heartbeat is not None and _heartbeat_age_seconds(heartbeat) < LOST_AFTER_SECONDS
        return RunStatus("running" if is_recent else "lost", "", process, heartbeat)
    return RunStatus("running" if is_alive(process) else "killed", "", process, heartbeat)


def note_finished(folder: Path, step: int) -> None:
    """Record the end of a finished run whose process was killed before it did so."""
    process = _read_json_file(folder / PROCESS_FILE)
    if process is not None and not process.get("ended"):
        ended = _ending(folder, "finished", step)
        with contextlib.suppress(RunError):
            write_json(folder / PROCESS_FILE, process | {"ended": ended})


def _ending(folder: Path, how: str, step: int) -> JsonObject:
    """Return the entry `ended` of process.json."""
    ended: JsonObject = {"how": how, "time": _utc_now(), "step": step}
    with contextlib.suppress(OSError):
        ended["metrics_bytes"] = os.stat(folder / METRICS_FILE).st_size
    return ended


def finished_at(folder: str | Path) -> int | None:
    """Return the last step of a run that has recorded that it finished; None for other runs."""
    ended = _read_ending(folder)
    step = ended.get("step") if ended.get("how") == "finished" else None
    return step if isinstance(step, int) else None


def final_metrics_bytes(folder: str | Path) -> int:
    """Return the size of metrics.jsonl that a run recorded when it ended; 0 for other runs."""
    size = _read_ending(folder).get("metrics_bytes")
    return size if isinstance(size, int) else 0


def _read_ending(folder: str | Path) -> JsonObject:
    ended = (_read_json_file(Path(folder) / PROCESS_FILE) or {}).get("ended")
    return ended if isinstance(ended, dict) else {}


def find_locked_files() -> set[tuple[int, int]]:
    """Return the files (device, inode) locked on this machine; a run locks its metrics.jsonl."""
    locked = set()
    try:
        with open("/proc/locks") as file:
            for line in file:
                words = line.split()
                if "FLOCK" in words and "->" not in words:
                    major, minor, inode = words[5].split(":")
                    locked.add((os.makedev(int(major, 16), int(minor, 16)), int(inode)))
    except (OSError, ValueError, IndexError):  # a system without this list
        pass
    return locked


def process_identity(pid: int) -> JsonObject:
    """Return entries that identify a process of this machine uniquely, for `is_alive`."""
    return {
        "pid": pid,
        "start": _process_start_ticks(pid),
        "host": platform.node(),
        "boot": _boot_id(),
    }


def is_alive(process: Mapping[str, object]) -> bool:
    """Return True if the process of an identity still runs; its id may belong to another one."""
    pid, start = process.get("pid"), process.get("start")
    if not isinstance(pid, int) or pid <= 0 or process.get("boot") != _boot_id():
        return False
    if process.get("host") != platform.node():
        return False
    if start is not None:
        return _process_start_ticks(pid) == start
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _process_start_ticks(pid: int) -> int | None:
    """Return the start of a process in ticks since boot; None if it has ended or is a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        state, *fields = text.rpartition(")")[2].split()
        return None if state in "ZX" else int(fields[18])
    except (OSError, ValueError, IndexError):
        return None


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _heartbeat_age_seconds(heartbeat: JsonObject) -> float:
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(heartbeat["time"])).total_seconds()
    except (KeyError, ValueError, TypeError):
        return float("inf")


def _read_json_file(path: Path) -> JsonObject | None:
    """Return the JSON object of a file, or None if it is missing or damaged."""
    try:
        with open_regular(path) as file:
            content = json.loads(file.read(MAX_STATUS_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _replace_json_file(path: Path, value: JsonObject) -> None:
    """Replace a file atomically but without waiting for the disk; errors are ignored."""
    with contextlib.suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w") as file:
                json.dump(value, file)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise


@contextlib.contextmanager
def track_process(heartbeat: Heartbeat, run: SteppedRun) -> Iterator[None]:
    """Record the start of a run, and its end if an exception leaves the `with` block."""
    heartbeat.record_start(run.step)
    try:
        yield
    except KeyboardInterrupt:
        heartbeat.record_end("aborted", run.step)
        raise
    except BaseException as error:
        heartbeat.record_end("failed", run.step, str(error) or type(error).__name__)
        raise
