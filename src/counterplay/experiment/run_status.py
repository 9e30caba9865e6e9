"""What a run says about itself while it goes, and what may be asked of it: files in its folder.

    process.json     who runs it, since when, at which attempt, and how it ended
    heartbeat.json   how far it has come, at most once a second
    stop             a request: write a checkpoint and end
    checkpoint       a request: write a checkpoint and go on

Anybody may make the last two, empty; the run answers within a moment and removes them. Nothing
here stops a run whose disk is full, and reading needs neither the game nor the algorithm.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from counterplay.core.archive import open_regular
from counterplay.errors import RunError
from counterplay.experiment.run_folder import METRICS_FILE, RunTakenOverError, write_json

PROCESS_FILE, HEARTBEAT_FILE = "process.json", "heartbeat.json"
STOP_REQUEST, CHECKPOINT_REQUEST = "stop", "checkpoint"  # names of requests
HEARTBEAT_SECONDS = 1.0  # seconds between two heartbeats, at least
LOST_AFTER_SECONDS = (
    30.0  # seconds without a heartbeat, after which a run on another machine counts as lost
)
MAX_STATUS_BYTES = 1 << 16  # bytes of such a file

# running now; at its end; ended on request; ended by an error; ended by a second Ctrl-C; ended
# without a word; on another machine and silent; not begun; ended, and nobody noted how
RUN_STATES = (
    "running",
    "finished",
    "stopped",
    "failed",
    "aborted",
    "killed",
    "lost",
    "new",
    "ended",
)


@dataclass(frozen=True)
class RunStatus:
    """How a run is doing, as its folder tells."""

    state: str  # one of STATES
    problem: str = ""  # why it failed
    process: dict[str, Any] | None = None  # process.json
    heartbeat: dict[str, Any] | None = None  # heartbeat.json


class Heartbeat:
    """Keeps process.json and heartbeat.json while a run goes, and looks for requests."""

    def __init__(self, folder: Path, stale_requests: dict[str, tuple[int, int]] | None = None):
        """The `old` requests were meant for a run that has ended, and are withdrawn."""
        self.folder = folder
        before = (_read_json_file(folder / PROCESS_FILE) or {}).get("attempt")
        attempt = before + 1 if isinstance(before, int) else 1
        self.process_info = process_identity(os.getpid()) | {
            "began": _utc_now(),
            "ended": None,
            "attempt": attempt,
        }
        self.is_recorded = False
        self.last_beat = self.rate_start = (-HEARTBEAT_SECONDS, 0)  # when, and at which step
        now = pending_requests(folder)
        for request, known in (now if stale_requests is None else stale_requests).items():
            if now.get(request) == known:
                remove_requests(folder, request)

    def record_start(self, step: int) -> None:
        """Note that this process runs it from here."""
        self.rate_start = (time.monotonic(), step)
        with contextlib.suppress(RunError):
            write_json(self.folder / PROCESS_FILE, self.process_info)
            self.is_recorded = True

    def check_ownership(self) -> None:
        """Raise `FencedError` if a later attempt has the run by now: then this one must not write.

        Where files can be locked nobody comes so far; on a network some cannot.
        """
        found = _read_json_file(self.folder / PROCESS_FILE) if self.is_recorded else None
        if found is not None and found != self.process_info:
            attempt = found.get("attempt")
            if isinstance(attempt, int) and attempt < self.process_info["attempt"]:
                with contextlib.suppress(RunError):  # a last word of one before us
                    write_json(self.folder / PROCESS_FILE, self.process_info)
                return
            who = f"process {found.get('pid')} on {found.get('host')}"
            raise RunTakenOverError(f"{self.folder} has been taken over by {who}")

    def beat(self, step: int, seconds: float, best: float | None, force: bool = False) -> None:
        """Note how far the run is, unless that was done less than a second ago."""
        now = time.monotonic()
        if now - self.last_beat[0] < HEARTBEAT_SECONDS and not force:
            return
        since, first = self.last_beat if self.last_beat[0] >= 0 else self.rate_start
        rate = (step - first) / max(now - since, 1e-9) if now - since > 0.2 else None
        self.last_beat = (now, step)
        heartbeat = {"step": step, "seconds": round(seconds, 3), "rate": rate, "best": best}
        _replace_json_file(self.folder / HEARTBEAT_FILE, heartbeat | {"time": _utc_now()})

    def is_requested(self, request: str) -> bool:
        """Whether somebody has made this request."""
        return (self.folder / request).exists()

    def record_end(self, outcome: str, step: int, problem: str = "") -> None:
        """Note how it ended: finished, stopped, failed or aborted; not in another's place."""
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
    """Ask a run to stop, or for a checkpoint; it answers within a moment."""
    try:
        (Path(folder) / request).touch()
    except OSError as error:
        raise RunError(f"cannot ask {folder} to {request}: {error.strerror or error}") from error


def pending_requests(folder: Path) -> dict[str, tuple[int, int]]:
    """The requests that are there, each with what tells it from a later one."""
    found = {}
    for request in (STOP_REQUEST, CHECKPOINT_REQUEST):
        with contextlib.suppress(OSError):
            info = os.stat(folder / request)
            found[request] = info.st_ino, info.st_mtime_ns
    return found


