"""Comparison of runs for a page, with the groups of `counterplay compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def compare_runs(run_index: RunIndex, runs: list[RunInfo]) -> dict[str, object]:
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
    readable = [run for run in runs if run.id not in damaged]
    run_by_folder = {run.folder: run for run in readable if series[run.id].num_rows}
    recorded = [RecordedRun(folder, _full_config(run), []) for folder, run in run_by_folder.items()]
    groups = []
    for group in group_runs(recorded):
        members = [run_by_folder[member.folder] for member in group.runs]
        try:
            groups.append(_describe_group(group, members, [series[run.id] for run in members]))
        except (ValueError, ArithmeticError) as error:
            damaged |= {run.id: f"its records cannot be compared: {error}" for run in members}
    return {
        "groups": groups,
        "empty": [run.id for run in readable if not series[run.id].num_rows],
        "differing": _find_differing_keys(list(run_by_folder.values())),
        "damaged": [{"id": name, "problem": problem} for name, problem in damaged.items()],
    }


def _describe_group(
    group: RunGroup, members: list[RunInfo], tables: list[MetricSeries]
) -> dict[str, object]:
    """Return the table row and the curve of runs that differ only in their seed."""
    return {
        "label": group.label,
        "game": members[0].game,
        "exact": members[0].is_exact,
        "runs": [run.id for run in members],
        "seeds": len({run.seed for run in group.runs}),
        "row": _comparison_row(members[0].main_policy, tables)
        if members[0].is_exact
        else _count_row(tables),
        "curve": _median_curve(members[0].main_policy, tables),
        "policy": members[0].main_policy,
    }


def _full_config(run: RunInfo) -> dict[str, Any]:
    """Return the config of a run with its game as an object, for `group_runs`."""
    game = run.config.get("game", {})
    return run.config | {"game": {"name": game} if isinstance(game, str) else game}


def _comparison_row(main: str, tables: list[MetricSeries]) -> dict[str, object]:
    """Return the row of `counterplay compare`: medians over runs, with least and largest."""
    values = {
        "average": [table.column(main)[-1] for table in tables],
        "best": [table.column(main).min() for table in tables],
    }
    if all("current" in table.column_names for table in tables):
        values["current"] = [table.column("current")[-1] for table in tables]
    return {**_progress_row(tables), **_median_ranges(values)}


def _count_row(tables: list[MetricSeries]) -> dict[str, object]:
    """Return the row of runs on rules: their records are counts, not exploitabilities."""
    names = [name for name in tables[0].column_names if name not in ("step", "seconds")]
    last = {name: [t.column(name)[-1] for t in tables if name in t.column_names] for name in names}
    return {**_progress_row(tables), "counts": _median_ranges(last)}


def _progress_row(tables: list[MetricSeries]) -> dict[str, object]:
    """Return the last step and the speed, over runs."""
    speeds = []
    for table in tables:
        step, seconds = table.column("step"), table.column("seconds")
        first = {"step": step[0], "seconds": seconds[0]}
        speeds.append(
            steps_per_second([first, {"step": step[-1], "seconds": seconds[-1]}][-table.num_rows :])
        )
    steps = [table.column("step")[-1] for table in tables]
    return _median_ranges({"step": steps, "steps_per_second": speeds})


def _median_ranges(values: Mapping[str, Sequence[float]]) -> dict[str, object]:
    """Return median, least and largest of each list."""
    return {name: vars(MedianRange.from_values(map(float, row))) for name, row in values.items()}


def _median_curve(main: str, tables: list[MetricSeries]) -> dict[str, list[float]]:
    """Return median and range at the steps that all runs have."""
    steps = tables[0].column("step")
    for table in tables[1:]:
        steps = np.intersect1d(steps, table.column("step"))
    rows = [np.searchsorted(table.column("step"), steps) for table in tables]
    values = np.stack([t.column(main)[row] for t, row in zip(tables, rows, strict=True)])
    seconds = np.stack([t.column("seconds")[row] for t, row in zip(tables, rows, strict=True)])
    median: Floats = np.median(values, axis=0)
    shown = select_points(steps, [median], MAX_CURVE_POINTS, log_x=True)
    return {
        "step": steps[shown].tolist(),
        "seconds": np.median(seconds, axis=0)[shown].tolist(),
        "median": median[shown].tolist(),
        "low": values.min(axis=0)[shown].tolist(),
        "high": values.max(axis=0)[shown].tolist(),
    }


def _find_differing_keys(runs: list[RunInfo]) -> list[dict[str, object]]:
    """Return the keys of the configs that differ between runs, with their values by run."""
    flat = {run.id: _flatten_config(run.config) for run in runs}
    keys = dict.fromkeys(key for values in flat.values() for key in values)
    differing: list[dict[str, object]] = []
    for key in keys:
        values = [flat[run.id].get(key) for run in runs]
        if any(value != values[0] for value in values):
            differing.append({"key": key, "values": dict(zip(flat, values, strict=True))})
    return differing


def _flatten_config(value: object, prefix: str = "") -> dict[str, object]:
    """Return a nested config as one level, with keys such as `spec.seed`."""
    if not isinstance(value, dict):
        return {prefix: value}
    flat: dict[str, object] = {}
    for key, item in value.items():
        flat |= _flatten_config(item, f"{prefix}.{key}" if prefix else str(key))
    return flat
