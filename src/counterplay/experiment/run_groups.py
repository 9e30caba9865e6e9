"""Groups of runs that differ only in their seed, and their curves and medians."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import FileError
from counterplay.experiment.config import JsonObject
from counterplay.experiment.dataclass_fields import read_dataclass_fields
from counterplay.experiment.metrics import MetricsRecord, load_metrics, policy_names
from counterplay.experiment.run_folder import CONFIG_FILE, find_runs
from counterplay.registry import ALGORITHMS, GAMES

NON_METHOD_FIELDS = ("seed", "max_steps", "evaluate_every", "checkpoint_every")


@dataclass(frozen=True)
class RecordedRun:
    """The config and records of a run, without its game or algorithm."""

    folder: Path
    config: JsonObject
    records: list[MetricsRecord]

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return int(self.config.get("spec", {}).get("seed", 0))

    @property
    def method_settings(self) -> JsonObject:
        """Algorithm, game and hyper-parameters, equal for runs of the same method."""
        spec = {k: v for k, v in self.config.get("spec", {}).items() if k not in NON_METHOD_FIELDS}
        game = self.config.get("game", {})
        arena = self.config.get("arena", "tree")
        abstraction = _format_abstraction(self.config.get("abstraction"))
        return {
            "algorithm": self.config.get("algorithm"),
            "game": game.get("name"),
            **({} if arena == "tree" else {"arena": arena}),
            **({"abstraction": abstraction} if abstraction else {}),
            **game.get("params", {}),
            **self.config.get("networks", {}),
            **spec,
        }

    @property
    def is_exact(self) -> bool:
        """Whether the records have exploitabilities; those of a run on rules have counts."""
        return self.config.get("arena") != "rules"

    @property
    def game(self) -> str:
        """Spec of the game, without parameters at their defaults."""
        return game_name(self.config.get("game", {}))


@dataclass(frozen=True)
class MedianRange:
    """The median over runs, the least and the largest value."""

    median: float
    low: float
    high: float

    @classmethod
    def from_values(cls, values: Iterable[float]) -> MedianRange:
        """Return the median and the range of values."""
        array = np.array(list(values), float)
        return cls(float(np.median(array)), float(array.min()), float(array.max()))


@dataclass(frozen=True)
class MetricCurve:
    """The median over runs and its range, at every step that all of them have."""

    label: str
    policy: str
    num_runs: int
    step: Floats
    seconds: Floats
    median: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class RunGroup:
    """Runs that differ only in their seed."""

    label: str
    runs: list[RecordedRun]

    @property
    def is_exact(self) -> bool:
        """Whether the records have exploitabilities."""
        return self.runs[0].is_exact

    @property
    def game(self) -> str:
        """Spec of the game of all runs."""
        return self.runs[0].game

    @property
    def policies(self) -> list[str]:
        """Policies whose exploitability is recorded, that with the guarantee first."""
        return self.metric_names if self.is_exact else []

    @property
    def metric_names(self) -> list[str]:
        """Names of the recorded metrics: policies, or the counts of a run on rules."""
        return policy_names(record for run in self.runs for record in run.records[:1])

    def curve(self, policy: str) -> MetricCurve:
        """Return the median exploitability of one policy over all runs."""
        tables = [{r["step"]: r for r in run.records if policy in r} for run in self.runs]
        steps = sorted(set.intersection(*(set(table) for table in tables)))
        values = np.array([[table[step][policy] for step in steps] for table in tables])
        seconds = np.array(
            [
                [_seconds_without_compilation(run, table[step]) for step in steps]
                for run, table in zip(self.runs, tables, strict=True)
            ]
        )
        return MetricCurve(
            self.label,
            policy,
            len(self.runs),
            np.array(steps, float),
            np.median(seconds, axis=0),
            np.median(values, axis=0),
            values.min(axis=0),
            values.max(axis=0),
        )


def _seconds_without_compilation(run: RecordedRun, record: MetricsRecord) -> float:
    """Return the seconds of a record without the compilation before the first record.

    The time up to the first record is replaced by the mean time of that many later steps.
    """
    first, last = run.records[0], run.records[-1]
    if last["step"] == first["step"]:
        return float(record["seconds"])
    seconds_per_step = (last["seconds"] - first["seconds"]) / (last["step"] - first["step"])
    start = min(seconds_per_step * first["step"], first["seconds"])
    return float(record["seconds"] - first["seconds"] + start)


def load_run_groups(folders: Sequence[Path]) -> list[RunGroup]:
    """Load the runs of folders that have records, as groups.

    Raises:
        FileError: no run has records yet, or a file is damaged.
    """
    runs = [
        RecordedRun(f, _read_raw_config(f), records)
        for f in folders
        if (records := load_metrics(f))
    ]
    if not runs:
        raise FileError(f"no records yet in {', '.join(map(str, folders))}")
    return group_runs(runs)


def group_runs(runs: Iterable[RecordedRun]) -> list[RunGroup]:
    """Group runs by name and method; a label names the settings in which groups differ."""
    by_name: dict[str, list[RecordedRun]] = {}
    for run in runs:
        by_name.setdefault(str(run.config.get("name", run.folder.name)), []).append(run)
    games = {run.game for run in runs}
    return [
        group
        for name, named in by_name.items()
        for group in _split_by_method(name, named, len(games) > 1)
    ]


def game_name(section: Mapping[str, Any]) -> str:
    """Return the spec of a config's section `game`, without parameters at their defaults."""
    name, params = str(section.get("name")), section.get("params", {})
    defaults = _default_params(GAMES, name)
    parts = [
        f"{key}={_format_setting(params, key)}"
        for key in params
        if params[key] != defaults.get(key)
    ]
    return f"{name}({','.join(parts)})" if parts else name


