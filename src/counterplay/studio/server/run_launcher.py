"""Starts, stops, resumes and trashes runs.

A run is a process `python -m counterplay run` in its own session, which outlives the studio.
Configs wait in `.studio/queue` below the folder of runs until a core is free, also across restarts.
Entries that this user has not queued wait until the user approves them (see `queue_entries`). The
output of a run goes to log.txt in its folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from itertools import islice
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from counterplay.core import trust
from counterplay.core.archive import write_text
from counterplay.errors import RunError
from counterplay.experiment.run_folder import CONFIG_FILE
from counterplay.experiment.run_status import (
    STOP_REQUEST,
    is_alive,
    process_identity,
    read_status,
    send_request,
)
from counterplay.studio.server.queue_entries import (
    TICKET,
    config_code,
    entry_digest,
    is_signed,
    parse_entry,
    read_entry,
    sign,
)
from counterplay.studio.server.responses import ApiError, read_text_tail
from counterplay.studio.server.run_index import (
    RUN_ID_PATTERN,
    RunInfo,
    algorithm_from_config,
    game_spec_from_config,
)

LOG_FILE = "log.txt"
STATE_FOLDER, TRASH_FOLDER = ".studio", ".trash"
MAX_QUEUED_RUNS = 200
MAX_SHOWN_ENTRIES = 500  # of each state in the list
RUNNING_LINE_PATTERN = re.compile(r"^running (.+)$", re.MULTILINE)


class QueueEntry(TypedDict):
    """A config that is queued, starting, failed to start, or held until the user approves it."""

    ticket: str
    state: str
    config: dict[str, object]
    problem: NotRequired[str]  # of a failed entry
    code: NotRequired[str]  # of a held entry: the code that it would run
    digest: NotRequired[str]  # of a held entry: identifies config and code


class RunLauncher:
    """Starts processes of runs, at most `slots` at a time."""

    def __init__(self, runs_folder: Path, slots: int | None = None):
        self.runs_folder = runs_folder
        self.slots = slots or max((os.cpu_count() or 2) - 1, 1)
        self.process_by_name: dict[str, subprocess.Popen[bytes]] = {}  # by ticket, or by run id
        self.lock = threading.RLock()

    @property
    def state_folder(self) -> Path:
        return self.runs_folder / STATE_FOLDER

    def enqueue(self, config: dict[str, object]) -> str:
        """Put a valid config into the queue; return its ticket."""
        with self.lock:
            if len(self.list_queue()) >= MAX_QUEUED_RUNS:
                raise ApiError(409, "queue", f"{MAX_QUEUED_RUNS} runs are queued already")
            ticket = f"{time.time_ns():020d}-{secrets.token_hex(3)}"
            self._allow_upload(config)
            text = json.dumps(config, indent=2)
            self._sign(ticket, text.encode())
            self._write_file(self.state_folder / "queue" / f"{ticket}.json", text)
            return ticket

    def approve(self, ticket: str, digest: str) -> None:
        """Approve an entry that this user has not queued, and trust the code that it needs.

        Args:
            ticket: of the entry.
            digest: of the entry, from `list_pending`; a different one means that the entry or the
                code has changed since the user saw it.
        """
        with self.lock:
            path = self.state_folder / "queue" / f"{ticket}.json"
            try:
                content = read_entry(path) if TICKET.fullmatch(ticket) else b""
            except OSError:
                content = b""
            if not content:
                raise ApiError(404, "queue", "this entry is not in the queue any more")
            code = config_code(parse_entry(content))
            if digest != entry_digest(content):
                raise ApiError(409, "changed", "this entry has changed; look at it again")
            trust.remember(code)
            self._sign(ticket, content)

    def _sign(self, ticket: str, content: bytes) -> None:
        try:
            signature = sign(self.runs_folder, ticket, content)
        except RunError as error:
            raise ApiError(507, "disk", str(error)) from error
        self._write_file(self.state_folder / "queue" / f"{ticket}.hmac", signature)

    def _allow_upload(self, config: dict[str, object]) -> None:
        """Trust an uploaded game file, which is not in the folder of the run."""
        path = Path(game_spec_from_config(config))
        if path.parent == self.state_folder / "games" and path.is_file():
            trust.trust(path)

    def list_queue(self) -> list[Path]:
        """Return the queued configs in their order."""
        with contextlib.suppress(OSError):
            entries = sorted((self.state_folder / "queue").glob("*.json"))
            return [path for path in entries if TICKET.fullmatch(path.stem) and path.is_file()]
        return []

    def list_pending(self) -> list[QueueEntry]:
        """Return the configs that are queued, are starting, or failed to start."""
        entries = []
        for folder, state in (("queue", "queued"), ("starting", "starting"), ("failed", "failed")):
            paths = (
                self.list_queue()
                if state == "queued"
                else sorted((self.state_folder / folder).glob("*.json"))
            )
            for path in paths[:MAX_SHOWN_ENTRIES]:
                config = _read_json_object(path)
                entry: QueueEntry = {"ticket": path.stem, "state": state, "config": config}
                if state == "queued" and not is_signed(self.runs_folder, path):
                    self._hold(entry, path)
                if state == "failed":
                    entry["problem"] = self._failure_message(path.stem)
                entries.append(entry)
        return entries

    def _hold(self, entry: QueueEntry, path: Path) -> None:
        """Mark an entry as held until the user approves it, with its code and digest."""
        try:
            content = read_entry(path)
        except OSError:
            content = b""
        code = config_code(parse_entry(content))
        entry["state"] = "held"
        entry["code"] = ", ".join(one.path or one.name for one in code)
        entry["digest"] = entry_digest(content)

    def remove_pending(self, ticket: str) -> bool:
        """Remove a config that is queued or failed to start; return True if there was one."""
        if not TICKET.fullmatch(ticket):
            return False
        removed = False
        for folder in ("queue", "failed"):
            path = self.state_folder / folder / f"{ticket}.json"
            if path.exists():
                path.unlink()
                removed = True
        (self.state_folder / "queue" / f"{ticket}.hmac").unlink(missing_ok=True)
        (self.state_folder / "logs" / f"{ticket}.log").unlink(missing_ok=True)
        return removed

    def poll(self, running_pids: set[int]) -> bool:
        """Start queued runs while slots are free, and match started runs with their folders.

        Args:
            running_pids: processes of the runs in the index. Processes that this studio started
                count too, because the index may see their folders later.

        Returns:
            True if anything has changed.
        """
        with self.lock:
            changed = self._match_started_runs()
            records = map(_read_json_object, (self.state_folder / "starting").glob("*.process"))
            started = {
                process.pid for process in self.process_by_name.values() if process.poll() is None
            }
            busy = running_pids | started | {r["pid"] for r in records if is_alive(r)}
            signed = (path for path in self.list_queue() if is_signed(self.runs_folder, path))
            for path in list(islice(signed, max(self.slots - len(busy), 0))):
                self._start_queued_run(path)
                changed = True
            return changed

    def _start_queued_run(self, path: Path) -> None:
        ticket = path.stem
        config = self.state_folder / "starting" / path.name
        config.parent.mkdir(parents=True, exist_ok=True)
        log = self.state_folder / "logs" / f"{ticket}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, config)
        path.with_suffix(".hmac").unlink(missing_ok=True)
        name = str(_read_json_object(config).get("name", "run"))
        command = ["run", str(config), "--name", name, "--runs", str(self.runs_folder)]
        process = self.process_by_name[ticket] = self._spawn_process(command, log)
        self._write_file(config.with_suffix(".process"), json.dumps(process_identity(process.pid)))

    def _spawn_process(self, arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "counterplay", *arguments]
        try:
            with open(log, "ab") as output:
                return subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    close_fds=True,
                )
        except OSError as error:
            problem = f"cannot start a run: {error.strerror or error}"
            raise ApiError(500, "start", problem) from error

    def _match_started_runs(self) -> bool:
        """Remove started entries that have a run folder, and move failed ones to `failed`."""
        changed = False
        for ticket, process in list(self.process_by_name.items()):
            if process.poll() is not None and not self._is_starting(ticket):
                del self.process_by_name[ticket]
        for config in sorted((self.state_folder / "starting").glob("*.json")):
            ticket, log = config.stem, self.state_folder / "logs" / f"{config.stem}.log"
            match = RUNNING_LINE_PATTERN.search(read_text_tail(log))
            record = config.with_suffix(".process")
            if match and self._is_own_folder(Path(match[1])):
                with contextlib.suppress(OSError):
                    os.replace(log, Path(match[1]) / LOG_FILE)
                config.unlink(missing_ok=True)
            elif self._is_process_running(ticket) or is_alive(_read_json_object(record)):
                continue  # it may have been started by an earlier studio
            else:
                (self.state_folder / "failed").mkdir(parents=True, exist_ok=True)
                os.replace(config, self.state_folder / "failed" / config.name)
            record.unlink(missing_ok=True)
            changed = True
        return changed

    def _is_own_folder(self, folder: Path) -> bool:
        """Return True if a folder from a log is below the folder of runs."""
        try:
            return folder.resolve().is_relative_to(self.runs_folder.resolve())
        except (OSError, ValueError, RuntimeError):
            return False

    def _is_process_running(self, name: str) -> bool:
        """Return True if the process that this studio started for a ticket or a run still runs."""
        process = self.process_by_name.get(name)
        return process is not None and process.poll() is None

    def _is_starting(self, ticket: str) -> bool:
        return (self.state_folder / "starting" / f"{ticket}.json").exists()

    def _failure_message(self, ticket: str) -> str:
        lines = read_text_tail(self.state_folder / "logs" / f"{ticket}.log").strip().splitlines()
        return lines[-1].removeprefix("error: ") if lines else "it ended without a message"

    def stop(self, run: RunInfo) -> None:
        """Ask a run to write a checkpoint and end."""
        if read_status(run.folder).state != "running":
            raise ApiError(409, "not_running", f"{run.id} is not running")
        send_request(run.folder, STOP_REQUEST)

    def kill(self, run: RunInfo) -> None:
        """End the process of a run at once; steps after its last checkpoint are lost."""
        status = read_status(run.folder)
        process = status.process
        has_ended = status.state != "running"  # its process may live on, such as a notebook
        if has_ended or process is None or not is_alive(process) or process["pid"] == os.getpid():
            raise ApiError(409, "not_running", f"{run.id} is not running on this machine")
        os.kill(process["pid"], signal.SIGKILL)

    def resume(self, run: RunInfo, steps: int | None = None) -> None:
        """Continue a run in a new process, up to a step if `steps` is given."""
        with self.lock:
            if read_status(run.folder).state == "running" or self._is_process_running(run.id):
                raise ApiError(409, "running", f"{run.id} is running already")
            try:
                for spec in (game_spec_from_config(run.config), algorithm_from_config(run.config)):
                    trust.check_code(spec, run.folder / CONFIG_FILE)
            except trust.TrustError as error:
                raise ApiError(409, "trust", str(error)) from error
            more = [] if steps is None else ["--steps", str(steps)]
            self.process_by_name[run.id] = self._spawn_process(
                ["resume", str(run.folder), *more], run.folder / LOG_FILE
            )

    def trash(self, run: RunInfo) -> str:
        """Move a run to the trash; return the ticket for `restore`."""
        if read_status(run.folder).state == "running":
            raise ApiError(409, "running", f"{run.id} is running; stop it first")
        ticket = secrets.token_hex(8)
        folder = self.runs_folder / TRASH_FOLDER / ticket
        try:
            folder.mkdir(parents=True)
            self._write_file(folder / "from.json", json.dumps({"id": run.id}))
            os.rename(run.folder, folder / "run")
        except (OSError, ApiError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            problem = error.strerror if isinstance(error, OSError) else str(error)
            raise ApiError(507, "trash", f"cannot move {run.id}: {problem}") from error
        return ticket

    def restore(self, ticket: str, existing_runs: dict[str, RunInfo]) -> str:
        """Move a run back from the trash; return its id."""
        folder = self.runs_folder / TRASH_FOLDER / ticket
        is_ticket = re.fullmatch("[0-9a-f]{16}", ticket)
        name = _read_json_object(folder / "from.json").get("id") if is_ticket else ""
        is_id = isinstance(name, str) and RUN_ID_PATTERN.fullmatch(name)
        if not is_id or not (folder / "run").is_dir():
            raise ApiError(404, "trash", "this run is not in the trash any more")
        parts = str(name).split("/")
        if name in existing_runs or any(part in ("", ".", "..") for part in parts):
            raise ApiError(409, "taken", f"there is another run {name}")
        target = self.runs_folder.joinpath(*parts)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(folder / "run", target)
        except OSError as error:
            raise ApiError(500, "trash", f"cannot move {name} back: {error.strerror}") from error
        shutil.rmtree(folder, ignore_errors=True)
        return str(name)

    def _write_file(self, path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
        except OSError as error:
            raise ApiError(507, "disk", f"cannot write {path}: {error.strerror}") from error
        except RunError as error:
            raise ApiError(507, "disk", str(error)) from error


def _read_json_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty if it cannot be read."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
