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

from counterplay.errors import RunError
from counterplay.experiment.folder import CHECKPOINT, CONFIG, ENV, METRICS
from counterplay.experiment.process import HEARTBEAT, PROCESS, Status, locks, status
from counterplay.files import open_regular
from counterplay.registry import GAMES, find_class
from counterplay.studio.curves import Series, last_record, sketch
from counterplay.studio.validation import depth_of

ID = re.compile(r"[A-Za-z0-9][\w.+-]*(/[A-Za-z0-9][\w.+-]*){0,3}")
DEPTH = 4  # folders below the root that are looked into
KEPT = 12  # series in memory
RESCAN = 0.9  # seconds between two looks for new folders
QUIET = 2.0  # seconds without a question, before long files are read for their best record
MOST = 20_000  # folders looked at
POPULATION = "population.npz"  # the file of a run with pools of policies
MAX_CONFIG_DEPTH = 32  # nested lists and objects


@dataclass
class Seen:
    """A run as it was last looked at."""

    id: str
    folder: Path
    config: dict[str, Any] = field(default_factory=dict)
    game: str = ""  # as `load_game` takes it
    damage: str = ""
    stamp: tuple[Any, ...] = ()  # of its files
    status: Status = field(default_factory=lambda: Status("new"))
    last: dict[str, float] | None = None
    sketch: list[dict[str, float]] = field(default_factory=list)
    sketched: int = 0  # bytes there were
    best: float | None = None
    size: int = 0  # of metrics.jsonl
    checkpoint: int = 0  # when it was written, in ns; 0: there is none
    version: int = 0  # counts changes

    @property
    def main(self) -> str:
        names = [name for name in self.last or {} if name not in ("step", "seconds")]
        return names[0] if names else ""  # the first carries the guarantee

    @property
    def running(self) -> bool:
        return self.status.state == "running"

    @property
    def exact(self) -> bool:
        """Whether its records are exploitabilities."""
        return self.config.get("arena", "tree") != "rules"

    def summary(self) -> dict[str, Any]:
        """Return what the list of runs shows; any file of the folder may hold anything."""
        spec = _dict(self.config.get("spec"))
        beat, process = _dict(self.status.heartbeat), _dict(self.status.process)
        last = self.last or {}
        step = max(_int(last.get("step")), _int(beat.get("step")))
        ended = _dict(process.get("ended"))
        rate = beat.get("rate") if self.running else None
        return {
            "id": self.id,
            "name": str(self.config.get("name") or self.id.split("/")[0])[:200],
            "damage": self.damage,
            "game": self.game,
            "algorithm": str(self.config.get("algorithm", ""))[:200],
            "seed": _int(spec.get("seed")),
            "arena": str(self.config.get("arena", "tree")),
            "state": "damaged" if self.damage else self.status.state,
            "problem": self.damage or self.status.problem,
            "step": step,
            "max_steps": _int(spec.get("max_steps")),
            "rate": rate if isinstance(rate, (int, float)) else None,
            "seconds": last.get("seconds", 0.0),
            "policy": self.main,
            "exact": self.exact,
            "value": last.get(self.main),
            "best": self.best,
            "sketch": [[r["step"], r.get(self.main)] for r in self.sketch],
            "began": _time(process.get("began")) or _time_of(self.id),
            "ended": _time(ended.get("time")),
            "checkpoint": self.checkpoint // 1_000_000,
            "version": self.version,
        }


