"""`counterplay export`: write a policy of a run or a file to another file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterplay.cli.options import (
    ForceOption,
    PolicyArgument,
    PolicyGameOption,
    TrustOption,
    check_outputs,
)
from counterplay.cli.output import print_note


def export(
    policy: PolicyArgument,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Text if it ends in .json or .csv; else as solve --save writes."
        ),
    ],
    game: PolicyGameOption = None,
    force: ForceOption = False,
    trust: TrustOption = None,
) -> None:
    """Write a policy to a file.

    Of a run, this is the policy with the guarantee; RUN@NAME chooses another.
    """
    from counterplay.cli.evaluate import to_tree_policy
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.experiment.saved_policies import load_policies

    check_outputs(file, None, force)
    policies = load_policies(policy, game, build=build_tree_with_progress)
    name, first = next(iter(policies.items()))
    if not hasattr(first, "save"):  # networks of a run on rules become a table
        first = to_tree_policy(first)
    writers = {".json": first.to_json, ".csv": first.to_csv}
    writers.get(file.suffix, first.save)(file)
    others = ", ".join(f"{policy}@{other}" for other in policies if other != name)
    print_note(f"wrote {file}{f' (there is also {others})' if others else ''}")
