"""`counterplay sweep`: search hyper-parameters, on this machine or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.options import ExecutorOption, JsonOption, ProcessesOption, TrustOption
from counterplay.cli.output import print_json, print_note, print_table

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
        Path, typer.Option(metavar="DIR", help="The folder of the study is DIR/<its name>.")
    ] = Path("runs"),
    json: JsonOption = False,
    trust: TrustOption = None,
) -> None:
    """Search hyper-parameters, ranked by the mean over seeds.

    Ctrl-C lets all runs write a checkpoint and ends the search. The same command continues it,
    also after a crash.
    """
    from counterplay.cli.progress import ProgressFollower
    from counterplay.distributed.sweeps import sweep as run_sweep
    from counterplay.experiment.examples import find_config

    follower = ProgressFollower("searching", "steps", shows_time_left=True)

    def report(progress: SweepProgress) -> None:
        if progress.message:
            print_note(progress.message)
        if progress.total_steps:
            follower.tick(progress.steps, progress.total_steps)

    study = find_config(study)
    with follower:
        ranking = run_sweep(
            study, on, runs_folder=runs, num_processes=processes, report=report, stop=follower.stop
        )
    if json:
        print_json(ranking.to_json() | {"stopped": ranking.stopped})
    elif any(proposal.mean_by_rung for proposal in ranking.proposals):
        print_ranking(ranking, NUM_SHOWN_PROPOSALS)
    if ranking.stopped:
        exit_interrupted()


def exit_interrupted() -> None:
    """Exit after Ctrl-C from a command that continues when it is run again."""
    print_note("interrupted; to continue: the same command")
    raise typer.Exit(130)


def print_ranking(ranking: StudyRanking, max_rows: int | None = None) -> None:
    """Print the ranking of each game, the best first, and the evaluation on unseen seeds."""
    for number, (game, proposals) in enumerate(ranking.tables.items()):
        if ranking.study.varies_game:
            print(f"{chr(10) if number else ''}{game}")
        rows = [
            (
                str(proposal.number),
                proposal.settings_text,
                f"{proposal.last_rung:,}",
                str(proposal.last_mean.num_seeds),
                str(proposal.last_mean),
            )
            for proposal in proposals[:max_rows]
            if proposal.mean_by_rung
        ]
        print_table(("proposal", "settings", "steps", "seeds", "exploitability, mean [95 %]"), rows)
    for config, mean in ranking.judgement_by_config.items():
        print(f"{config} on {mean.num_seeds} unseen seeds: {mean}")
