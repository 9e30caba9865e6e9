"""`counterplay compare`: a table across runs and seeds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.common import JsonOption, TrustOption, print_json, print_table
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.experiment.comparing import Row
    from counterplay.experiment.series import Interval

STUDY = "study.json"  # in the folder of a study
RunsArgument = Annotated[
    list[str],
    typer.Argument(metavar="RUN...", help="Run folders, folders that hold some, or patterns."),
]


def compare(
    runs: RunsArgument,
    at: Annotated[
        int | None,
        typer.Option(min=1, help="Judge at this step.", show_default="the last one"),
    ] = None,
    json: JsonOption = False,
    trust: TrustOption = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV instead of text.")] = False,
) -> None:
    """Compare runs: exploitability and speed, medians over seeds.

    Runs that differ only in their seed share a row; in brackets stand the least and the largest.
    The folder of a study gives its ranking: means over seeds, and how much each setting matters.
    """
    from counterplay.experiment.comparing import compare as rows_of
    from counterplay.experiment.comparing import to_csv

    if json and csv:
        raise ConfigError("--json and --csv exclude each other")
    if len(runs) == 1 and (Path(runs[0]) / STUDY).is_file() and at is None and not csv:
        _compare_study(runs[0], json)
        return
    rows = rows_of(runs, at)
    if json:
        print_json([row.to_json() for row in rows])
    elif csv:
        print(to_csv(rows), end="")
    else:
        header = ("name", "runs", "seeds", "step", "average", "best", "current", "steps/s")
        print_table(header, map(_cells, rows))


def _compare_study(folder: str, json: bool) -> None:
    """Print how the proposals of a study stand, and which settings matter."""
    from counterplay.cli.sweep import print_standings
    from counterplay.scale.standings import importance, standings

    found = standings(folder)
    shares = importance(found)
    if json:
        print_json(found.to_json() | {"importance": shares})
        return
    print_standings(found)
    text = ", ".join(f"{key} {share:.0%}" for key, share in shares.items())
    print(f"variance at the first rung explained by: {text}")


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.name,
        str(row.runs),
        str(row.seeds),
        _text(row.step, ",.0f"),
        _text(row.average, ".2e"),
        _text(row.best, ".2e"),
        _text(row.current, ".2e") if row.current else "-",
        _text(row.steps_per_second, ",.0f" if row.steps_per_second.low >= 10 else ".2g"),
    )


def _text(interval: Interval, form: str) -> str:
    median, low, high = (f"{x:{form}}" for x in (interval.median, interval.low, interval.high))
    return median if low == high else f"{median} [{low}, {high}]"
