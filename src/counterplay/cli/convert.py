"""`counterplay convert`: write a game in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterplay.cli.options import GameArgument, check_outputs
from counterplay.cli.output import print_written


def convert(
    game: GameArgument,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write; .efg, .nfg or .json.")
    ],
) -> None:
    """Write a game as a Gambit or JSON file; numbers stay exact."""
    from counterplay.interop.game_files import check_game_file, save_game
    from counterplay.registry import load_game

    check_game_file(file)
    check_outputs(file, None)
    save_game(load_game(game), file)
    print_written(file)