class Watch:
    """All runs below a folder. `poll` says which have changed; the rest may be asked any time."""

    def __init__(self, root: Path):
        self.root = root.resolve()
        self.runs: dict[str, Seen] = {}
        self.series: OrderedDict[str, Series] = OrderedDict()
        self.lock = threading.RLock()
        self.problem = ""  # why the root cannot be read
        self.scanned = -RESCAN
        self.looked = False  # whether there was a first look
        self.asked = 0.0  # when records were last asked for

    def find(self, name: str) -> Seen | None:
        """The run of that id, if the last look found one."""
        return self.runs.get(name) if ID.fullmatch(name) else None

    def poll(self, force: bool = False) -> tuple[list[Seen], list[str]]:
        """Look again: the runs that have changed, and the ids of those that are gone."""
        with self.lock:
            now = time.monotonic()
            gone: list[str] = []
            full = force or now - self.scanned >= RESCAN
            if full:
                self.scanned = now
                found = self._scan()
                gone = [name for name in self.runs if name not in found]
                for name in gone:
                    del self.runs[name]
                    self.series.pop(name, None)
                for name, folder in found.items():
                    self.runs.setdefault(name, Seen(name, folder))
            locked = locks()
            looked = [run for run in self.runs.values() if full or run.running]
            changed = [run for run in looked if self._look_safely(run, locked)]
            self.looked = True
            return changed, gone

    def find_a_best(self) -> Seen | None:
        """Read one run whose best record nobody has noted, if nobody waits for anything else."""
        if time.monotonic() - self.asked < QUIET:
            return None
        for run in list(self.runs.values()):
            if run.best is None and run.last and run.exact and not run.damage:
                series = Series(run.folder)  # not kept: nobody has asked for its curve
                try:
                    series.refresh()
                    run.best = float(series.column(run.main).min()) if series.rows else None
                except Exception as error:
                    run.damage = _reason(error)
                run.version += 1
                return run
        return None

    def records(self, run: Seen) -> Series:
        """All records of a run, as of now."""
        self.asked = time.monotonic()
        with self.lock:
            found = self.series.get(run.id)
            if found is None:
                found = self.series[run.id] = Series(run.folder)
            self.series.move_to_end(run.id)
            while len(self.series) > KEPT:
                self.series.popitem(last=False)
            found.refresh()
            return found

    def _scan(self) -> dict[str, Path]:
        """The run folders, by what leads to them; nothing behind links."""
        found: dict[str, Path] = {}
        waiting, visited = [(self.root, "", 0)], 0
        self.problem = ""
        while waiting and visited < MOST:
            folder, name, depth = waiting.pop()
            visited += 1
            try:
                with os.scandir(folder) as entries:
                    listed = [e for e in entries if not e.name.startswith(".")]
                    names = {e.name for e in listed}
                    below = [e.name for e in listed if e.is_dir(follow_symlinks=False)]
            except OSError as error:
                if not depth and not isinstance(error, FileNotFoundError):
                    self.problem = f"cannot read {self.root}: {error.strerror or error}"
                continue
            if CONFIG in names and names & {ENV, METRICS}:
                if name and ID.fullmatch(name):
                    found[name] = folder
                continue
            if depth < DEPTH:
                waiting += [
                    (folder / child, f"{name}/{child}" if name else child, depth + 1)
                    for child in below
                ]
        return found

    def _look_safely(self, run: Seen, locked: set[tuple[int, int]]) -> bool:
        """Look at one run; a folder that cannot be read is damaged and hides no other run."""
        try:
            return self._look(run, locked)
        except Exception as error:
            reason = _reason(error)
            changed = run.damage != reason
            run.damage, run.version = reason, run.version + changed
            return changed

    def _look(self, run: Seen, locked: set[tuple[int, int]]) -> bool:
        """Whether anything about a run is new."""
        names = (CONFIG, METRICS, PROCESS, HEARTBEAT, CHECKPOINT)
        stamp = tuple(_stamp(run.folder / name) for name in names)
        before = run.status.state
        if stamp == run.stamp and before != "running":
            return False
        run.status = status(run.folder, locked)
        if stamp == run.stamp and run.status.state == before:
            return False
        run.config, run.damage = _config(run.folder)
        run.game = game_spec(run.config)
        self._look_at_records(run, stamp[1][0])
        run.checkpoint = stamp[4][1]
        noted = (run.status.heartbeat or {}).get("best")
        if isinstance(noted, (int, float)):
            run.best = float(noted)
        run.stamp, run.version = stamp, run.version + 1
        return True

    def _look_at_records(self, run: Seen, size: int) -> None:
        path = run.folder / METRICS
        if size < run.size:
            run.sketched, run.best = 0, None
        run.size = size
        try:
            run.last = last_record(path, size) if size else None
        except RunError as error:
            run.damage = str(error)
        if size > 1.2 * run.sketched or not run.sketched:
            run.sketch, run.sketched = sketch(path, size), size
        elif run.last and run.sketch and run.sketch[-1]["step"] < run.last["step"]:
            run.sketch = [*run.sketch[-39:], run.last]
        if run.best is not None and run.last and run.main:
            run.best = min(run.best, run.last[run.main])


def game_spec(config: dict[str, Any]) -> str:
    """The game of a config, as `load_game` takes it."""
    game = config.get("game")
    if isinstance(game, str):
        return game
    game = _dict(game)
    given = _dict(game.get("params"))
    usual = _defaults(str(game.get("name", "")))
    params = {key: _literal(value) for key, value in given.items() if value is not None}
    inside = ",".join(f"{key}={text}" for key, text in params.items() if usual.get(key) != text)
    return f"{game.get('name', '')}({inside})" if inside else str(game.get("name", ""))


@cache
def _defaults(name: str) -> dict[str, str]:
    """The parameters of a registered game that need not be told, as `_literal` writes them."""
    if name not in GAMES:
        return {}
    known = [field for field in fields(find_class(GAMES, name)) if field.default is not MISSING]
    return {field.name: _literal(field.default) for field in known}


def _literal(value: Any) -> str:
    """JSON's value as `load_game` reads it; lists are tuples there."""
    if isinstance(value, (list, tuple)):
        return "(" + "".join(f"{_literal(inside)}," for inside in value) + ")"
    return repr(value)


def _config(folder: Path) -> tuple[dict[str, Any], str]:
    try:
        with open_regular(folder / CONFIG) as file:
            found = json.loads(file.read(1 << 20))
        if not isinstance(found, dict) or depth_of(found) > MAX_CONFIG_DEPTH:
            raise ValueError("not an object, or nested too deeply")
        return found, _config_problem(found)
    except OSError as error:
        return {}, f"cannot read {CONFIG}: {error.strerror or error}"
    except (ValueError, RecursionError):
        return {}, f"{CONFIG} is damaged: it is not a JSON object"


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
            return f"{CONFIG} is damaged: {name} is not an object"
    seed = sections["spec"].get("seed", 0)
    if not isinstance(seed, int):
        return f"{CONFIG} is damaged: spec.seed is not a whole number"
    return ""


def _reason(error: Exception) -> str:
    """Return one sentence about a folder that cannot be read."""
    if isinstance(error, RunError):
        return str(error)
    if isinstance(error, OSError):
        return f"cannot read its folder: {error.strerror or error}"
    return f"its files are damaged ({type(error).__name__}: {str(error)[:100]})"


def _stamp(path: Path) -> tuple[int, int]:
    try:
        info = os.stat(path)
        return info.st_size, info.st_mtime_ns
    except OSError:
        return 0, 0


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _int(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and abs(value) < 2**63 else 0


def _time(value: Any) -> str | None:
    return value if isinstance(value, str) and len(value) < 100 else None


def _time_of(name: str) -> str | None:
    """When a run was made, from the name of its folder."""
    match = re.search(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z", name)
    return "{}-{}-{}T{}:{}:{}+00:00".format(*match.groups()) if match else None