def _default_params(registry: dict[str, str], name: object) -> JsonObject:
    """Return the defaults of a game's or algorithm's parameters; {} if it is not registered."""
    class_path = registry.get(str(name))
    declared = read_dataclass_fields(class_path) if class_path else ()
    return {field.name: field.default for field in declared if not field.required}


def metrics_table(paths: str | Path | Iterable[str | Path]) -> dict[str, list[Any]]:
    """Return the records of runs as columns, for data frames such as `pandas.DataFrame`.

    The columns are run, name, algorithm, game, seed, step, seconds, and one for each policy, which
    is NaN for runs without that policy.

    Args:
        paths: run folders, folders that contain some, or patterns.
    """
    sources = [paths] if isinstance(paths, (str, Path)) else list(paths)
    rows: list[JsonObject] = []
    for folder in find_runs(sources):
        run = RecordedRun(folder, _read_raw_config(folder), load_metrics(folder))
        run_columns = {
            "run": str(folder),
            "name": str(run.config.get("name", folder.name)),
            "algorithm": run.method_settings["algorithm"],
            "game": run.method_settings["game"],
            "seed": run.seed,
        }
        rows += [run_columns | record for record in run.records]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name, math.nan) for row in rows] for name in names}


def _split_by_method(name: str, runs: list[RecordedRun], games_differ: bool) -> list[RunGroup]:
    """Return one group per method, with the settings that differ from each other in its label."""
    methods: dict[str, list[RecordedRun]] = {}
    for run in runs:
        methods.setdefault(json.dumps(run.method_settings, sort_keys=True), []).append(run)
    firsts = [members[0] for members in methods.values()]
    keys = dict.fromkeys(key for run in firsts for key in run.method_settings)
    differing = [
        key for key in keys if len({_format_setting(r.method_settings, key) for r in firsts}) > 1
    ]
    labels = [_group_label(name, run, differing, games_differ) for run in firsts]
    if len(set(labels)) < len(labels):  # a default has changed between versions
        labels = [_group_label(name, run, differing, games_differ, full=True) for run in firsts]
    return [
        RunGroup(label, members) for label, members in zip(labels, methods.values(), strict=True)
    ]


def _group_label(
    name: str, run: RecordedRun, keys: Iterable[str], games_differ: bool, full: bool = False
) -> str:
    """Return the name with the game, the algorithm and the settings in which groups differ.

    Args:
        keys: the settings in which groups differ.
        games_differ: whether the runs are of several games.
        full: whether to include settings at the defaults of their algorithm.
    """
    method, parts = run.method_settings, []
    game_keys = {"game", *run.config.get("game", {}).get("params", {})}
    keys = list(keys)
    if games_differ and run.game not in name:
        parts.append(run.game)
    if "algorithm" in keys:
        parts.append(str(method["algorithm"]))
    defaults = {} if full else _default_params(ALGORITHMS, method["algorithm"])
    for key in keys:
        if key == "algorithm" or key not in method or (games_differ and key in game_keys):
            continue
        if "algorithm" in keys and key in defaults and method[key] == defaults[key]:
            continue
        parts.append(f"{key}={_format_setting(method, key)}")
    return f"{name} ({', '.join(parts)})" if parts else name


def _format_abstraction(section: JsonObject | None) -> str:
    """Return the abstraction of a config as `name(parameter=value)`, or ""."""
    if not section:
        return ""
    params = ",".join(f"{key}={value}" for key, value in section.get("params", {}).items())
    return f"{section.get('name')}({params})" if params else str(section.get("name"))


def _format_setting(method: Mapping[str, Any], key: str) -> str:
    value = method.get(key)
    return value if isinstance(value, str) else json.dumps(value)


def _read_raw_config(folder: Path) -> JsonObject:
    """Read the config of a run without checking it against its game and algorithm."""
    path = folder / CONFIG_FILE
    try:
        config: JsonObject = json.loads(path.read_bytes())
        sections = [config.get(name, {}) for name in ("game", "networks", "spec")]
        sections.append(sections[0].get("params", {}))
        if not all(isinstance(section, dict) for section in sections):
            raise TypeError("a section is not an object")
        int(config.get("spec", {}).get("seed", 0))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(f"cannot read {path}: damaged, or not the config of a run") from error
    return config
