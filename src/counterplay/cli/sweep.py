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
    format_seconds,
    print_json,
    print_table,
)
from counterplay.cli.signals import catch_first_signal

if TYPE_CHECKING:
    from counterplay.distributed.ranking import StudyRanking
    from counterplay.distributed.sweeps import SweepProgress

NUM_SHOWN_PROPOSALS = 10  # proposals in the table after a search


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
    from counterplay.cli.progress import ProgressBar
    from counterplay.distributed.sweeps import sweep as search
    from counterplay.experiment.examples import find_config

    bar = ProgressBar("searching", "steps")

    def report(progress: SweepProgress) -> None:
        if progress.message:
            print(progress.message, file=sys.stderr)
        if progress.total_steps:
            left = progress.total_steps - progress.steps
            seconds = left / max(bar.rate(progress.steps), 1e-9)
            note = f"{format_seconds(seconds)} left" if progress.steps else ""
            bar.update(progress.steps, progress.total_steps, note)

    study = find_config(study)
    with bar, catch_first_signal() as stop:
        found = search(
            study, on, runs_folder=runs, num_processes=processes, report=report, stop=stop
        )
    if json:
        print_json(found.to_json() | {"stopped": found.stopped})
    elif any(one.mean_by_rung for one in found.proposals):
        print_ranking(found, NUM_SHOWN_PROPOSALS)
    if found.stopped:
        print("interrupted; to go on: the same command", file=sys.stderr)
        raise typer.Exit(130)


def print_ranking(ranking: StudyRanking, max_rows: int | None = None) -> None:
    """Print the ranking of each game, the best first, and the judgement on unseen seeds."""
    for number, (game, table) in enumerate(ranking.tables.items()):
        if ranking.study.varies_game:
            print(f"{chr(10) if number else ''}{game}")
        rows = [
            (
                str(one.number),
                one.settings_text,
                f"{one.last_rung:,}",
                str(one.last_mean.num_seeds),
                str(one.last_mean),
            )
            for one in table[:max_rows]
            if one.mean_by_rung
        ]
        print_table(("proposal", "settings", "steps", "seeds", "exploitability, mean [95 %]"), rows)
    for who, mean in ranking.judgement_by_config.items():
        print(f"{who} on {mean.num_seeds} unseen seeds: {mean}")
