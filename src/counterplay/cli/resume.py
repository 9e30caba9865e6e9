"""`counterplay resume`: go on with a run that was interrupted, or make it longer."""

from __future__ import annotations

import sys
from glob import has_magic
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.common import (
    JsonOption,
    TrustOption,
    integer_option,
    print_json_line,
)
from counterplay.cli.run import (
    ExecutorOption,
    TensorBoardOption,
    advance_with_progress,
    result_to_json,
)
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.experiment.runner import Run


def resume(
    folders: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Folders of runs, one after another.")
    ],
    steps: Annotated[
        int | None, integer_option(minimum=1, help="Run to this step instead.", show_default=False)
    ] = None,
    tensorboard: TensorBoardOption = False,
    json: JsonOption = False,
    trust: TrustOption = None,
    on: ExecutorOption = None,
) -> None:
    """Go on with runs from their latest checkpoints.

    The result is the same, bit for bit, as that of a run that was never interrupted.
    """
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.experiment.run_folder import find_runs
    from counterplay.experiment.runner import open_run

    for given in folders:
        found = find_runs([given])
        if len(found) > 1 and not has_magic(given):
            raise ConfigError(f"{given} holds {len(found)} runs; to go on with all: {given}/*")
    for folder in find_runs(folders):
        run = open_run(folder, max_steps=steps, build=build_tree_with_progress)
        if not run.finished:
            advance_with_progress(run, tensorboard, json, on)
            continue
        result = run.advance()
        if json:
            print_json_line(result_to_json(result))
        print(f"{folder} is finished, at step {run.step:,}{_resume_hint(run)}", file=sys.stderr)


def _resume_hint(run: Run) -> str:
    """How to go on all the same, unless the algorithm has nothing left to do."""
    if run.step < run.config.max_steps:
        return ""
    return f"; to go on: counterplay resume {run.folder} --steps {2 * run.step}"
