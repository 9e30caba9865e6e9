"""`counterplay grid`: run algorithms x games x seeds, and print a table per game."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.options import (
    ExecutorOption,
    JsonOption,
    ProcessesOption,
    integer_option,
    iterations_option,
    parse_seeds,
    split_specs,
)
from counterplay.cli.output import print_json, print_note
from counterplay.cli.sweep import exit_interrupted

if TYPE_CHECKING:
    from counterplay.distributed.grid import GridProgress, GridResult
    from counterplay.experiment.compare import ComparisonRow


def grid(
    algorithms: Annotated[
        str,
        typer.Option(
            "--algorithms", "-a", metavar="A,B,...", help="Such as cfr_plus,'dcfr(gamma=3)'."
        ),
    ],
    games: Annotated[
        str,
        typer.Option("--games", "-g", metavar="A,B,...", help="Such as kuhn_poker,leduc_poker."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder of the runs.")
    ],
    seeds: Annotated[
        str,
        typer.Option(
            "--seeds", "-s", metavar="SEEDS", help="Seeds, such as 0:3 or 0-2 for 0, 1 and 2."
        ),
    ] = "0",
    iterations: Annotated[int, iterations_option("Iterations of each run.")] = 1000,
    evaluate_every: Annotated[
        int | None,
        integer_option(
            minimum=1,
            help="Iterations between records.",
            show_default="a twentieth of --iterations",
        ),
    ] = None,
    on: ExecutorOption = "local",
    processes: ProcessesOption = None,
    json: JsonOption = False,
) -> None:
    """Run algorithms x games x seeds, then print a table per game.

    Each cell is an ordinary run folder, DIR/GAME/ALGORITHM/seed-N. Ctrl-C lets all runs write a
    checkpoint and ends the grid; the same command continues it and skips finished runs. More
    --iterations extend finished runs.
    """
    from counterplay.cli.progress import ProgressFollower
    from counterplay.distributed.grid import make_cells, run_grid

    names = split_specs(algorithms), split_specs(games), parse_seeds("--seeds", seeds)
    cells = make_cells(*names, iterations, output, evaluate_every)
    follower = ProgressFollower("running", "cells", len(cells))

    def report(progress: GridProgress) -> None:
        if progress.problem:
            print_note(f"failed: {progress.problem}")
        follower.tick(progress.done, progress.total)

    with follower:
        result = run_grid(cells, output, on, processes=processes, report=report, stop=follower.stop)
    _print_result(result, json)
    if result.stopped:
        exit_interrupted()
    if result.problems:
        raise typer.Exit(1)


def _print_result(result: GridResult, json: bool) -> None:
    from counterplay.cli.compare import print_rows

    games = dict.fromkeys(cell.game for cell in result.cells)
    tables = {game: _rank_runs(result.folders(game)) for game in games}
    if json:
        problems = {str(folder): problem for folder, problem in result.problems.items()}
        rows = {game: [row.to_json() for row in table] for game, table in tables.items()}
        print_json({"games": rows, "problems": problems, "stopped": result.stopped})
        return
    for number, (game, table) in enumerate(tables.items()):
        print(f"{chr(10) if number else ''}{game}")
        print_rows(table)


def _rank_runs(folders: list[Path]) -> list[ComparisonRow]:
    """Return the rows of one game, the least exploitable first, without runs that lack records."""
    from counterplay.experiment.compare import compare
    from counterplay.experiment.metrics import load_metrics

    with_records = [folder for folder in folders if load_metrics(folder)]
    rows = compare(with_records) if with_records else []
    return sorted(rows, key=lambda row: row.average.median if row.average else float("inf"))
