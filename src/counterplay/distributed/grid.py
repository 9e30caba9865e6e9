"""Run every combination of algorithms, games and seeds on local processes or a cluster.

Each cell is an ordinary run in `FOLDER/<game>/<algorithm>/seed-<seed>`. The same call again skips
finished cells and resumes the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterplay.distributed.executor import open_executor
from counterplay.distributed.run_units import advance_run, exploitability_at
from counterplay.distributed.units import Executor, Unit
from counterplay.errors import ConfigError, GameError
from counterplay.experiment.config import RunConfig, load_config
from counterplay.experiment.run_folder import find_runs, load_run_config
from counterplay.experiment.run_status import STOP_REQUEST, send_request
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
        return exploitability_at(self.folder, self.config.max_steps) is not None


@dataclass(frozen=True)
class GridProgress:
    """Cells that have ended so far, and a line about the last of them if it failed."""

    done: int
    total: int
    problem: str = ""


@dataclass(frozen=True)
class GridResult:
    """All cells, the reasons of those that failed, and whether the grid was stopped early."""

    cells: Sequence[Cell]
    problems: dict[Path, str]
    stopped: bool

    def folders(self, game: str) -> list[Path]:
        """The runs of a game that have begun."""
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
        algorithms: such as "cfr_plus" or "dcfr(gamma=3)".
        games: such as "kuhn_poker(players=3)".
        iterations: of each run.
        evaluate_every: iterations between two records; by default a run has about 20 of them.

    Raises:
        ConfigError: a name is wrong, or a folder holds another run.
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
                place = Path(folder, _file_name(spec), _file_name(algorithm), f"seed-{seed}")
                cells.append(Cell(spec, config, place))
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
        cells: what `make_cells` returned for this folder.
        on: "local" for processes of this machine; "auto" or "host:port" for a Ray cluster.
        processes: runs at once on this machine; by default one per core.
        report: called whenever a cell has ended.
        stop: asked several times a second; True lets runs write a checkpoint and end.
    """
    root = Path(folder)
    todo = [cell for cell in cells if not cell.is_finished]
    problems: dict[Path, str] = {}
    done, stopped = len(cells) - len(todo), False
    tell = report or (lambda progress: None)
    tell(GridProgress(done, len(cells)))

    def note(number: int, result: dict[str, Any]) -> None:
        nonlocal done, stopped
        problem = result.get("problem", "")
        if problem:
            problems[todo[number].folder] = problem
        stopped = stopped or bool(result.get("stopped"))
        done += not result.get("stopped")
        tell(GridProgress(done, len(cells), problem))

    def is_stopped() -> bool:
        if not (stopped or (stop is not None and stop())):
            return False
        for cell in todo:  # repeatedly, because a run that is just beginning withdraws requests
            if cell.folder.exists() and not cell.is_finished:
                send_request(cell.folder, STOP_REQUEST)
        return True

    if todo:
        root.mkdir(parents=True, exist_ok=True)
        units = [_unit(cell, root) for cell in todo]
        with open_executor(on, processes) as executor:
            results = executor.map(units, note, is_stopped)
        stopped = stopped or None in results
    return GridResult(cells, problems, stopped)


def advance_cell(folder: str, config: dict[str, Any], steps: int, root: str) -> dict[str, Any]:
    """Run a cell to its end; an algorithm that cannot solve the game is a problem of this cell."""
    try:
        return advance_run(folder, config, steps, root)
    except (ConfigError, GameError) as error:
        return {"problem": str(error)}


def _unit(cell: Cell, root: Path) -> Unit:
    config = cell.config.to_json()
    own = str(cell.folder.resolve()), config, cell.config.max_steps, str(root.resolve())
    return Unit("counterplay.distributed.grid:advance_cell", own)


def _check_folder(cell: Cell) -> None:
    """Refuse a folder that holds something else than this cell, shorter or longer."""
    if not cell.folder.exists():
        return
    if find_runs([cell.folder]) != [cell.folder]:
        raise ConfigError(f"{cell.folder} exists already and is not a run; choose another folder")
    found, wanted = load_run_config(cell.folder).to_json(), cell.config.to_json()
    for config in (found, wanted):
        del config["spec"]["max_steps"], config["spec"]["evaluate_every"]
    if found != wanted:
        raise ConfigError(f"{cell.folder} holds another run; choose another folder")


def _file_name(spec: str) -> str:
    """A spec as the name of a folder, such as "dcfr-gamma_3"."""
    text = re.sub(r"[^A-Za-z0-9_.-]+", "_", spec.replace("(", "-").replace(" ", ""))
    return text.strip("_-.") or "cell"
