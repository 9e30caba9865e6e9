"""`counterplay draw`: a small game tree as a picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from counterplay.cli.common import (
    GameArgument,
    TrustOption,
    check_outputs,
    integer_option,
)


def draw(
    game: GameArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="An .svg, .png or .pdf file.")
    ],
    policy: Annotated[
        str | None,
        typer.Option(metavar="POLICY", help="Put its probabilities on the edges: a file or a run."),
    ] = None,
    depth: Annotated[
        int | None, integer_option(minimum=0, help="Levels to draw.", show_default="all")
    ] = None,
    trust: TrustOption = None,
) -> None:
    """Draw the tree of a small game.

    It shows who acts, what is hidden, and how likely each branch is.
    """
    from counterplay.cli.evaluate import as_exact
    from counterplay.cli.progress import build
    from counterplay.evaluate import check_aligned
    from counterplay.experiment.stored import load_policies
    from counterplay.registry import load_game
    from counterplay.showing.picture import check_picture_file, draw_tree

    check_picture_file(output)
    check_outputs(output, None)
    tree, plays = build(load_game(game)), None
    if policy:
        plays = as_exact(next(iter(load_policies(policy, build=build).values())))
        check_aligned(tree, plays)
    draw_tree(tree, plays, depth=depth).save(output)
    print(f"wrote {output}", file=sys.stderr)
