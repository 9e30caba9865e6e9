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

from counterplay.errors import RunError
from counterplay.experiment.folder import METRICS, FencedError, write_json
from counterplay.files import open_regular

PROCESS, HEARTBEAT = "process.json", "heartbeat.json"
STOP, CHECKPOINT = "stop", "checkpoint"  # names of requests
BEAT = 1.0  # seconds between two heartbeats, at least
MISSED = 30.0  # seconds without a heartbeat, after which a run on another machine counts as lost
LARGEST = 1 << 16  # bytes of such a file

# running now; at its end; ended on request; ended by an error; ended by a second Ctrl-C; ended
# without a word; on another machine and silent; not begun; ended, and nobody noted how
STATES = ("running", "finished", "stopped", "failed", "aborted", "killed", "lost", "new", "ended")


@dataclass(frozen=True)
class Status:
    """How a run is doing, as its folder tells."""

    state: str  # one of STATES
    problem: str = ""  # why it failed
    process: dict[str, Any] | None = None  # process.json
    heartbeat: dict[str, Any] | None = None  # heartbeat.json


class Pulse:
    """Keeps process.json and heartbeat.json while a run goes, and looks for requests."""

    def __init__(self, folder: Path, old: dict[str, tuple[int, int]] | None = None):
        """The `old` requests were meant for a run that has ended, and are withdrawn."""
        self.folder = folder
        before = (_read(folder / PROCESS) or {}).get("attempt")
        attempt = before + 1 if isinstance(before, int) else 1
        self.facts = identity(os.getpid()) | {"began": _now(), "ended": None, "attempt": attempt}
        self.noted = False
        self.beaten = self.before = (-BEAT, 0)  # when, and at which step
        now = requests(folder)
        for request, known in (now if old is None else old).items():
            if now.get(request) == known:
                withdraw(folder, request)

    def start(self, step: int) -> None:
        """Note that this process runs it from here."""
        self.before = (time.monotonic(), step)
        with contextlib.suppress(RunError):
            write_json(self.folder / PROCESS, self.facts)
            self.noted = True

    def check(self) -> None:
        """Raise `FencedError` if a later attempt has the run by now: then this one must not write.

        Where files can be locked nobody comes so far; on a network some cannot.
        """
        found = _read(self.folder / PROCESS) if self.noted else None
        if found is not None and found != self.facts:
            attempt = found.get("attempt")
            if isinstance(attempt, int) and attempt < self.facts["attempt"]:
                with contextlib.suppress(RunError):  # a last word of one before us
                    write_json(self.folder / PROCESS, self.facts)
                return
            who = f"process {found.get('pid')} on {found.get('host')}"
            raise FencedError(f"{self.folder} has been taken over by {who}")

    def beat(self, step: int, seconds: float, best: float | None, force: bool = False) -> None:
        """Note how far the run is, unless that was done less than a second ago."""
        now = time.monotonic()
        if now - self.beaten[0] < BEAT and not force:
            return
        since, first = self.beaten if self.beaten[0] >= 0 else self.before
        rate = (step - first) / max(now - since, 1e-9) if now - since > 0.2 else None
        self.beaten = (now, step)
        heartbeat = {"step": step, "seconds": round(seconds, 3), "rate": rate, "best": best}
        _replace(self.folder / HEARTBEAT, heartbeat | {"time": _now()})

    def asked(self, request: str) -> bool:
        """Whether somebody has made this request."""
        return (self.folder / request).exists()

    def end(self, how: str, step: int, problem: str = "") -> None:
        """Note how it ended: finished, stopped, failed or aborted; not in another's place."""
        with contextlib.suppress(FencedError):
            self.check()
            self._end(how, step, problem)

    def _end(self, how: str, step: int, problem: str) -> None:
        ended = _ending(self.folder, how, step)
        if problem:
            ended["problem"] = problem
        with contextlib.suppress(RunError):
            write_json(self.folder / PROCESS, self.facts | {"ended": ended})
        withdraw(self.folder)


def ask(folder: str | Path, request: str) -> None:
    """Ask a run to stop, or for a checkpoint; it answers within a moment."""
    try:
        (Path(folder) / request).touch()
    except OSError as error:
        raise RunError(f"cannot ask {folder} to {request}: {error.strerror or error}") from error


