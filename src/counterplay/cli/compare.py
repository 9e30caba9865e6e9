"""`counterplay compare`: a table across runs and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.options import JsonOption, TrustOption, integer_option
from counterplay.cli.output import print_json, print_table
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.experiment.compare import ComparisonRow
    from counterplay.experiment.run_groups import MedianRange

STUDY_FILE = "study.json"  # in the folder of a study
RunsArgument = Annotated[
    list[str],
    typer.Argument(metavar="RUN...", help="Run folders, folders that contain runs, or patterns."),
]


def compare(
    runs: RunsArgument,
    at: Annotated[
        int | None,
        integer_option(minimum=1, help="Compare at this step.", show_default="the last step"),
    ] = None,
    json: JsonOption = False,
    trust: TrustOption = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of text.")] = False,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="latex|markdown|csv",
            help="Print a table for a paper: median, quartiles and bootstrap interval over seeds.",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Add p-values against this method to the table (Mann-Whitney, Holm).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compare runs: exploitability and speed, medians over seeds.

    Runs that differ only in their seed share a row, with the least and the largest value below the
    median. There is one table per game, because exploitabilities of different games are not
    comparable. For the folder of a study, print its ranking (means over seeds) and the importance
    of each setting.
    """
    from counterplay.experiment.compare import compare as compare_runs
    from counterplay.experiment.compare import csv_from_rows

    if sum((json, csv, table is not None)) > 1:
        raise ConfigError("--json, --csv and --table exclude each other")
    if baseline is not None and table is None:
        raise ConfigError("--baseline adds a column to --table, which is missing")
    if table is not None:
        print(_paper_table(runs, at, table, baseline), end="")
        return
    if is_study(runs) and at is None and not csv:
        _print_study(runs[0], json)
        return
    rows = compare_runs(runs, at)
    if json:
        print_json([row.to_json() for row in rows])
    elif csv:
        print(csv_from_rows(rows), end="")
    else:
        print_rows(rows)


def _paper_table(runs: list[str], at: int | None, table: str, baseline: str | None) -> str:
    from counterplay.experiment.seed_statistics import (
        check_table_format,
        format_table,
        seed_statistics,
    )

    check_table_format(table)
    return format_table(seed_statistics(runs, at, baseline), table)


def is_study(runs: Sequence[str]) -> bool:
    """Return True if the only path is the folder of a study."""
    return len(runs) == 1 and (Path(runs[0]) / STUDY_FILE).is_file()


def _print_study(folder: str, json: bool) -> None:
    """Print the ranking of the proposals of a study, and the importance of settings."""
    from counterplay.cli.sweep import print_ranking
    from counterplay.distributed.ranking import load_study_ranking, setting_importance

    ranking = load_study_ranking(folder)
    shares = setting_importance(ranking)
    if json:
        print_json(ranking.to_json() | {"importance": shares})
        return
    print_ranking(ranking)
    text = ", ".join(f"{key} {share:.0%}" for key, share in shares.items())
    print(f"variance at the first rung explained by: {text}")


def print_rows(rows: Sequence[ComparisonRow]) -> None:
    """Print a table of exploitabilities per game, then a table of counts for runs on rules."""
    exact = [row for row in rows if row.policy is not None]
    games = dict.fromkeys(row.game for row in exact)
    for number, game in enumerate(games):
        if len(games) > 1:
            print(f"{'' if number == 0 else chr(10)}{game}")
        header = ("name", "runs", "step", "exploitability", "best", "current", "steps/s")
        lines = [line for row in exact if row.game == game for line in _exact_lines(row)]
        print_table(header, lines)
    if on_rules := [row for row in rows if row.policy is None]:
        print(f"{chr(10) if exact else ''}on rules, without exact exploitability")
        names = list(dict.fromkeys(name for row in on_rules for name in row.measured))
        columns = ("name", "runs", "step", *names, "steps/s")
        print_table(columns, [line for row in on_rules for line in _count_lines(row, names)])


def _exact_lines(row: ComparisonRow) -> list[tuple[str, ...]]:
    values = (row.average, row.best, row.current)
    columns = [_range_cells(row.step, ",.0f"), *(_range_cells(value, ".2e") for value in values)]
    return _table_lines(row, columns)


def _count_lines(row: ComparisonRow, names: Sequence[str]) -> list[tuple[str, ...]]:
    counts = [_range_cells(row.measured.get(name), ",.0f") for name in names]
    return _table_lines(row, [_range_cells(row.step, ",.0f"), *counts])


def _table_lines(
    row: ComparisonRow, columns: Sequence[tuple[str, str, str]]
) -> list[tuple[str, ...]]:
    """Return a line of medians and, if values differ, lines of the least and the largest."""
    runs = str(row.runs) if row.seeds == row.runs else f"{row.runs} ({row.seeds} seeds)"
    speed = f"{row.steps_per_second.median:{',.0f' if row.steps_per_second.low >= 10 else '.2g'}}"
    medians, low, high = zip(*columns, strict=True)
    first = (row.name, runs, *medians, speed)
    if not any(low):
        return [first]
    return [first, ("  least", "", *low, ""), ("  largest", "", *high, "")]


def _range_cells(values: MedianRange | None, number_format: str) -> tuple[str, str, str]:
    """Return median, least and largest as texts; the last two are empty if they are equal."""
    if values is None:
        return "-", "", ""
    numbers = (values.median, values.low, values.high)
    median, low, high = (f"{number:{number_format}}" for number in numbers)
    return (median, "", "") if low == high else (median, low, high)
