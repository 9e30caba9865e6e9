"""Run every combination of algorithms, games and seeds on local processes or a cluster.

Each cell is an ordinary run in `FOLDER/<game>/<algorithm>/seed-<seed>`. The same call again skips
finished cells and resumes the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from counterplay.distributed.executor import open_executor
from counterplay.distributed.run_units import (
    AdvanceResult,
    advance_run,
    exploitability_at,
    make_run_unit,
    map_run_units,
)
from counterplay.distributed.units import Executor
from counterplay.errors import ConfigError, GameError
from counterplay.experiment.config import JsonObject, RunConfig, load_config
from counterplay.experiment.run_folder import find_runs, load_run_config
from counterplay.registry import get_spec

MAX_CELLS = 100_000
RECORDS_PER_RUN = 20


@dataclass(frozen=True)
class Cell:
    """One algorithm on one game with one seed."""

    game: str
    config: RunConfig
    folder: Path

    @property
    def is_finished(self) -> bool:
        """Whether the run has recorded its last step."""
        return exploitability_at(self.folder, self.config.max_steps) is not None


@dataclass(frozen=True)
class GridProgress:
    """The progress of a grid."""

    done: int  # number of cells that have ended
    total: int
    problem: str = ""  # why the last cell failed, if it did


@dataclass(frozen=True)
class GridResult:
    """All cells, the reasons of those that failed, and whether the grid was stopped early."""

    cells: Sequence[Cell]
    problems: dict[Path, str]
    stopped: bool

    def folders(self, game: str) -> list[Path]:
        """Return the run folders of a game that exist."""
        return [cell.folder for cell in self.cells if cell.game == game and cell.folder.exists()]


def make_cells(
    algorithms: Sequence[str],
    games: Sequence[str],
    seeds: Sequence[int],
    iterations: int,
    folder: str | Path,
    evaluate_every: int | None = None,
) -> list[Cell]:
    """Check all names and parameters, and return one cell per combination.

    Args:
        algorithms: specs such as "cfr_plus" or "dcfr(gamma=3)".
        games: specs such as "kuhn_poker(players=3)".
        iterations: of each run.
        evaluate_every: iterations between two records; by default a run has about 20 records.

    Raises:
        ConfigError: a name is wrong, or a folder contains another run.
    """
    if len(algorithms) * len(games) * len(seeds) > MAX_CELLS:
        raise ConfigError(f"the grid has more than {MAX_CELLS:,} cells")
    cells = []
    every = evaluate_every or max(1, iterations // RECORDS_PER_RUN)
    for game in games:
        for algorithm in algorithms:
            for seed in seeds:
                content = {
                    "name": _file_name(algorithm),
                    "algorithm": algorithm,
                    "game": game,
                    "spec": {"max_steps": iterations, "evaluate_every": every, "seed": seed},
                }
                config = load_config(content)
                spec = get_spec(config.game)
                path = Path(folder, _file_name(spec), _file_name(algorithm), f"seed-{seed}")
                cells.append(Cell(spec, config, path))
    if len({cell.folder for cell in cells}) < len(cells):
        raise ConfigError("the grid has the same algorithm, game and seed twice")
    for cell in cells:
        _check_folder(cell)
    return cells


def run_grid(
    cells: Sequence[Cell],
    folder: str | Path,
    on: str | Executor = "local",
    *,
    processes: int | None = None,
    report: Callable[[GridProgress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> GridResult:
    """Run all cells that are not finished yet.

    Args:
        cells: the result of `make_cells` for this folder.
        on: "local" for processes of this machine; "auto" or "host:port" for a Ray cluster.
        processes: runs at once on this machine; by default one per core.
        report: called whenever a cell has ended.
        stop: called several times a second; True lets runs write a checkpoint and end.
    """
    root = Path(folder)
    waiting = {cell.folder: cell for cell in cells if not cell.is_finished}
    problems: dict[Path, str] = {}
    num_done = len(cells) - len(waiting)
    report_progress = report or (lambda progress: None)
    report_progress(GridProgress(num_done, len(cells)))
    folders = list(waiting)

    def handle_result(number: int, result: AdvanceResult) -> None:
        nonlocal num_done
        problem = result.get("problem", "")
        if problem:
            problems[folders[number]] = problem
        num_done += not result.get("stopped")
        report_progress(GridProgress(num_done, len(cells), problem))

    is_complete = True
    if waiting:
        root.mkdir(parents=True, exist_ok=True)
        function = "counterplay.distributed.grid:advance_cell"
        units = [
            make_run_unit(cell.folder, cell.config.to_json(), cell.config.max_steps, root, function)
            for cell in waiting.values()
        ]
        with open_executor(on, processes) as executor:
            is_complete = map_run_units(
                executor,
                units,
                folders,
                lambda folder: waiting[folder].is_finished,
                handle_result,
                stop or (lambda: False),
            )
    return GridResult(cells, problems, not is_complete)


def advance_cell(folder: str, config: JsonObject, steps: int, root: str) -> AdvanceResult:
    """Run a cell to its end; an algorithm that cannot solve the game fails this cell only."""
    try:
        return advance_run(folder, config, steps, root)
    except (ConfigError, GameError) as error:
        return {"problem": str(error)}


def _check_folder(cell: Cell) -> None:
    """Raise ConfigError if a folder contains something else than this cell, of any length."""
    if not cell.folder.exists():
        return
    if find_runs([cell.folder]) != [cell.folder]:
        raise ConfigError(f"{cell.folder} exists already and is not a run; choose another folder")
    stored, expected = load_run_config(cell.folder).to_json(), cell.config.to_json()
    for config in (stored, expected):
        del config["spec"]["max_steps"], config["spec"]["evaluate_every"]
    if stored != expected:
        raise ConfigError(f"{cell.folder} contains another run; choose another folder")


def _file_name(spec: str) -> str:
    """Return a spec as the name of a folder, such as "dcfr-gamma_3"."""
    text = re.sub(r"[^A-Za-z0-9_.-]+", "_", spec.replace("(", "-").replace(" ", ""))
    return text.strip("_-.") or "cell"
