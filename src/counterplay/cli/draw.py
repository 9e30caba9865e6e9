"""`counterplay draw`: draw a small game tree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterplay.cli.options import (
    GameArgument,
    TrustOption,
    check_outputs,
    file_option,
    integer_option,
)
from counterplay.cli.output import print_written


def draw(
    game: GameArgument,
    output: Annotated[
        Path, file_option("--output", "-o", help="An .svg, .png, .pdf or .tex file (TikZ).")
    ],
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY",
            help="Write the probabilities of this policy on the edges: a file or a run.",
        ),
    ] = None,
    depth: Annotated[
        int | None, integer_option(minimum=0, help="Levels to draw.", show_default="all")
    ] = None,
    trust: TrustOption = None,
) -> None:
    """Draw the tree of a small game.

    It shows the acting players, the information sets and the probabilities of branches.
    """
    from counterplay.cli.evaluate import load_first_policy
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.core.archive import write_text
    from counterplay.core.evaluation import check_same_game
    from counterplay.display.tikz import tikz_tree
    from counterplay.display.tree_drawing import check_drawing_file, draw_tree
    from counterplay.registry import load_game

    if output.suffix != ".tex":
        check_drawing_file(output)
    check_outputs(output, None)
    tree = build_tree_with_progress(load_game(game))
    tree_policy = load_first_policy(policy)[1] if policy else None
    if tree_policy:
        check_same_game(tree, tree_policy)
    if output.suffix == ".tex":
        write_text(output, tikz_tree(tree, tree_policy, depth=depth))
    else:
        draw_tree(tree, tree_policy, depth=depth).save(output)
    print_written(output)
