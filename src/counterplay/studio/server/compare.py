"""Runs side by side as a page shows them: grouped as `counterplay compare` groups them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import RunError
from counterplay.experiment.compare import steps_per_second
from counterplay.experiment.metrics import MetricSeries
from counterplay.experiment.run_groups import MedianRange, RecordedRun, RunGroup, group_runs
from counterplay.studio.server.metric_series import select_points
from counterplay.studio.server.run_index import RunIndex, RunInfo

MAX_CURVE_POINTS = 1_000  # of a curve


def compare_runs(run_index: RunIndex, runs: list[RunInfo]) -> dict[str, Any]:
    """Return curves, a table and the keys that differ.

    Runs without records are listed in `empty`, damaged ones with their reason in `damaged`.
    """
    series: dict[str, MetricSeries] = {}
    damaged: dict[str, str] = {}
    for run in runs:
        try:
            series[run.id] = run_index.load_series(run)
        except RunError as error:
            damaged[run.id] = str(error)
        if run.read_error:
            damaged[run.id] = run.read_error
    sound = [run for run in runs if run.id not in damaged]
    empty = [run.id for run in sound if not series[run.id].num_rows]
    kept = {run.folder: run for run in sound if series[run.id].num_rows}
    recorded = [RecordedRun(run.folder, _written_out(run), []) for run in kept.values()]
    groups = []
    for group in group_runs(recorded):
        members = [kept[one.folder] for one in group.runs]
        try:
            groups.append(_group(group, members, [series[run.id] for run in members]))
        except (ValueError, ArithmeticError) as error:
            damaged |= {run.id: f"its records cannot be compared: {error}" for run in members}
    differing = _find_differing_keys(list(kept.values()))
    listed = [{"id": name, "problem": problem} for name, problem in damaged.items()]
    return {"groups": groups, "empty": empty, "differing": differing, "damaged": listed}


def _group(group: RunGroup, members: list[RunInfo], tables: list[MetricSeries]) -> dict[str, Any]:
    """Return the table row and the curve of runs that differ only in their seed."""
    return {
        "label": group.label,
        "game": members[0].game,
        "exact": members[0].is_exact,
        "runs": [run.id for run in members],
        "seeds": len({one.seed for one in group.runs}),
        "row": _comparison_row(members[0].main_policy, tables)
        if members[0].is_exact
        else _counts(tables),
        "curve": _median_curve(members[0].main_policy, tables),
        "policy": members[0].main_policy,
    }


def _written_out(run: RunInfo) -> dict[str, Any]:
    """Return the config of a run with its game as an object, as `grouped` takes it."""
    game = run.config.get("game", {})
    return run.config | {"game": {"name": game} if isinstance(game, str) else game}


def _comparison_row(main: str, tables: list[MetricSeries]) -> dict[str, Any]:
    """The row of `counterplay compare`: medians over runs, with the least and largest."""
    found = {
        "average": [table.column(main)[-1] for table in tables],
        "best": [table.column(main).min() for table in tables],
    }
    if all("current" in table.column_names for table in tables):
        found["current"] = [table.column("current")[-1] for table in tables]
    return _progress(tables) | _intervals(found)


def _counts(tables: list[MetricSeries]) -> dict[str, Any]:
    """Return the row of runs on rules: their records are counts, not exploitabilities."""
    names = [name for name in tables[0].column_names if name not in ("step", "seconds")]
    last = {name: [t.column(name)[-1] for t in tables if name in t.column_names] for name in names}
    return _progress(tables) | {"counts": _intervals(last)}


def _progress(tables: list[MetricSeries]) -> dict[str, Any]:
    """Return the last step and the speed, over runs."""
    speeds = []
    for table in tables:
        step, seconds = table.column("step"), table.column("seconds")
        first = {"step": step[0], "seconds": seconds[0]}
        speeds.append(
            steps_per_second([first, {"step": step[-1], "seconds": seconds[-1]}][-table.num_rows :])
        )
    steps = [table.column("step")[-1] for table in tables]
    return _intervals({"step": steps, "steps_per_second": speeds})


def _intervals(values: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return median, least and largest of each list."""
    return {name: vars(MedianRange.from_values(map(float, row))) for name, row in values.items()}


def _median_curve(main: str, tables: list[MetricSeries]) -> dict[str, Any]:
    """Median and range at the steps that all runs have."""
    steps = tables[0].column("step")
    for table in tables[1:]:
        steps = np.intersect1d(steps, table.column("step"))
    rows = [np.searchsorted(table.column("step"), steps) for table in tables]
    values = np.stack([t.column(main)[row] for t, row in zip(tables, rows, strict=True)])
    seconds = np.stack([t.column("seconds")[row] for t, row in zip(tables, rows, strict=True)])
    middle: Floats = np.median(values, axis=0)
    shown = select_points(steps, [middle], MAX_CURVE_POINTS, log_x=True)
    return {
        "step": steps[shown].tolist(),
        "seconds": np.median(seconds, axis=0)[shown].tolist(),
        "median": middle[shown].tolist(),
        "low": values.min(axis=0)[shown].tolist(),
        "high": values.max(axis=0)[shown].tolist(),
    }


def _find_differing_keys(runs: list[RunInfo]) -> list[dict[str, Any]]:
    """The keys of the configs that are not the same in all runs, with their values by run."""
    flat = {run.id: _flatten_config(run.config) for run in runs}
    keys = dict.fromkeys(key for values in flat.values() for key in values)
    found = []
    for key in keys:
        values = [flat[run.id].get(key) for run in runs]
        if any(value != values[0] for value in values):
            found.append({"key": key, "values": dict(zip(flat, values, strict=True))})
    return found


def _flatten_config(value: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {prefix: value}
    found: dict[str, Any] = {}
    for key, inside in value.items():
        found |= _flatten_config(inside, f"{prefix}.{key}" if prefix else str(key))
    return found
