"""A table across runs and seeds."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from counterplay.errors import ConfigError
from counterplay.experiment.run_folder import MetricsRecord, find_runs
from counterplay.experiment.run_groups import MedianRange, RunGroup, load_run_groups


@dataclass(frozen=True)
class ComparisonRow:
    """Runs that differ only in their seed: medians over them, with the least and largest.

    Runs on rules have no exact exploitability: `average`, `best` and `current` are None, and
    `measured` has the counts that they record instead.
    """

    name: str
    runs: int
    seeds: int  # different ones
    step: MedianRange
    average: MedianRange | None  # exploitability of the guaranteed policy, usually an average
    best: MedianRange | None  # its least over the run
    current: MedianRange | None  # of the current policy
    steps_per_second: MedianRange
    game: str
    policy: str | None  # the name of the guaranteed policy
    measured: dict[str, MedianRange]  # infosets, touched nodes and bytes of runs on rules

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def compare(paths: Iterable[str | Path], max_step: int | None = None) -> list[ComparisonRow]:
    """One row per group of runs, judged at their last record, or at the last up to step `at`."""
    return [_summarise_group(group, max_step) for group in load_run_groups(find_runs(paths))]


def csv_from_rows(rows: Sequence[ComparisonRow]) -> str:
    """The table as CSV; an interval takes three columns."""
    text = io.StringIO()
    flat = [_flatten_row(row) for row in rows]
    header = list(dict.fromkeys(key for row in flat for key in row))
    writer = csv.DictWriter(text, header, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _summarise_group(group: RunGroup, max_step: int | None) -> ComparisonRow:
    histories = [
        [r for r in run.records if max_step is None or r["step"] <= max_step] for run in group.runs
    ]
    if not all(histories):
        raise ConfigError(f"{group.label} has no record up to step {max_step}")
    last = [history[-1] for history in histories]

    def at_end(name: str) -> MedianRange | None:
        return (
            MedianRange.from_values(r[name] for r in last) if all(name in r for r in last) else None
        )

    main = group.policies[0] if group.policies else None
    return ComparisonRow(
        name=group.label,
        runs=len(histories),
        seeds=len({run.seed for run in group.runs}),
        step=MedianRange.from_values(record["step"] for record in last),
        average=at_end(main) if main else None,
        best=MedianRange.from_values(min(r[main] for r in h) for h in histories) if main else None,
        current=at_end("current") if main else None,
        steps_per_second=MedianRange.from_values(map(steps_per_second, histories)),
        game=group.game,
        policy=main,
        measured={} if main else {key: found for key in group.measured if (found := at_end(key))},
    )


def steps_per_second(history: list[MetricsRecord]) -> float:
    """Steps per second after the first record, which has waited for compilation."""
    first, last = history[0], history[-1]
    if first is last:
        first = {"step": 0, "seconds": 0.0}
    return (last["step"] - first["step"]) / max(last["seconds"] - first["seconds"], 1e-9)


def _flatten_row(row: ComparisonRow) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    facts = asdict(row)
    counts = facts.pop("measured")
    for key, value in (facts | counts).items():
        if isinstance(value, dict):
            flat[key] = value["median"]
            flat |= {f"{key}_{bound}": value[bound] for bound in ("low", "high")}
        else:
            flat[key] = value
    return flat
