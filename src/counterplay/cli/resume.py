"""`counterplay resume`: continue an interrupted run, or extend a finished one."""

from __future__ import annotations

from glob import has_magic
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.options import JsonOption, TrustOption, integer_option
from counterplay.cli.output import print_json_line, print_note
from counterplay.cli.run import (
    RunExecutorOption,
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
        int | None,
        integer_option(minimum=1, help="Replaces spec.max_steps.", show_default=False),
    ] = None,
    tensorboard: TensorBoardOption = False,
    json: JsonOption = False,
    trust: TrustOption = None,
    on: RunExecutorOption = None,
) -> None:
    """Continue runs from their latest checkpoints.

    The result is the same, bit for bit, as that of a run that was never interrupted.
    """
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.experiment.run_folder import find_runs
    from counterplay.experiment.runner import open_run

    for pattern in folders:
        count = len(find_runs([pattern]))
        if count > 1 and not has_magic(pattern):
            raise ConfigError(f"{pattern} has {count} runs; to continue them all: {pattern}/*")
    for folder in find_runs(folders):
        run = open_run(folder, max_steps=steps, build=build_tree_with_progress)
        if not run.finished:
            advance_with_progress(run, tensorboard, json, on)
            continue
        result = run.advance()
        if json:
            print_json_line(result_to_json(result))
        print_note(f"{folder} is finished, at step {run.step:,}{_extension_hint(run)}")


def _extension_hint(run: Run) -> str:
    """Return how to extend a finished run; "" if the algorithm has nothing left to do."""
    if run.step < run.config.max_steps:
        return ""
    return f"; to continue: counterplay resume {run.folder} --steps {2 * run.step}"
