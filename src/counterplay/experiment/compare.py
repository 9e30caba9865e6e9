"""A table that compares runs across seeds."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from counterplay.errors import ConfigError
from counterplay.experiment.config import JsonObject
from counterplay.experiment.metrics import MetricsRecord
from counterplay.experiment.run_folder import find_runs
from counterplay.experiment.run_groups import MedianRange, RunGroup, load_run_groups


@dataclass(frozen=True)
class ComparisonRow:
    """Medians and ranges over runs that differ only in their seed.

    Runs on rules have no exact exploitability: their `average`, `best` and `current` equal None,
    and `measured` has the counts that they record instead.
    """

    name: str
    runs: int
    seeds: int  # number of different seeds
    step: MedianRange
    average: MedianRange | None  # of the policy with the guarantee, usually an average
    best: MedianRange | None  # its lowest exploitability over the run
    current: MedianRange | None  # of the current policy
    steps_per_second: MedianRange
    game: str
    policy: str | None  # name of the policy with the guarantee
    measured: dict[str, MedianRange]  # infosets, touched nodes and bytes of runs on rules

    def to_json(self) -> JsonObject:
        return asdict(self)


def compare(paths: Iterable[str | Path], max_step: int | None = None) -> list[ComparisonRow]:
    """Return one row per group of runs, from their last records.

    Args:
        paths: run folders, folders that contain some, or patterns.
        max_step: ignore records after this step.
    """
    return [_summarise_group(group, max_step) for group in load_run_groups(find_runs(paths))]


def csv_from_rows(rows: Sequence[ComparisonRow]) -> str:
    """Return the table as CSV; a median with its range takes three columns."""
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
        measured={}
        if main
        else {name: counts for name in group.metric_names if (counts := at_end(name))},
    )


def steps_per_second(history: list[MetricsRecord]) -> float:
    """Return the steps per second after the first record, which includes compilation."""
    first, last = history[0], history[-1]
    if first is last:
        first = {"step": 0, "seconds": 0.0}
    return (last["step"] - first["step"]) / max(last["seconds"] - first["seconds"], 1e-9)


def _flatten_row(row: ComparisonRow) -> JsonObject:
    flat: JsonObject = {}
    columns = asdict(row)
    counts = columns.pop("measured")
    for key, value in (columns | counts).items():
        if isinstance(value, dict):
            flat[key] = value["median"]
            flat |= {f"{key}_{bound}": value[bound] for bound in ("low", "high")}
        else:
            flat[key] = value
    return flat
