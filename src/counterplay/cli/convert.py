"""`counterplay convert`: a game from one format into another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from counterplay.cli.common import GameArgument, check_outputs


def convert(
    game: GameArgument,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Where to; ends in .efg, .nfg or .json.")
    ],
) -> None:
    """Write a game as a Gambit or JSON file; numbers stay exact."""
    from counterplay.interop.game_files import check_game_file, save_game
    from counterplay.registry import load_game

    check_game_file(file)
    check_outputs(file, None)
    save_game(load_game(game), file)
    print(f"wrote {file}", file=sys.stderr)
