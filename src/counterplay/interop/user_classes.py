"""Games and algorithms of users: a class in a file or package, as `source:Class(name=value)`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

from counterplay.core.game import Game
from counterplay.core.trust import check_code_permitted
from counterplay.errors import ConfigError, suggestion
from counterplay.registry import USER_CLASSES, make_instance, parse_spec


def load_user_game(spec: str, **parameters: object) -> Game:
    """Return the game of `path/to/file.py:Class` or `package.module:Class`; runs the file's code.

    Raises:
        ConfigError: the source cannot be loaded, or has no such game.
        TrustError: a file names the code, and the user has not allowed it.
    """
    game: Game = _load_instance("game", "initial_state", spec, parameters)
    return game


def load_user_algorithm(spec: str, **parameters: object) -> Any:
    """Return the algorithm of `path/to/file.py:Class` or `package.module:Class`.

    Runs the code of the file; raises the errors of `load_user_game`.
    """
    return _load_instance("algorithm", "policies", spec, parameters)


def load_user_algorithm_class(spec: str) -> type:
    """Return the class of an algorithm of a user; runs the code of its file."""
    return _load_class("algorithm", "policies", spec)


def _load_instance(kind: str, method: str, spec: str, parameters: dict[str, object]) -> Any:
    _, bracket, inside = spec.partition("(")
    loaded = _load_class(kind, method, spec)
    spec_parameters = parse_spec(kind, loaded.__name__ + bracket + inside)[1]
    return make_instance(loaded.__name__, loaded, spec_parameters | parameters)


def _load_class(kind: str, method: str, spec: str) -> type:
    """Return the class that a spec names, which has a method of games or algorithms."""
    head = spec.partition("(")[0]
    if spec.endswith(".py"):
        raise ConfigError(f"{spec} is a Python file; name one of its {kind}s: {spec}:Class")
    source, _, name = head.strip().rpartition(":")
    check_code_permitted(spec)
    module = _load_module(source, kind)
    loaded = getattr(module, name, None)
    if not (isinstance(loaded, type) and hasattr(loaded, method)):
        others = [
            key
            for key, value in vars(module).items()
            if isinstance(value, type) and hasattr(value, method)
        ]
        raise ConfigError(f"{source} has no {kind} {name!r}{suggestion(name, others)}")
    USER_CLASSES[loaded] = f"{source}:{name}"
    return loaded


def _load_module(source: str, kind: str) -> ModuleType:
    """Return the module of a file or of a dotted name; a file runs again when it has changed."""
    try:
        return (
            _run_file(Path(source)) if source.endswith(".py") else importlib.import_module(source)
        )
    except FileNotFoundError as error:
        raise ConfigError(f"there is no file {source}") from error
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise ConfigError(f"cannot load {kind}s from {source}: {problem}") from error


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
