"""Games that users write: a class in a file or package, as `source:Class(parameter=value)`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import zlib
from pathlib import Path
from types import ModuleType

from counterplay.core.game import Game
from counterplay.core.trust import check_code_permitted
from counterplay.errors import ConfigError, suggestion
from counterplay.registry import USER_GAMES, make_instance, parse_spec


def load_user_game(spec: str, **parameters: object) -> Game:
    """Return the game of `path/to/file.py:Class` or `package.module:Class`; runs the file's code.

    Raises:
        ConfigError: the source cannot be loaded, or has no such game.
        TrustError: a file names the code, and the user has not allowed it.
    """
    head, bracket, inside = spec.partition("(")
    if spec.endswith(".py"):
        raise ConfigError(f"{spec} is a Python file; name one of its games: {spec}:Class")
    source, _, name = head.strip().rpartition(":")
    check_code_permitted(spec)
    module = _load_module(source)
    game_class = getattr(module, name, None)
    if not (isinstance(game_class, type) and hasattr(game_class, "initial_state")):
        games = [key for key, value in vars(module).items() if hasattr(value, "initial_state")]
        raise ConfigError(f"{source} has no game {name!r}{suggestion(name, games)}")
    USER_GAMES[game_class] = f"{source}:{name}"
    spec_parameters = parse_spec("game", name + bracket + inside)[1]
    game: Game = make_instance(name, game_class, spec_parameters | parameters)
    return game


def _load_module(source: str) -> ModuleType:
    """Return the module of a file or of a dotted name; a file runs again when it has changed."""
    try:
        return (
            _run_file(Path(source)) if source.endswith(".py") else importlib.import_module(source)
        )
    except FileNotFoundError as error:
        raise ConfigError(f"there is no file {source}") from error
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise ConfigError(f"cannot load games from {source}: {problem}") from error


def _run_file(path: Path) -> ModuleType:
    version = f"{path.resolve()} {path.stat().st_mtime_ns}"
    name = f"counterplay_own_{zlib.crc32(version.encode()):08x}"
    if name not in sys.modules:
        # compiled from the source, because __pycache__ may have code that the user did not allow
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        module_spec = importlib.util.spec_from_file_location(name, path)
        if module_spec is None:
            raise ImportError(f"{path} is not a Python module")
        module = sys.modules[name] = importlib.util.module_from_spec(module_spec)
        try:  # registered before it runs, because dataclasses look up their module
            exec(code, vars(module))
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
