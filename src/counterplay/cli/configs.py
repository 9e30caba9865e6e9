"""`counterplay configs`: list the example configs, or copy them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterplay.cli.options import ForceOption, JsonOption
from counterplay.cli.output import print_json, print_table
from counterplay.errors import ConfigError, suggestion

COLUMNS = ("name", "kind", "summary")


def configs(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Start of the names to list, such as thesis or thesis/kuhn_2p.",
            show_default="all",
        ),
    ] = "",
    copy: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Copy the files into DIR.", show_default=False),
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """List or copy the example configs.

    `run`, `sweep` and `spot solve` take the names: counterplay run thesis/kuhn_2p
    """
    from counterplay.experiment.examples import copy_examples, list_examples

    if copy is not None:
        files = copy_examples(name, copy, replace=force)
        if json:
            print_json([str(path) for path in files])
        else:
            for path in files:
                print(path)
        return
    examples = list_examples(name)
    if not examples:
        near = suggestion(name, [example.name for example in list_examples()])
        raise ConfigError(f"there is no example {name!r}{near}")
    rows = [(example.name, example.kind, example.summary) for example in examples]
    if json:
        print_json([dict(zip(COLUMNS, row, strict=True)) for row in rows])
    else:
        print_table(COLUMNS, rows)
