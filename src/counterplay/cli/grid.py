"""`counterplay grid`: algorithms x games x seeds, and a table per game."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.common import (
    ExecutorOption,
    JsonOption,
    ProcessesOption,
    integer_option,
    parse_seeds,
    print_json,
    split_specs,
)
from counterplay.cli.signals import catch_first_signal

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
        Path, typer.Option("--output", "-o", metavar="DIR", help="The folder of all runs.")
    ],
    seeds: Annotated[
        str,
        typer.Option(
            "--seeds", "-s", metavar="SEEDS", help="0:3 or 0-2 for 0, 1 and 2; or 1,5,..."
        ),
    ] = "0",
    iterations: Annotated[
        int, integer_option("--iterations", "-n", minimum=1, help="Iterations of each run.")
    ] = 1000,
    evaluate_every: Annotated[
        int | None,
        integer_option(
            minimum=1, help="Iterations between records.", show_default="a twentieth of all"
        ),
    ] = None,
    on: ExecutorOption = "local",
    processes: ProcessesOption = None,
    json: JsonOption = False,
) -> None:
    """Run algorithms x games x seeds, then print a table per game.

    Each cell is an ordinary run folder, DIR/GAME/ALGORITHM/seed-N. Ctrl-C lets all runs write a
    checkpoint and ends; the same command goes on and skips what is finished. More --iterations make
    finished runs longer.
    """
    from counterplay.cli.progress import ProgressBar
    from counterplay.distributed.grid import make_cells, run_grid

    names = split_specs(algorithms), split_specs(games), parse_seeds("--seeds", seeds)
    cells = make_cells(*names, iterations, output, evaluate_every)
    bar = ProgressBar("running", "cells", total=len(cells))

    def report(progress: GridProgress) -> None:
        if progress.problem:
            print(f"failed: {progress.problem}", file=sys.stderr)
        bar.update(progress.done, progress.total)

    with bar, catch_first_signal() as stop:
        result = run_grid(cells, output, on, processes=processes, report=report, stop=stop)
    _print(result, json)
    if result.stopped:
        print("interrupted; to go on: the same command", file=sys.stderr)
        raise typer.Exit(130)
    if result.problems:
        raise typer.Exit(1)


def _print(result: GridResult, json: bool) -> None:
    from counterplay.cli.compare import print_rows

    games = dict.fromkeys(cell.game for cell in result.cells)
    tables = {game: _ranked(result.folders(game)) for game in games}
    if json:
        problems = {str(folder): problem for folder, problem in result.problems.items()}
        rows = {game: [row.to_json() for row in table] for game, table in tables.items()}
        print_json({"games": rows, "problems": problems, "stopped": result.stopped})
        return
    for number, (game, table) in enumerate(tables.items()):
        print(f"{chr(10) if number else ''}{game}")
        print_rows(table)


def _ranked(folders: list[Path]) -> list[ComparisonRow]:
    """The rows of one game, the least exploitable first; runs without records are left out."""
    from counterplay.experiment.compare import compare
    from counterplay.experiment.metrics import load_metrics

    begun = [folder for folder in folders if load_metrics(folder)]
    rows = compare(begun) if begun else []
    return sorted(rows, key=lambda row: row.average.median if row.average else float("inf"))
