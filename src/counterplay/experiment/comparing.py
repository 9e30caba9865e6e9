"""A table across runs and seeds."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from counterplay.errors import ConfigError
from counterplay.experiment.folder import Record, find_runs
from counterplay.experiment.series import Group, Interval, load_groups


@dataclass(frozen=True)
class Row:
    """Runs that differ only in their seed: medians over them, with the least and largest."""

    name: str
    runs: int
    seeds: int  # different ones
    step: Interval
    average: Interval  # exploitability of the policy with the guarantee, usually an average
    best: Interval  # its least over the run
    current: Interval | None  # of the current policy
    steps_per_second: Interval

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare(paths: Iterable[str | Path], at: int | None = None) -> list[Row]:
    """One row per group of runs, judged at their last record, or at the last up to step `at`."""
    return [_row(group, at) for group in load_groups(find_runs(paths))]


def to_csv(rows: Sequence[Row]) -> str:
    """The table as CSV; an interval takes three columns."""
    text = io.StringIO()
    flat = [_flat(row) for row in rows]
    header = list(dict.fromkeys(key for row in flat for key in row))
    writer = csv.DictWriter(text, header, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _row(group: Group, at: int | None) -> Row:
    histories = [[r for r in run.records if at is None or r["step"] <= at] for run in group.runs]
    if not all(histories):
        raise ConfigError(f"{group.label} has no record up to step {at}")
    main = group.policies[0]
    last = [history[-1] for history in histories]
    return Row(
        name=group.label,
        runs=len(histories),
        seeds=len({run.seed for run in group.runs}),
        step=Interval.of(record["step"] for record in last),
        average=Interval.of(record[main] for record in last),
        best=Interval.of(min(r[main] for r in history) for history in histories),
        current=(
            Interval.of(record["current"] for record in last)
            if all("current" in record for record in last)
            else None
        ),
        steps_per_second=Interval.of(map(speed, histories)),
    )


def speed(history: list[Record]) -> float:
    """Steps per second after the first record, which has waited for compilation."""
    first, last = history[0], history[-1]
    if first is last:
        first = {"step": 0, "seconds": 0.0}
    return (last["step"] - first["step"]) / max(last["seconds"] - first["seconds"], 1e-9)


def _flat(row: Row) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in asdict(row).items():
        if isinstance(value, dict):
            flat[key] = value["median"]
            flat |= {f"{key}_{bound}": value[bound] for bound in ("low", "high")}
        else:
            flat[key] = value
    return flat
