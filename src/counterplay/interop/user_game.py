"""Games of one's own: a class in a file or a package, given as `place:Class(parameter=value)`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import zlib
from pathlib import Path
from typing import Any

from counterplay.core.game import Game
from counterplay.core.trust import check_code_permitted
from counterplay.errors import ConfigError, suggestion
from counterplay.registry import USER_GAMES, make_instance, parse_spec


def load_user_game(spec: str, **parameters: Any) -> Game:
    """The game of `path/to/file.py:Class` or `package.module:Class`. This runs the file's code."""
    head, bracket, inside = spec.partition("(")
    if spec.endswith(".py"):
        raise ConfigError(f"{spec} is a file of games; name one of its classes: {spec}:Class")
    place, _, name = head.strip().rpartition(":")
    check_code_permitted(spec)
    module = _load_module(place)
    found = getattr(module, name, None)
    if not (isinstance(found, type) and hasattr(found, "initial_state")):
        games = [key for key, value in vars(module).items() if hasattr(value, "initial_state")]
        raise ConfigError(f"{place} has no game {name!r}{suggestion(name, games)}")
    USER_GAMES[found] = f"{place}:{name}"
    given = parse_spec("game", name + bracket + inside)[1]
    return make_instance(name, found, given | parameters)


def _load_module(source: str) -> Any:
    """The module of a file or of a dotted name; a file is run once, and again when it changed."""
    try:
        return (
            _run_file(Path(source)) if source.endswith(".py") else importlib.import_module(source)
        )
    except FileNotFoundError as error:
        raise ConfigError(f"there is no file {source}") from error
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise ConfigError(f"cannot load games from {source}: {problem}") from error


def _run_file(path: Path) -> Any:
    version = f"{path.resolve()} {path.stat().st_mtime_ns}"
    name = f"counterplay_own_{zlib.crc32(version.encode()):08x}"
    if name not in sys.modules:
        # compiled from the source: __pycache__ may hold other code than the file that was allowed
        code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        found = importlib.util.spec_from_file_location(name, path)
        if found is None:
            raise ImportError(f"{path} is no module")
        module = sys.modules[name] = importlib.util.module_from_spec(found)
        try:  # it stands there already because dataclasses look their module up
            exec(code, vars(module))
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
