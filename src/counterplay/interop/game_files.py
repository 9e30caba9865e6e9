"""Load and save game files; the ending of the name selects the format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from counterplay.core.archive import write_text
from counterplay.core.game import Game
from counterplay.errors import ConfigError, FileError, GameError
from counterplay.games.matrix_game import MatrixGame
from counterplay.interop.explicit import ExplicitGame, StrategicGame
from counterplay.interop.explicit_export import to_explicit_game, to_strategic_game
from counterplay.interop.gambit import efg_from_game, game_from_efg, game_from_nfg, nfg_from_game
from counterplay.interop.json_game import game_from_json, json_from_game
from counterplay.matrix.normal_form_io import read_normal_form

READERS_BY_SUFFIX: dict[str, Callable[[str, str], ExplicitGame | StrategicGame]] = {
    ".efg": game_from_efg,
    ".nfg": game_from_nfg,
    ".json": game_from_json,
}


def load_game_file(path: str, **parameters: object) -> Game:
    """Return the game of an `.efg`, `.nfg` or `.json` file, or of a `.json` or `.csv` table.

    Raises:
        FileError: the file cannot be read.
        GameError: the file has a fault, which the message locates.
        ConfigError: there are parameters, which files do not have.
    """
    if parameters:
        raise ConfigError(f"{path} is a file: it has no parameter {next(iter(parameters))!r}")
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise FileError(f"there is no file {path}") from error
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    text = _decode(raw, path)
    if path.endswith(".csv") or (path.endswith(".json") and _is_table(text)):
        form = read_normal_form(path)
        return MatrixGame(tuple(form.utility.tolist()), form.action_names)
    return READERS_BY_SUFFIX[Path(path).suffix](text, path)


def _is_table(text: str) -> bool:
    """Return True if a .json file is a table of payoffs, as `counterplay matrix` reads it."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(content, list) or (isinstance(content, dict) and "payoffs" in content)


def _decode(raw: bytes, path: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise GameError(f"{path}, line {line}, column {column}: not UTF-8 text") from error


def check_game_file(path: str | Path) -> None:
    """Raise ConfigError if `save_game` cannot write a file of this name."""
    if Path(path).suffix not in READERS_BY_SUFFIX:
        raise ConfigError(
            f"cannot write {path}; the name must end in {', '.join(READERS_BY_SUFFIX)}"
        )


def save_game(game: Game, path: str | Path) -> None:
    """Write a game to an `.efg`, `.nfg` or `.json` file; simple fractions are written exactly.

    For `.nfg` a tree becomes a table with one strategy per reduced pure policy.
    """
    check_game_file(path)
    suffix = Path(path).suffix
    if suffix == ".nfg":
        table = (
            game if isinstance(game, StrategicGame) else to_strategic_game(to_explicit_game(game))
        )
        text = nfg_from_game(table)
    elif suffix == ".json":
        text = json_from_game(game if isinstance(game, StrategicGame) else to_explicit_game(game))
    else:
        text = efg_from_game(to_explicit_game(game))
    write_text(path, text)
