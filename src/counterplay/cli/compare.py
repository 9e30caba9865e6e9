"""`counterplay compare`: a table across runs and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.common import (
    JsonOption,
    TrustOption,
    integer_option,
    print_json,
    print_table,
)
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.experiment.compare import ComparisonRow
    from counterplay.experiment.run_groups import MedianRange

STUDY_FILE = "study.json"  # in the folder of a study
RunsArgument = Annotated[
    list[str],
    typer.Argument(metavar="RUN...", help="Run folders, folders that hold some, or patterns."),
]


def compare(
    runs: RunsArgument,
    at: Annotated[
        int | None,
        integer_option(minimum=1, help="Judge at this step.", show_default="the last one"),
    ] = None,
    json: JsonOption = False,
    trust: TrustOption = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of text.")] = False,
) -> None:
    """Compare runs: exploitability and speed, medians over seeds.

    Runs that differ only in their seed share a row, with the least and the largest value below the
    median. A table per game: exploitabilities of different games are not comparable.
    The folder of a study gives its ranking: means over seeds, and how much each setting matters.
    """
    from counterplay.experiment.compare import compare as rows_of
    from counterplay.experiment.compare import csv_from_rows

    if json and csv:
        raise ConfigError("--json and --csv exclude each other")
    if len(runs) == 1 and (Path(runs[0]) / STUDY_FILE).is_file() and at is None and not csv:
        _print_study(runs[0], json)
        return
    rows = rows_of(runs, at)
    if json:
        print_json([row.to_json() for row in rows])
    elif csv:
        print(csv_from_rows(rows), end="")
    else:
        print_rows(rows)


def _print_study(folder: str, json: bool) -> None:
    """Print how the proposals of a study stand, and which settings matter."""
    from counterplay.cli.sweep import print_ranking
    from counterplay.distributed.ranking import load_study_ranking, setting_importance

    found = load_study_ranking(folder)
    shares = setting_importance(found)
    if json:
        print_json(found.to_json() | {"importance": shares})
        return
    print_ranking(found)
    text = ", ".join(f"{key} {share:.0%}" for key, share in shares.items())
    print(f"variance at the first rung explained by: {text}")


def print_rows(rows: Sequence[ComparisonRow]) -> None:
    """Print a table per game of exploitabilities; the counts of runs on rules follow in another."""
    exact = [row for row in rows if row.policy is not None]
    games = dict.fromkeys(row.game for row in exact)
    for number, game in enumerate(games):
        if len(games) > 1:
            print(f"{'' if number == 0 else chr(10)}{game}")
        header = ("name", "runs", "step", "exploitability", "best", "current", "steps/s")
        print_table(header, [c for row in exact if row.game == game for c in _lines(row)])
    if counted := [row for row in rows if row.policy is None]:
        print(f"{chr(10) if exact else ''}on rules, without exact exploitability")
        names = list(dict.fromkeys(name for row in counted for name in row.measured))
        columns = ("name", "runs", "step", *names, "steps/s")
        print_table(columns, [c for row in counted for c in _count_lines(row, names)])


def _lines(row: ComparisonRow) -> list[tuple[str, ...]]:
    values = (row.average, row.best, row.current)
    columns = [_stack(row.step, ",.0f"), *(_stack(value, ".2e") for value in values)]
    return _rows(row, columns)


def _count_lines(row: ComparisonRow, names: Sequence[str]) -> list[tuple[str, ...]]:
    counts = [_stack(row.measured.get(name), ",.0f") for name in names]
    return _rows(row, [_stack(row.step, ",.0f"), *counts])


def _rows(row: ComparisonRow, columns: Sequence[tuple[str, str, str]]) -> list[tuple[str, ...]]:
    """The medians and, where they differ, the least and the largest values below."""
    runs = str(row.runs) if row.seeds == row.runs else f"{row.runs} ({row.seeds} seeds)"
    speed = f"{row.steps_per_second.median:{',.0f' if row.steps_per_second.low >= 10 else '.2g'}}"
    medians, low, high = zip(*columns, strict=True)
    first = (row.name, runs, *medians, speed)
    if not any(low):
        return [first]
    return [first, ("  least", "", *low, ""), ("  largest", "", *high, "")]


def _stack(interval: MedianRange | None, form: str) -> tuple[str, str, str]:
    """Median, least and largest; the last two are empty if there is nothing between them."""
    if interval is None:
        return "-", "", ""
    median, low, high = (f"{x:{form}}" for x in (interval.median, interval.low, interval.high))
    return (median, "", "") if low == high else (median, low, high)
