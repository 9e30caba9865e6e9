"""Calls that know nothing of each other as units.

Levels of P2SRO, everybody's oracle in PSRO, walks of Deep CFR on rules. Trees do not travel; they
are named, and built once wherever they are needed. So are games from somebody's own file. The
sending process has loaded the game itself, with the user's consent if a file names it; receivers
do not ask again.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.build import build_tree
from counterplay.core.game import Game
from counterplay.distributed.units import Executor, Unit
from counterplay.errors import ConfigError
from counterplay.registry import USER_GAMES, get_spec, load_game_unchecked

NO_TREE = 0  # stands for the number of nodes of a game that is not unrolled


def make_call_mapper(
    executor: Executor,
) -> Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], Any]:
    """What does calls as units of an executor; for `calls.carried`."""

    def map_calls(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        trees: dict[str, TreeArena] = {}
        where = "counterplay.distributed.remote_calls:run_call"
        units = [Unit(where, (_pack((function, one), trees),)) for one in arguments]
        return [_unpack(found, trees.__getitem__) for found in executor.map(units)]

    return map_calls


def run_call(packed: bytes) -> bytes:
    """Do a call here."""
    function, arguments = _unpack(packed, _load_tree)
    return _pack(function(*arguments), {})


class _CallPickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, tree_by_spec: dict[str, TreeArena]):
        super().__init__(file)
        self.tree_by_spec = tree_by_spec

    def persistent_id(self, value: Any) -> tuple[str, int] | None:
        if type(value) in USER_GAMES:
            return get_spec(value), NO_TREE
        if not isinstance(value, TreeArena):
            return None
        value.game  # noqa: B018  raises here unless others may load the game by its spec
        self.tree_by_spec[value.spec] = value
        return value.spec, value.num_nodes


class _CallUnpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, find_tree: Callable[[str], TreeArena]):
        super().__init__(file)
        self.find_tree = find_tree

    def persistent_load(self, name: tuple[str, int]) -> TreeArena | Game:
        spec, num_nodes = name
        if num_nodes == NO_TREE:
            return load_game_unchecked(spec)
        tree = self.find_tree(spec)
        if tree.num_nodes != num_nodes:
            text = f"{tree.num_nodes} nodes, not {num_nodes}"
            raise ConfigError(f"{spec} is another game here: {text}")
        return tree


def _pack(value: Any, tree_by_spec: dict[str, TreeArena]) -> bytes:
    file = io.BytesIO()
    _CallPickler(file, tree_by_spec).dump(value)
    return file.getvalue()


def _unpack(content: bytes, find_tree: Callable[[str], TreeArena]) -> Any:
    return _CallUnpickler(io.BytesIO(content), find_tree).load()


@lru_cache(maxsize=4)
def _load_tree(spec: str) -> TreeArena:
    return build_tree(load_game_unchecked(spec))
