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
    from counterplay.cli.evaluate import to_tree_policy
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.core.evaluation import check_same_game
    from counterplay.display.tree_drawing import check_drawing_file, draw_tree
    from counterplay.experiment.saved_policies import load_policies
    from counterplay.registry import load_game

    check_drawing_file(output)
    check_outputs(output, None)
    tree, plays = build_tree_with_progress(load_game(game)), None
    if policy:
        plays = to_tree_policy(
            next(iter(load_policies(policy, build=build_tree_with_progress).values()))
        )
        check_same_game(tree, plays)
    draw_tree(tree, plays, depth=depth).save(output)
    print(f"wrote {output}", file=sys.stderr)
