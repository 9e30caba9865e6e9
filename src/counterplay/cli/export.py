"""`counterplay export`: write a policy of a run or a file to another file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from counterplay.cli.options import (
    ForceOption,
    PolicyArgument,
    PolicyGameOption,
    TrustOption,
    check_outputs,
)
from counterplay.cli.output import print_note
from counterplay.errors import ConfigError


def export(
    policy: PolicyArgument,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Text if it ends in .json or .csv; for programs without this package if it ends "
            "in .npz (see --runtime) or, networks only, in .onnx; else as solve --save writes.",
        ),
    ],
    runtime: Annotated[
        bool,
        typer.Option(
            "--runtime",
            help="Also write counterplay_runtime.py beside FILE: one module that reads .npz "
            "policies with NumPy alone.",
        ),
    ] = False,
    game: PolicyGameOption = None,
    force: ForceOption = False,
    trust: TrustOption = None,
) -> None:
    """Write a policy to a file.

    Of a run, this is the policy with the guarantee; RUN@NAME chooses another.
    """
    from counterplay.abstraction.betting_policy import BettingPolicy
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.experiment.saved_policies import load_policies

    if runtime and file.suffix != ".npz":
        raise ConfigError(f"--runtime reads .npz policies, and {file} does not end in .npz")
    check_outputs(file, None, force)
    policies = load_policies(policy, game, build=build_tree_with_progress)
    name, first = next(iter(policies.items()))
    written = f"wrote {file}"
    if isinstance(first, BettingPolicy):
        if runtime or file.suffix in (".json", ".csv", ".onnx"):
            raise ConfigError(f"{policy} is a blueprint; write it to a .npz file")
        first.save(file)
    elif file.suffix == ".npz":
        from counterplay.interop.portable_policy import write_portable_policy, write_runtime_module

        write_portable_policy(first, file)
        if runtime:
            written += f" and {write_runtime_module(file.parent)}"
    elif file.suffix == ".onnx":
        from counterplay.interop.onnx_policy import write_onnx_policy

        write_onnx_policy(first, file)
    else:
        _write_table(first, file)
    others = ", ".join(f"{policy}@{other}" for other in policies if other != name)
    print_note(f"{written}{f' (there is also {others})' if others else ''}")


def _write_table(policy: Any, file: Path) -> None:
    """Write a policy as text or as an archive; networks of a run on rules become a table."""
    from counterplay.cli.evaluate import to_tree_policy

    table = policy if hasattr(policy, "save") else to_tree_policy(policy)
    writers = {".json": table.to_json, ".csv": table.to_csv}
    writers.get(file.suffix, table.save)(file)
