"""The runs below a folder: found, read at their ends, and watched as they go.

Lists need only the last record of a run and a few on the way, so a hundred runs of a hundred
thousand records are listed without reading them. What a chart needs is read when it is asked for
and kept for the last few.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections import OrderedDict
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from counterplay.core.archive import open_regular
from counterplay.errors import RunError
from counterplay.experiment.metrics import MetricSeries, read_last_record, sample_records
from counterplay.experiment.run_folder import (
    CHECKPOINT_FILE,
    CONFIG_FILE,
    ENV_FILE,
    METRICS_FILE,
)
from counterplay.experiment.run_status import (
    HEARTBEAT_FILE,
    PROCESS_FILE,
    RunStatus,
    find_locked_files,
    read_status,
)
from counterplay.registry import GAMES, import_registered
from counterplay.studio.server.request_validation import depth_of

RUN_ID_PATTERN = re.compile(r"[A-Za-z0-9][\w.+-]*(/[A-Za-z0-9][\w.+-]*){0,3}")
MAX_FOLDER_DEPTH = 4  # folders below the root that are looked into
MAX_CACHED_SERIES = 12  # series in memory
RESCAN_SECONDS = 0.9  # seconds between two looks for new folders
QUIET_SECONDS = 2.0  # seconds without a question, before long files are read for their best record
MAX_SCANNED_FOLDERS = 20_000  # folders looked at
POPULATION = "population.npz"  # the file of a run with pools of policies
MAX_CONFIG_DEPTH = 32  # nested lists and objects


@dataclass
class RunInfo:
    """A run as it was last looked at."""

    id: str
    folder: Path
    config: dict[str, Any] = field(default_factory=dict)
    game: str = ""  # as `load_game` takes it
    read_error: str = ""
    file_stamps: tuple[Any, ...] = ()  # of its files
    status: RunStatus = field(default_factory=lambda: RunStatus("new"))
    last_record: dict[str, float] | None = None
    sampled_records: list[dict[str, float]] = field(default_factory=list)
    sampled_bytes: int = 0  # bytes there were
    best: float | None = None
    metrics_bytes: int = 0  # of metrics.jsonl
    checkpoint_time_ns: int = 0  # when it was written, in ns; 0: there is none
    version: int = 0  # counts changes

    @property
    def main_policy(self) -> str:
        names = [name for name in self.last_record or {} if name not in ("step", "seconds")]
        return names[0] if names else ""  # the first carries the guarantee

    @property
    def is_running(self) -> bool:
        return self.status.state == "running"

    @property
    def is_exact(self) -> bool:
        """Whether its records are exploitabilities."""
        return self.config.get("arena", "tree") != "rules"

    def summary(self) -> dict[str, Any]:
        """Return what the list of runs shows; any file of the folder may hold anything."""
        spec = _as_dict(self.config.get("spec"))
        beat, process = _as_dict(self.status.heartbeat), _as_dict(self.status.process)
        last = self.last_record or {}
        step = max(_as_int(last.get("step")), _as_int(beat.get("step")))
        ended = _as_dict(process.get("ended"))
        rate = beat.get("rate") if self.is_running else None
        return {
            "id": self.id,
            "name": str(self.config.get("name") or self.id.split("/")[0])[:200],
            "damage": self.read_error,
            "game": self.game,
            "algorithm": str(self.config.get("algorithm", ""))[:200],
            "seed": _as_int(spec.get("seed")),
            "arena": str(self.config.get("arena", "tree")),
            "state": "damaged" if self.read_error else self.status.state,
            "problem": self.read_error or self.status.problem,
            "step": step,
            "max_steps": _as_int(spec.get("max_steps")),
            "rate": rate if isinstance(rate, (int, float)) else None,
            "seconds": last.get("seconds", 0.0),
            "policy": self.main_policy,
            "exact": self.is_exact,
            "value": last.get(self.main_policy),
            "best": self.best,
            "sketch": [[r["step"], r.get(self.main_policy)] for r in self.sampled_records],
            "began": _time(process.get("began")) or _time_from_run_id(self.id),
            "ended": _time(ended.get("time")),
            "checkpoint": self.checkpoint_time_ns // 1_000_000,
            "version": self.version,
        }


class RunIndex:
    """All runs below a folder. `poll` says which have changed; the rest may be asked any time."""

    def __init__(self, runs_folder: Path):
        self.runs_folder = runs_folder.resolve()
        self.runs: dict[str, RunInfo] = {}
        self.series_by_run: OrderedDict[str, MetricSeries] = OrderedDict()
        self.lock = threading.RLock()
        self.problem = ""  # why the root cannot be read
        self.last_scan_time = -RESCAN_SECONDS
        self.has_polled = False  # whether there was a first look
        self.last_query_time = 0.0  # when records were last asked for

    def find(self, run_id: str) -> RunInfo | None:
        """The run of that id, if the last look found one."""
        return self.runs.get(run_id) if RUN_ID_PATTERN.fullmatch(run_id) else None

    def poll(self, force: bool = False) -> tuple[list[RunInfo], list[str]]:
        """Look again: the runs that have changed, and the ids of those that are gone."""
        with self.lock:
            now = time.monotonic()
            gone: list[str] = []
            full = force or now - self.last_scan_time >= RESCAN_SECONDS
            if full:
                self.last_scan_time = now
                found = self._scan_folders()
                gone = [name for name in self.runs if name not in found]
                for name in gone:
                    del self.runs[name]
                    self.series_by_run.pop(name, None)
                for name, folder in found.items():
                    self.runs.setdefault(name, RunInfo(name, folder))
            locked = find_locked_files()
            looked = [run for run in self.runs.values() if full or run.is_running]
            changed = [run for run in looked if self._look_safely(run, locked)]
            self.has_polled = True
            return changed, gone

    def update_one_best(self) -> RunInfo | None:
        """Read one run whose best record nobody has noted, if nobody waits for anything else."""
        if time.monotonic() - self.last_query_time < QUIET_SECONDS:
            return None
        for run in list(self.runs.values()):
            if run.best is None and run.last_record and run.is_exact and not run.read_error:
                series = MetricSeries(run.folder)  # not kept: nobody has asked for its curve
                try:
                    series.refresh()
                    run.best = (
                        float(series.column(run.main_policy).min()) if series.num_rows else None
                    )
                except Exception as error:
                    run.read_error = _reason(error)
                run.version += 1
                return run
        return None

    def load_series(self, run: RunInfo) -> MetricSeries:
        """All records of a run, as of now."""
        self.last_query_time = time.monotonic()
        with self.lock:
            found = self.series_by_run.get(run.id)
            if found is None:
                found = self.series_by_run[run.id] = MetricSeries(run.folder)
            self.series_by_run.move_to_end(run.id)
            while len(self.series_by_run) > MAX_CACHED_SERIES:
                self.series_by_run.popitem(last=False)
            found.refresh()
            return found

    def _scan_folders(self) -> dict[str, Path]:
        """The run folders, by what leads to them; nothing behind links."""
        found: dict[str, Path] = {}
        waiting, visited = [(self.runs_folder, "", 0)], 0
        self.problem = ""
        while waiting and visited < MAX_SCANNED_FOLDERS:
            folder, name, depth = waiting.pop()
            visited += 1
            try:
                with os.scandir(folder) as entries:
                    listed = [e for e in entries if not e.name.startswith(".")]
                    names = {e.name for e in listed}
                    below = [e.name for e in listed if e.is_dir(follow_symlinks=False)]
            except OSError as error:
                if not depth and not isinstance(error, FileNotFoundError):
                    self.problem = f"cannot read {self.runs_folder}: {error.strerror or error}"
                continue
            if CONFIG_FILE in names and names & {ENV_FILE, METRICS_FILE}:
                if name and RUN_ID_PATTERN.fullmatch(name):
                    found[name] = folder
                continue
            if depth < MAX_FOLDER_DEPTH:
                waiting += [
                    (folder / child, f"{name}/{child}" if name else child, depth + 1)
                    for child in below
                ]
        return found

    def _look_safely(self, run: RunInfo, locked: set[tuple[int, int]]) -> bool:
        """Look at one run; a folder that cannot be read is damaged and hides no other run."""
        try:
            return self._update_run(run, locked)
        except Exception as error:
            reason = _reason(error)
            changed = run.read_error != reason
            run.read_error, run.version = reason, run.version + changed
            return changed

    def _update_run(self, run: RunInfo, locked_files: set[tuple[int, int]]) -> bool:
        """Whether anything about a run is new."""
        names = (CONFIG_FILE, METRICS_FILE, PROCESS_FILE, HEARTBEAT_FILE, CHECKPOINT_FILE)
        stamp = tuple(_file_stamp(run.folder / name) for name in names)
        before = run.status.state
        if stamp == run.file_stamps and before != "running":
            return False
        run.status = read_status(run.folder, locked_files)
        if stamp == run.file_stamps and run.status.state == before:
            return False
        run.config, run.read_error = _read_config(run.folder)
        run.game = game_spec_from_config(run.config)
        self._update_records(run, stamp[1][0])
        run.checkpoint_time_ns = stamp[4][1]
        noted = (run.status.heartbeat or {}).get("best")
        if isinstance(noted, (int, float)):
            run.best = float(noted)
        run.file_stamps, run.version = stamp, run.version + 1
        return True

    def _update_records(self, run: RunInfo, size: int) -> None:
        path = run.folder / METRICS_FILE
        if size < run.metrics_bytes:
            run.sampled_bytes, run.best = 0, None
        run.metrics_bytes = size
        try:
            run.last_record = read_last_record(path, size) if size else None
        except RunError as error:
            run.read_error = str(error)
        if size > 1.2 * run.sampled_bytes or not run.sampled_bytes:
            run.sampled_records, run.sampled_bytes = sample_records(path, size), size
        elif (
            run.last_record
            and run.sampled_records
            and run.sampled_records[-1]["step"] < run.last_record["step"]
        ):
            run.sampled_records = [*run.sampled_records[-39:], run.last_record]
        if run.best is not None and run.last_record and run.main_policy:
            run.best = min(run.best, run.last_record[run.main_policy])


def game_spec_from_config(config: dict[str, Any]) -> str:
    """The game of a config, as `load_game` takes it."""
    game = config.get("game")
    if isinstance(game, str):
        return game
    game = _as_dict(game)
    given = _as_dict(game.get("params"))
    usual = _default_params(str(game.get("name", "")))
    params = {key: _python_literal(value) for key, value in given.items() if value is not None}
    inside = ",".join(f"{key}={text}" for key, text in params.items() if usual.get(key) != text)
    return f"{game.get('name', '')}({inside})" if inside else str(game.get("name", ""))


@cache
def _default_params(name: str) -> dict[str, str]:
    """The parameters of a registered game that need not be told, as `_literal` writes them."""
    if name not in GAMES:
        return {}
    known = [
        field for field in fields(import_registered(GAMES, name)) if field.default is not MISSING
    ]
    return {field.name: _python_literal(field.default) for field in known}


def _python_literal(value: Any) -> str:
    """JSON's value as `load_game` reads it; lists are tuples there."""
    if isinstance(value, (list, tuple)):
        return "(" + "".join(f"{_python_literal(inside)}," for inside in value) + ")"
    return repr(value)


