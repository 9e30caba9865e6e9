"""`counterplay grid`: run algorithms x games x seeds, and print a table per game."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from pydantic import BaseModel, ConfigDict, Field, field_validator

from counterplay.cli.options import (
    ExecutorOption,
    JsonOption,
    ProcessesOption,
    integer_option,
    iterations_option,
    parse_seeds,
    split_specs,
)
from counterplay.cli.output import print_json, print_note, print_written
from counterplay.cli.sweep import exit_interrupted
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.distributed.grid import GridProgress, GridResult
    from counterplay.experiment.compare import ComparisonRow


def grid(
    study: Annotated[
        Path | None,
        typer.Argument(
            metavar="[STUDY]",
            help="A .json file with the options, such as "
            '{"algorithms": ["cfr", "dcfr"], "games": ["kuhn_poker"], "seeds": "0:3"}.',
            show_default=False,
        ),
    ] = None,
    algorithms: Annotated[
        str | None,
        typer.Option(
            "--algorithms", "-a", metavar="A,B,...", help="Such as cfr_plus,'dcfr(gamma=3)'."
        ),
    ] = None,
    games: Annotated[
        str | None,
        typer.Option("--games", "-g", metavar="A,B,...", help="Such as kuhn_poker,leduc_poker."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder of the runs.",
            show_default="the name of STUDY without .json",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds",
            "-s",
            metavar="SEEDS",
            help="Seeds, such as 0:3 or 0-2 for 0, 1 and 2.",
            show_default="0",
        ),
    ] = None,
    iterations: Annotated[
        int | None, iterations_option("Iterations of each run.", show_default="1000")
    ] = None,
    evaluate_every: Annotated[
        int | None,
        integer_option(
            minimum=1,
            help="Iterations between records.",
            show_default="a twentieth of --iterations",
        ),
    ] = None,
    figures: Annotated[
        str | None,
        typer.Option(
            metavar="pdf|svg|png",
            help="Draw a figure per game, DIR/GAME.pdf, of printed size.",
            show_default=False,
        ),
    ] = None,
    x: Annotated[
        str | None,
        typer.Option(
            metavar="step|seconds|nodes|episodes",
            help="Horizontal axis of the figures.",
            show_default="step",
        ),
    ] = None,
    on: ExecutorOption = "local",
    processes: ProcessesOption = None,
    json: JsonOption = False,
) -> None:
    """Run algorithms x games x seeds, then print a table per game.

    With --figures, draw a figure per game too. The settings are options, or keys of a STUDY file;
    options take precedence.

    Each cell is an ordinary run folder, DIR/GAME/ALGORITHM/seed-N. Ctrl-C lets all runs write a
    checkpoint and ends the grid; the same command continues it and skips finished runs. More
    --iterations extend finished runs.
    """
    from counterplay.cli.progress import ProgressFollower
    from counterplay.distributed.grid import make_cells, run_grid

    given: dict[str, object] = {
        "algorithms": algorithms,
        "games": games,
        "seeds": seeds,
        "iterations": iterations,
        "evaluate_every": evaluate_every,
        "output": None if output is None else str(output),
        "figures": figures,
        "x": x,
    }
    plan = _read_plan(study, {key: value for key, value in given.items() if value is not None})
    output = plan.output
    _check_figures(plan)
    names = plan.algorithms, plan.games, plan.seeds
    cells = make_cells(*names, plan.iterations, output, plan.evaluate_every)
    follower = ProgressFollower("running", "cells", len(cells))

    def report(progress: GridProgress) -> None:
        if progress.problem:
            print_note(f"failed: {progress.problem}")
        follower.tick(progress.done, progress.total)

    with follower:
        result = run_grid(cells, output, on, processes=processes, report=report, stop=follower.stop)
    _print_result(result, json)
    _draw_figures(result, plan)
    if result.stopped:
        exit_interrupted()
    if result.problems:
        raise typer.Exit(1)


class GridPlan(BaseModel):
    """The settings of a grid, from a study file and from options."""

    model_config = ConfigDict(extra="forbid")

    algorithms: list[str]
    games: list[str]
    seeds: list[int] = Field(default_factory=lambda: [0])
    iterations: Annotated[int, Field(ge=1)] = 1000
    evaluate_every: Annotated[int, Field(ge=1)] | None = None
    output: Path
    figures: Literal["pdf", "svg", "png"] | None = None
    x: Literal["step", "seconds", "nodes", "episodes"] = "step"

    @field_validator("algorithms", "games", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return split_specs(value) if isinstance(value, str) else value

    @field_validator("seeds", mode="before")
    @classmethod
    def _parse_seeds(cls, value: object) -> object:
        return parse_seeds("seeds", value) if isinstance(value, str) else value


def _read_plan(study: Path | None, options: dict[str, object]) -> GridPlan:
    """Return the settings of a grid; code that a study file names needs the consent of the user.

    Raises:
        ConfigError: a key is missing, unknown or wrong.
    """
    from counterplay.core.trust import check_spec
    from counterplay.experiment.config import load_json_object, validate

    raw: dict[str, object] = {}
    where = "grid"
    if study is not None:
        where, raw = load_json_object(study, "study", "grid", GridPlan.model_fields)
        name = raw.pop("name", "grid")
        raw.setdefault("output", str(study.parent / str(name)))
    settings = raw | options
    missing = [key for key in ("algorithms", "games", "output") if key not in settings]
    if missing:
        needed = " and ".join(f"--{key}" for key in missing)
        raise ConfigError(f"a grid needs {needed}, or a STUDY file with these keys")
    plan = validate(where, GridPlan, settings)
    named = {key for key in ("algorithms", "games") if key not in options}
    if study is not None:
        for key in named:
            for spec in getattr(plan, key):
                check_spec(spec, study)
    return plan


def _check_figures(plan: GridPlan) -> None:
    """Raise ConfigError before the runs if the figures could not be drawn after them."""
    if plan.figures:
        from counterplay.experiment.plots.run_plots import require_matplotlib

        require_matplotlib()
    elif plan.x != "step":
        raise ConfigError(f"x is {plan.x!r}, and there are no figures to draw; add --figures pdf")


def _draw_figures(result: GridResult, plan: GridPlan) -> None:
    """Draw the curves of each game that has records."""
    if not plan.figures:
        return
    from counterplay.experiment.plots.run_plots import plot_runs

    for game in dict.fromkeys(cell.game for cell in result.cells):
        folders = [folder for folder in result.folders(game) if _has_records(folder)]
        if folders:
            path = plan.output / f"{folders[0].parents[1].name}.{plan.figures}"
            plot_runs(folders, path, x=plan.x, log_x=True, paper=True, note=print_note)
            print_written(path)


def _has_records(folder: Path) -> bool:
    from counterplay.experiment.metrics import load_metrics

    return bool(load_metrics(folder))


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
