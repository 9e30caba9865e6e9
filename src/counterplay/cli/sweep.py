"""`counterplay sweep`: search settings, on this machine or on a cluster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.common import (
    ExecutorOption,
    JsonOption,
    ProcessesOption,
    TrustOption,
    print_json,
    print_table,
    readable_seconds,
)
from counterplay.cli.signals import first_signal

if TYPE_CHECKING:
    from counterplay.scale.standings import Standings
    from counterplay.scale.sweeping import SweepProgress

SHOWN = 10  # proposals in the table after a search


def sweep(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY", help="A JSON file, or an example of `configs`.")
    ],
    on: ExecutorOption = "local",
    processes: ProcessesOption = None,
    runs: Annotated[
        Path, typer.Option(metavar="DIR", help="The study lives in DIR/<its name>.")
    ] = Path("runs"),
    json: JsonOption = False,
    trust: TrustOption = None,
) -> None:
    """Search settings, ranked by the mean over seeds.

    Ctrl-C lets all runs write a checkpoint and ends. The same command goes on, after a crash too.
    """
    from counterplay.cli.progress import Bar
    from counterplay.experiment.examples import find_config
    from counterplay.scale.sweeping import sweep as search

    bar = Bar("searching", "steps")

    def report(progress: SweepProgress) -> None:
        if progress.line:
            print(progress.line, file=sys.stderr)
        if progress.total:
            left = progress.total - progress.steps
            seconds = left / max(bar.rate(progress.steps), 1e-9)
            note = f"{readable_seconds(seconds)} left" if progress.steps else ""
            bar.update(progress.steps, progress.total, note)

    study = find_config(study)
    with bar, first_signal() as stop:
        found = search(study, on, runs=runs, processes=processes, report=report, stop=stop)
    if json:
        print_json(found.to_json() | {"stopped": found.stopped})
    elif any(one.rungs for one in found.table):
        print_standings(found, SHOWN)
    if found.stopped:
        print("interrupted; to go on: the same command", file=sys.stderr)
        raise typer.Exit(130)


def print_standings(found: Standings, most: int | None = None) -> None:
    """Print the ranking of each game, the best first, and the judgement on unseen seeds."""
    for number, (game, table) in enumerate(found.tables.items()):
        if found.study.varies_game:
            print(f"{chr(10) if number else ''}{game}")
        rows = [
            (str(one.number), one.text, f"{one.steps:,}", str(one.mean.seeds), str(one.mean))
            for one in table[:most]
            if one.rungs
        ]
        print_table(("proposal", "settings", "steps", "seeds", "exploitability, mean [95 %]"), rows)
    for who, mean in found.judged.items():
        print(f"{who} on {mean.seeds} unseen seeds: {mean}")
