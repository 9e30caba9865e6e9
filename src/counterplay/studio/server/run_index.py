"""The index of all runs below a folder, updated while they run.

A list needs only the last record of a run and a few earlier ones, so that a hundred runs of a
hundred thousand records are listed without reading them. All records of a run are read when a chart
needs them, and cached for a few runs.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

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
MAX_FOLDER_DEPTH = 4  # of folders that are scanned
MAX_CACHED_SERIES = 12  # runs whose records are in memory
RESCAN_SECONDS = 0.9  # between two scans for new folders
QUIET_SECONDS = 2.0  # without a request, before long files are read for their best record
MAX_SCANNED_FOLDERS = 20_000
POPULATION = "population.npz"  # the file of a run with populations of policies
MAX_CONFIG_DEPTH = 32  # nested lists and objects


FileStamp = tuple[int, int]  # size in bytes, modification time in ns


class RunSummary(TypedDict):
    """A run as the list of runs shows it."""

    id: str
    name: str
    damage: str
    game: str
    algorithm: str
    seed: int
    arena: str
    state: str
    problem: str
    step: int
    max_steps: int
    rate: float | None  # steps per second
    seconds: float
    policy: str  # the one with the guarantee
    exact: bool
    value: float | None  # of the last record
    best: float | None
    sketch: list[tuple[float, float | None]]  # step and value of some records
    began: str | None
    ended: str | None
    checkpoint: int  # time in ms; 0 without one
    version: int


@dataclass
class RunInfo:
    """A run as of its last scan."""

    id: str
    folder: Path
    config: dict[str, Any] = field(default_factory=dict)  # of config.json, if it can be read
    game: str = ""  # spec for `load_game`
    read_error: str = ""
    file_stamps: tuple[FileStamp, ...] = ()
    status: RunStatus = field(default_factory=lambda: RunStatus("new"))
    last_record: dict[str, float] | None = None
    sampled_records: list[dict[str, float]] = field(default_factory=list)
    sampled_bytes: int = 0  # size of metrics.jsonl when they were sampled
    best: float | None = None
    metrics_bytes: int = 0  # of metrics.jsonl
    checkpoint_time_ns: int = 0  # 0 without a checkpoint
    version: int = 0  # number of changes so far

    @property
    def main_policy(self) -> str:
        names = [name for name in self.last_record or {} if name not in ("step", "seconds")]
        return names[0] if names else ""  # the first is the one with the guarantee

    @property
    def is_running(self) -> bool:
        return self.status.state == "running"

    @property
    def is_exact(self) -> bool:
        """Whether the records are exploitabilities."""
        return self.config.get("arena", "tree") != "rules"

    def summary(self) -> RunSummary:
        """Return the run for the list; values of damaged files are replaced."""
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
            "sketch": [(r["step"], r.get(self.main_policy)) for r in self.sampled_records],
            "began": _time(process.get("began")) or _time_from_run_id(self.id),
            "ended": _time(ended.get("time")),
            "checkpoint": self.checkpoint_time_ns // 1_000_000,
            "version": self.version,
        }


class RunIndex:
    """All runs below a folder; `poll` updates them and returns the changes."""

    def __init__(self, runs_folder: Path):
        self.runs_folder = runs_folder.resolve()
        self.runs: dict[str, RunInfo] = {}
        self.series_by_run: OrderedDict[str, MetricSeries] = OrderedDict()
        self.lock = threading.RLock()
        self.problem = ""  # reason why the folder cannot be read
        self.last_scan_time = -RESCAN_SECONDS
        self.has_polled = False
        self.last_query_time = 0.0  # of the last request for records

    def find(self, run_id: str) -> RunInfo | None:
        """Return the run of this id, if the last scan found it."""
        return self.runs.get(run_id) if RUN_ID_PATTERN.fullmatch(run_id) else None

    def poll(self, force: bool = False) -> tuple[list[RunInfo], list[str]]:
        """Scan the folder; return the changed runs and the ids of those that are gone."""
        with self.lock:
            now = time.monotonic()
            gone: list[str] = []
            full = force or now - self.last_scan_time >= RESCAN_SECONDS
            if full:
                self.last_scan_time = now
                folders = self._scan_folders()
                gone = [name for name in self.runs if name not in folders]
                for name in gone:
                    del self.runs[name]
                    self.series_by_run.pop(name, None)
                for name, folder in folders.items():
                    self.runs.setdefault(name, RunInfo(name, folder))
            locked = find_locked_files()
            candidates = [run for run in self.runs.values() if full or run.is_running]
            changed = [run for run in candidates if self._update_safely(run, locked)]
            self.has_polled = True
            return changed, gone

    def update_one_best(self) -> RunInfo | None:
        """Read one run whose best record is unknown, if there are no requests; return the run."""
        if time.monotonic() - self.last_query_time < QUIET_SECONDS:
            return None
        for run in list(self.runs.values()):
            if run.best is None and run.last_record and run.is_exact and not run.read_error:
                series = MetricSeries(run.folder)  # not cached: no page shows its curve
                try:
                    series.refresh()
                    run.best = (
                        float(series.column(run.main_policy).min()) if series.num_rows else None
                    )
                except Exception as error:
                    run.read_error = _error_reason(error)
                run.version += 1
                return run
        return None

    def load_series(self, run: RunInfo) -> MetricSeries:
        """Return all records of a run so far."""
        self.last_query_time = time.monotonic()
        with self.lock:
            series = self.series_by_run.get(run.id)
            if series is None:
                series = self.series_by_run[run.id] = MetricSeries(run.folder)
            self.series_by_run.move_to_end(run.id)
            while len(self.series_by_run) > MAX_CACHED_SERIES:
                self.series_by_run.popitem(last=False)
            series.refresh()
            return series

    def _scan_folders(self) -> dict[str, Path]:
        """Return the run folders by id; links are not followed."""
        run_folders: dict[str, Path] = {}
        waiting, visited = [(self.runs_folder, "", 0)], 0
        self.problem = ""
        while waiting and visited < MAX_SCANNED_FOLDERS:
            folder, name, depth = waiting.pop()
            visited += 1
            try:
                with os.scandir(folder) as entries:
                    visible = [e for e in entries if not e.name.startswith(".")]
                    names = {e.name for e in visible}
                    subfolders = [e.name for e in visible if e.is_dir(follow_symlinks=False)]
            except OSError as error:
                if not depth and not isinstance(error, FileNotFoundError):
                    self.problem = f"cannot read {self.runs_folder}: {error.strerror or error}"
                continue
            if CONFIG_FILE in names and names & {ENV_FILE, METRICS_FILE}:
                if name and RUN_ID_PATTERN.fullmatch(name):
                    run_folders[name] = folder
                continue
            if depth < MAX_FOLDER_DEPTH:
                waiting += [
                    (folder / child, f"{name}/{child}" if name else child, depth + 1)
                    for child in subfolders
                ]
        return run_folders

    def _update_safely(self, run: RunInfo, locked: set[tuple[int, int]]) -> bool:
        """Update one run; an error becomes its `read_error` and does not affect other runs."""
        try:
            return self._update_run(run, locked)
        except Exception as error:
            reason = _error_reason(error)
            changed = run.read_error != reason
            run.read_error, run.version = reason, run.version + changed
            return changed

    def _update_run(self, run: RunInfo, locked_files: set[tuple[int, int]]) -> bool:
        """Read the files of a run if they have changed; return True if the run has."""
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
        best = (run.status.heartbeat or {}).get("best")
        if isinstance(best, (int, float)):
            run.best = float(best)
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


def game_spec_from_config(config: Mapping[str, object]) -> str:
    """Return the spec of the game of a config, for `load_game`."""
    game = config.get("game")
    if isinstance(game, str):
        return game
    section = _as_dict(game)
    name = str(section.get("name", ""))
    defaults = _default_params(name)
    literals = {
        key: _python_literal(value)
        for key, value in _as_dict(section.get("params")).items()
        if value is not None
    }
    params = ",".join(
        f"{key}={text}" for key, text in literals.items() if defaults.get(key) != text
    )
    return f"{name}({params})" if params else name


def algorithm_from_config(config: Mapping[str, object]) -> str:
    """Return the spec of the algorithm of a config; "" if it has none."""
    algorithm = config.get("algorithm")
    return algorithm if isinstance(algorithm, str) else ""


@cache
def _default_params(name: str) -> dict[str, str]:
    """Return the default parameters of a registered game as Python literals."""
    if name not in GAMES:
        return {}
    return {
        field.name: _python_literal(field.default)
        for field in fields(import_registered(GAMES, name))
        if field.default is not MISSING
    }


def _python_literal(value: object) -> str:
    """Return a JSON value as a Python literal, with tuples for lists."""
    if isinstance(value, (list, tuple)):
        return "(" + "".join(f"{_python_literal(item)}," for item in value) + ")"
    return repr(value)


def _read_config(folder: Path) -> tuple[dict[str, Any], str]:
    try:
        with open_regular(folder / CONFIG_FILE) as file:
            config = json.loads(file.read(1 << 20))
        if not isinstance(config, dict) or depth_of(config) > MAX_CONFIG_DEPTH:
            raise ValueError("not an object, or nested too deeply")
        return config, _config_problem(config)
    except OSError as error:
        return {}, f"cannot read {CONFIG_FILE}: {error.strerror or error}"
    except (ValueError, RecursionError):
        return {}, f"{CONFIG_FILE} is damaged: it is not a JSON object"


def _config_problem(config: dict[str, Any]) -> str:
    """Return why the library cannot have written a config, or ""."""
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


def _error_reason(error: Exception) -> str:
    """Return the reason why a folder cannot be read."""
    if isinstance(error, RunError):
        return str(error)
    if isinstance(error, OSError):
        return f"cannot read its folder: {error.strerror or error}"
    return f"its files are damaged ({type(error).__name__}: {str(error)[:100]})"


def _file_stamp(path: Path) -> FileStamp:
    try:
        info = os.stat(path)
        return info.st_size, info.st_mtime_ns
    except OSError:
        return 0, 0


def _as_dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _as_int(value: object) -> int:
    return int(value) if isinstance(value, (int, float)) and abs(value) < 2**63 else 0


def _time(value: object) -> str | None:
    return value if isinstance(value, str) and len(value) < 100 else None


def _time_from_run_id(name: str) -> str | None:
    """Return the time at which a run was created, from the name of its folder."""
    match = re.search(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z", name)
    return "{}-{}-{}T{}:{}:{}+00:00".format(*match.groups()) if match else None