def requests(folder: Path) -> dict[str, tuple[int, int]]:
    """The requests that are there, each with what tells it from a later one."""
    found = {}
    for request in (STOP, CHECKPOINT):
        with contextlib.suppress(OSError):
            info = os.stat(folder / request)
            found[request] = info.st_ino, info.st_mtime_ns
    return found


def withdraw(folder: Path, *requests: str) -> None:
    """Remove these requests, or all of them."""
    for request in requests or (STOP, CHECKPOINT):
        with contextlib.suppress(OSError):
            (folder / request).unlink(missing_ok=True)


def status(folder: str | Path, locked: set[tuple[int, int]] | None = None) -> Status:
    """How a run is doing. `locked` is what `locks` says, for those who ask about many runs."""
    place = Path(folder)
    process, heartbeat = _read(place / PROCESS), _read(place / HEARTBEAT)
    try:
        found = os.stat(place / METRICS)
        held = (found.st_dev, found.st_ino) in (locks() if locked is None else locked)
        begun = found.st_size > 0
    except OSError:
        held = begun = False
    ended = (process or {}).get("ended")
    if held:
        return Status("running", "", process, heartbeat)
    if isinstance(ended, dict) and ended.get("how") in STATES:
        return Status(ended["how"], str(ended.get("problem", "")), process, heartbeat)
    if process is None:
        return Status("ended" if begun else "new", "", None, heartbeat)
    if process.get("host") != platform.node():
        quick = heartbeat is not None and _age(heartbeat) < MISSED
        return Status("running" if quick else "lost", "", process, heartbeat)
    return Status("running" if is_alive(process) else "killed", "", process, heartbeat)


def note_finished(folder: Path, step: int) -> None:
    """Complete process.json of a run whose process was killed before it noted the end."""
    process = _read(folder / PROCESS)
    if process is not None and not process.get("ended"):
        ended = _ending(folder, "finished", step)
        with contextlib.suppress(RunError):
            write_json(folder / PROCESS, process | {"ended": ended})


def _ending(folder: Path, how: str, step: int) -> dict[str, Any]:
    """Return what process.json says of a run that has ended."""
    ended = {"how": how, "time": _now(), "step": step}
    with contextlib.suppress(OSError):
        ended["metrics_bytes"] = os.stat(folder / METRICS).st_size
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
    ended = (_read(Path(folder) / PROCESS) or {}).get("ended")
    return ended if isinstance(ended, dict) else {}


def locks() -> set[tuple[int, int]]:
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


def identity(pid: int) -> dict[str, Any]:
    """What tells a process of this machine from every other one; `is_alive` looks for it."""
    return {"pid": pid, "start": _start(pid), "host": platform.node(), "boot": _boot()}


def is_alive(process: dict[str, Any]) -> bool:
    """Whether the very process that was noted still runs; its number may be another's by now."""
    pid, start = process.get("pid"), process.get("start")
    if not isinstance(pid, int) or pid <= 0 or process.get("boot") != _boot():
        return False
    if process.get("host") != platform.node():
        return False
    if start is not None:
        return _start(pid) == start
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _start(pid: int) -> int | None:
    """When a process started, in ticks since the machine did; None if it is gone, or a corpse."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        state, *fields = text.rpartition(")")[2].split()
        return None if state in "ZX" else int(fields[18])
    except (OSError, ValueError, IndexError):
        return None


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _age(heartbeat: dict[str, Any]) -> float:
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(heartbeat["time"])).total_seconds()
    except (KeyError, ValueError, TypeError):
        return float("inf")


def _read(path: Path) -> dict[str, Any] | None:
    try:
        with open_regular(path) as file:
            found = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _replace(path: Path, value: dict[str, Any]) -> None:
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
def noted(pulse: Pulse, run: Any) -> Iterator[None]:
    """Inside a run goes; how it leaves is noted, whatever it is but a kill."""
    pulse.start(run.step)
    try:
        yield
    except KeyboardInterrupt:
        pulse.end("aborted", run.step)
        raise
    except BaseException as error:
        pulse.end("failed", run.step, str(error) or type(error).__name__)
        raise