def remove_requests(folder: Path, *requests: str) -> None:
    """Remove these requests, or all of them."""
    for request in requests or (STOP_REQUEST, CHECKPOINT_REQUEST):
        with contextlib.suppress(OSError):
            (folder / request).unlink(missing_ok=True)


def read_status(folder: str | Path, locked_files: set[tuple[int, int]] | None = None) -> RunStatus:
    """How a run is doing. `locked` is what `locks` says, for those who ask about many runs."""
    place = Path(folder)
    process, heartbeat = (
        _read_json_file(place / PROCESS_FILE),
        _read_json_file(place / HEARTBEAT_FILE),
    )
    try:
        found = os.stat(place / METRICS_FILE)
        held = (found.st_dev, found.st_ino) in (
            find_locked_files() if locked_files is None else locked_files
        )
        begun = found.st_size > 0
    except OSError:
        held = begun = False
    ended = (process or {}).get("ended")
    if held:
        return RunStatus("running", "", process, heartbeat)
    if isinstance(ended, dict) and ended.get("how") in RUN_STATES:
        return RunStatus(ended["how"], str(ended.get("problem", "")), process, heartbeat)
    if process is None:
        return RunStatus("ended" if begun else "new", "", None, heartbeat)
    if process.get("host") != platform.node():
        quick = heartbeat is not None and _heartbeat_age_seconds(heartbeat) < LOST_AFTER_SECONDS
        return RunStatus("running" if quick else "lost", "", process, heartbeat)
    return RunStatus("running" if is_alive(process) else "killed", "", process, heartbeat)


def note_finished(folder: Path, step: int) -> None:
    """Complete process.json of a run whose process was killed before it noted the end."""
    process = _read_json_file(folder / PROCESS_FILE)
    if process is not None and not process.get("ended"):
        ended = _ending(folder, "finished", step)
        with contextlib.suppress(RunError):
            write_json(folder / PROCESS_FILE, process | {"ended": ended})


def _ending(folder: Path, how: str, step: int) -> dict[str, Any]:
    """Return what process.json says of a run that has ended."""
    ended = {"how": how, "time": _utc_now(), "step": step}
    with contextlib.suppress(OSError):
        ended["metrics_bytes"] = os.stat(folder / METRICS_FILE).st_size
    return ended


def finished_at(folder: str | Path) -> int | None:
    """Return the last step of a run that noted that it has finished; None for other runs."""
    ended = _read_ending(folder)
    step = ended.get("step") if ended.get("how") == "finished" else None
    return step if isinstance(step, int) else None


def final_metrics_bytes(folder: str | Path) -> int:
    """Return the size of metrics.jsonl that a run noted when it ended; 0 for other runs."""
    size = _read_ending(folder).get("metrics_bytes")
    return size if isinstance(size, int) else 0


def _read_ending(folder: str | Path) -> dict[str, Any]:
    ended = (_read_json_file(Path(folder) / PROCESS_FILE) or {}).get("ended")
    return ended if isinstance(ended, dict) else {}


def find_locked_files() -> set[tuple[int, int]]:
    """The files (device, inode) that processes of this machine have locked; a run locks its own."""
    found = set()
    try:
        with open("/proc/locks") as file:
            for line in file:
                words = line.split()
                if "FLOCK" in words and "->" not in words:
                    major, minor, inode = words[5].split(":")
                    found.add((os.makedev(int(major, 16), int(minor, 16)), int(inode)))
    except (OSError, ValueError, IndexError):  # a system that does not say
        pass
    return found


def process_identity(pid: int) -> dict[str, Any]:
    """What tells a process of this machine from every other one; `is_alive` looks for it."""
    return {
        "pid": pid,
        "start": _process_start_ticks(pid),
        "host": platform.node(),
        "boot": _boot_id(),
    }


def is_alive(process: dict[str, Any]) -> bool:
    """Whether the very process that was noted still runs; its number may be another's by now."""
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
    """When a process started, in ticks since the machine did; None if it is gone, or a corpse."""
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


def _heartbeat_age_seconds(heartbeat: dict[str, Any]) -> float:
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(heartbeat["time"])).total_seconds()
    except (KeyError, ValueError, TypeError):
        return float("inf")


def _read_json_file(path: Path) -> dict[str, Any] | None:
    try:
        with open_regular(path) as file:
            found = json.loads(file.read(MAX_STATUS_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _replace_json_file(path: Path, value: dict[str, Any]) -> None:
    """Write a file that may be lost with the power but is never seen half written."""
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
def track_process(heartbeat: Heartbeat, run: Any) -> Iterator[None]:
    """Inside a run goes; how it leaves is noted, whatever it is but a kill."""
    heartbeat.record_start(run.step)
    try:
        yield
    except KeyboardInterrupt:
        heartbeat.record_end("aborted", run.step)
        raise
    except BaseException as error:
        heartbeat.record_end("failed", run.step, str(error) or type(error).__name__)
        raise
