"""`counterplay export`: a policy, of a run or a file, in another file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from counterplay.cli.common import (
    ForceOption,
    PolicyArgument,
    PolicyGameOption,
    TrustOption,
    check_outputs,
)


def export(
    policy: PolicyArgument,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Ends in .json or .csv; else what solve --save writes."
        ),
    ],
    game: PolicyGameOption = None,
    force: ForceOption = False,
    trust: TrustOption = None,
) -> None:
    """Write a policy to a file of its own.

    Of a run, the policy with the guarantee; RUN@NAME chooses another.
    """
    from counterplay.cli.evaluate import to_tree_policy
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.experiment.saved_policies import load_policies

    check_outputs(file, None, force)
    found = load_policies(policy, game, build=build_tree_with_progress)
    name, one = next(iter(found.items()))
    if not hasattr(one, "save"):  # networks of a run on rules become a table
        one = to_tree_policy(one)
    writers = {".json": one.to_json, ".csv": one.to_csv}
    writers.get(file.suffix, one.save)(file)
    others = [other for other in found if other != name]
    more = f" (there is also {', '.join(f'{policy}@{other}' for other in others)})"
    print(f"wrote {file}{more if others else ''}", file=sys.stderr)