def _read_config(folder: Path) -> tuple[dict[str, Any], str]:
    try:
        with open_regular(folder / CONFIG_FILE) as file:
            found = json.loads(file.read(1 << 20))
        if not isinstance(found, dict) or depth_of(found) > MAX_CONFIG_DEPTH:
            raise ValueError("not an object, or nested too deeply")
        return found, _config_problem(found)
    except OSError as error:
        return {}, f"cannot read {CONFIG_FILE}: {error.strerror or error}"
    except (ValueError, RecursionError):
        return {}, f"{CONFIG_FILE} is damaged: it is not a JSON object"


def _config_problem(config: dict[str, Any]) -> str:
    """Return why a config cannot be one that the library wrote, or nothing."""
    game = config.get("game", {})
    sections = {"spec": config.get("spec", {}), "networks": config.get("networks", {})}
    if isinstance(game, dict):
        sections["game.params"] = game.get("params", {})
    elif not isinstance(game, str):
        sections["game"] = game
    for name, value in sections.items():
        if not isinstance(value, dict):
            return f"{CONFIG_FILE} is damaged: {name} is not an object"
    seed = sections["spec"].get("seed", 0)
    if not isinstance(seed, int):
        return f"{CONFIG_FILE} is damaged: spec.seed is not a whole number"
    return ""


def _reason(error: Exception) -> str:
    """Return one sentence about a folder that cannot be read."""
    if isinstance(error, RunError):
        return str(error)
    if isinstance(error, OSError):
        return f"cannot read its folder: {error.strerror or error}"
    return f"its files are damaged ({type(error).__name__}: {str(error)[:100]})"


def _file_stamp(path: Path) -> tuple[int, int]:
    try:
        info = os.stat(path)
        return info.st_size, info.st_mtime_ns
    except OSError:
        return 0, 0


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_int(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and abs(value) < 2**63 else 0


def _time(value: Any) -> str | None:
    return value if isinstance(value, str) and len(value) < 100 else None


def _time_from_run_id(name: str) -> str | None:
    """When a run was made, from the name of its folder."""
    match = re.search(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z", name)
    return "{}-{}-{}T{}:{}:{}+00:00".format(*match.groups()) if match else None
