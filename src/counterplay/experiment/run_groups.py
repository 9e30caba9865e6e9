"""Runs side by side: those that differ only in their seed belong together."""

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
from counterplay.experiment.dataclass_fields import read_dataclass_fields
from counterplay.experiment.run_folder import (
    CONFIG_FILE,
    MetricsRecord,
    find_runs,
    load_metrics,
    policy_names,
)
from counterplay.registry import ALGORITHMS, GAMES

NON_METHOD_FIELDS = ("seed", "max_steps", "evaluate_every", "checkpoint_every")


@dataclass(frozen=True)
class RecordedRun:
    """What plots and tables need of a run; neither its game nor its algorithm is loaded."""

    folder: Path
    config: dict[str, Any]
    records: list[MetricsRecord]

    @property
    def seed(self) -> int:
        return int(self.config.get("spec", {}).get("seed", 0))

    @property
    def method_settings(self) -> dict[str, Any]:
        """All that makes two runs comparable: algorithm, game, and hyper-parameters."""
        spec = {k: v for k, v in self.config.get("spec", {}).items() if k not in NON_METHOD_FIELDS}
        game = self.config.get("game", {})
        arena = self.config.get("arena", "tree")
        return {
            "algorithm": self.config.get("algorithm"),
            "game": game.get("name"),
            **({} if arena == "tree" else {"arena": arena}),
            **game.get("params", {}),
            **self.config.get("networks", {}),
            **spec,
        }

    @property
    def is_exact(self) -> bool:
        """True if the records hold exploitabilities; a run on rules counts infosets instead."""
        return self.config.get("arena") != "rules"

    @property
    def game(self) -> str:
        """The game as a user writes it, without parameters at their defaults."""
        return game_name(self.config.get("game", {}))


@dataclass(frozen=True)
class MedianRange:
    """The median over runs, and the least and largest."""

    median: float
    low: float
    high: float

    @classmethod
    def from_values(cls, values: Iterable[float]) -> MedianRange:
        found = np.array(list(values), float)
        return cls(float(np.median(found)), float(found.min()), float(found.max()))


@dataclass(frozen=True)
class MetricCurve:
    """The median over runs at every step that all of them have, and the range around it."""

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
        """True if the records hold exploitabilities."""
        return self.runs[0].is_exact

    @property
    def game(self) -> str:
        """The game that all of these runs are of."""
        return self.runs[0].game

    @property
    def policies(self) -> list[str]:
        """The policies whose exploitability is recorded, the guaranteed one first."""
        return self.measured if self.is_exact else []

    @property
    def measured(self) -> list[str]:
        """The recorded quantities: policies, or the counts of a run on rules."""
        return policy_names(record for run in self.runs for record in run.records[:1])

    def curve(self, policy: str) -> MetricCurve:
        """The exploitability of one policy over all runs."""
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
    """Seconds since the first record, which has waited for compilation; a step counts as one."""
    first, last = run.records[0], run.records[-1]
    if last["step"] == first["step"]:
        return float(record["seconds"])
    one = (last["seconds"] - first["seconds"]) / (last["step"] - first["step"]) * first["step"]
    return float(record["seconds"] - first["seconds"] + min(one, first["seconds"]))


def load_run_groups(folders: Sequence[Path]) -> list[RunGroup]:
    """The runs of these folders that have records, by name and, where needed, by what differs."""
    runs = [
        RecordedRun(f, _read_raw_config(f), records)
        for f in folders
        if (records := load_metrics(f))
    ]
    if not runs:
        raise FileError(f"no records yet in {', '.join(map(str, folders))}")
    return group_runs(runs)


def group_runs(runs: Iterable[RecordedRun]) -> list[RunGroup]:
    """Runs by name and, where needed, by what differs but for the seed."""
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
    """The game of a config's section `game`, without parameters at their defaults."""
    name, given = str(section.get("name")), section.get("params", {})
    known = _default_params(GAMES, name)
    shown = [
        f"{key}={_format_setting(given, key)}" for key in given if given[key] != known.get(key)
    ]
    return f"{name}({','.join(shown)})" if shown else name


def _default_params(registry: dict[str, str], name: Any) -> dict[str, Any]:
    """The defaults of a game's or an algorithm's parameters; nothing if it is not known here."""
    where = registry.get(str(name))
    found = read_dataclass_fields(where) if where else ()
    return {field.name: field.default for field in found if not field.required}


def metrics_table(paths: str | Path | Iterable[str | Path]) -> dict[str, list[Any]]:
    """The records of runs as columns: run, name, algorithm, game, seed, step, seconds, policies.

    `pandas.DataFrame(metrics_table("runs"))` and its kin take them as they are. A policy that a run
    does not have is NaN there.
    """
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    rows: list[dict[str, Any]] = []
    for folder in find_runs(given):
        run = RecordedRun(folder, _read_raw_config(folder), load_metrics(folder))
        facts = {
            "run": str(folder),
            "name": str(run.config.get("name", folder.name)),
            "algorithm": run.method_settings["algorithm"],
            "game": run.method_settings["game"],
            "seed": run.seed,
        }
        rows += [facts | record for record in run.records]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name, math.nan) for row in rows] for name in names}


def _split_by_method(name: str, runs: list[RecordedRun], games_differ: bool) -> list[RunGroup]:
    """One group per method; what differs between them is in the label, defaults left out."""
    methods: dict[str, list[RecordedRun]] = {}
    for run in runs:
        methods.setdefault(json.dumps(run.method_settings, sort_keys=True), []).append(run)
    firsts = [same[0] for same in methods.values()]
    keys = dict.fromkeys(key for run in firsts for key in run.method_settings)
    differing = [
        key for key in keys if len({_format_setting(r.method_settings, key) for r in firsts}) > 1
    ]
    labels = [_group_label(name, run, differing, games_differ) for run in firsts]
    if len(set(labels)) < len(labels):  # a default that differs between versions
        labels = [_group_label(name, run, differing, games_differ, full=True) for run in firsts]
    return [RunGroup(label, same) for label, same in zip(labels, methods.values(), strict=True)]


def _group_label(
    name: str, run: RecordedRun, keys: Iterable[str], games_differ: bool, full: bool = False
) -> str:
    """The name, with the game, the algorithm and the settings that tell groups apart."""
    method, parts = run.method_settings, []
    in_game = {"game", *run.config.get("game", {}).get("params", {})}
    keys = list(keys)
    if games_differ and run.game not in name:
        parts.append(run.game)
    if "algorithm" in keys:
        parts.append(str(method["algorithm"]))
    known = {} if full else _default_params(ALGORITHMS, method["algorithm"])
    for key in keys:
        if key == "algorithm" or key not in method or (games_differ and key in in_game):
            continue
        if "algorithm" in keys and method[key] == known.get(key, method):
            continue
        parts.append(f"{key}={_format_setting(method, key)}")
    return f"{name} ({', '.join(parts)})" if parts else name


def _format_setting(method: Mapping[str, Any], key: str) -> str:
    value = method.get(key)
    return value if isinstance(value, str) else json.dumps(value)


def _read_raw_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG_FILE
    try:
        found = json.loads(path.read_bytes())
        sections = [found.get(name, {}) for name in ("game", "networks", "spec")]
        sections.append(sections[0].get("params", {}))
        if not all(isinstance(section, dict) for section in sections):
            raise TypeError("a section is not an object")
        int(found.get("spec", {}).get("seed", 0))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(f"cannot read {path}: damaged, or not the config of a run") from error
    return found
