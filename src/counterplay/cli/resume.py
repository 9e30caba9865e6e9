"""`counterplay resume`: go on with a run that was interrupted, or make it longer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.common import JsonOption, print_json
from counterplay.cli.run import TensorBoardOption, as_json, follow
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.experiment import Run


def resume(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    steps: Annotated[
        int | None, typer.Option(min=1, help="Run to this step instead.", show_default=False)
    ] = None,
    tensorboard: TensorBoardOption = False,
    json: JsonOption = False,
) -> None:
    """Go on with a run from its latest checkpoint.

    The result is the same, bit for bit, as that of a run that was never interrupted.
    """
    from counterplay.cli.progress import build
    from counterplay.experiment import find_runs, open_run

    found = find_runs([folder])
    if len(found) > 1:
        raise ConfigError(f"{folder} holds {len(found)} runs; the last one is {found[-1]}")
    run = open_run(found[0], steps=steps, build=build)
    if not run.finished:
        follow(run, tensorboard, json)
        return
    if json:
        print_json(as_json(run.advance()))
    print(f"{found[0]} is finished, at step {run.step:,}{_more(run)}", file=sys.stderr)


def _more(run: Run) -> str:
    """How to go on all the same, unless the algorithm has nothing left to do."""
    if run.step < run.config.max_steps:
        return ""
    return f"; to go on: counterplay resume {run.folder} --steps {2 * run.step}"
