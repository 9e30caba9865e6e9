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

from counterplay.errors import ConfigError
from counterplay.game import Game
from counterplay.registry import OWN_GAMES, load_game_unchecked, spec_of
from counterplay.scale.units import Executor, Unit
from counterplay.tree import Tree
from counterplay.tree.unrolling import build_tree

RULES = 0  # stands for the number of nodes of a game that is not unrolled


def carrier(executor: Executor) -> Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], Any]:
    """What does calls as units of an executor; for `calls.carried`."""

    def carry(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        trees: dict[str, Tree] = {}
        where = "counterplay.scale.carrying:call"
        units = [Unit(where, (_packed((function, one), trees),)) for one in arguments]
        return [_unpacked(found, trees.__getitem__) for found in executor.map(units)]

    return carry


def call(packed: bytes) -> bytes:
    """Do a call here."""
    function, arguments = _unpacked(packed, _tree)
    return _packed(function(*arguments), {})


class _Packer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, trees: dict[str, Tree]):
        super().__init__(file)
        self.trees = trees

    def persistent_id(self, thing: Any) -> tuple[str, int] | None:
        if type(thing) in OWN_GAMES:
            return spec_of(thing), RULES
        if not isinstance(thing, Tree):
            return None
        thing.rules  # noqa: B018  raises here unless others may load the game by its spec
        self.trees[thing.spec] = thing
        return thing.spec, thing.num_nodes


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, find: Callable[[str], Tree]):
        super().__init__(file)
        self.find = find

    def persistent_load(self, name: tuple[str, int]) -> Tree | Game:
        spec, num_nodes = name
        if num_nodes == RULES:
            return load_game_unchecked(spec)
        tree = self.find(spec)
        if tree.num_nodes != num_nodes:
            text = f"{tree.num_nodes} nodes, not {num_nodes}"
            raise ConfigError(f"{spec} is another game here: {text}")
        return tree


def _packed(thing: Any, trees: dict[str, Tree]) -> bytes:
    file = io.BytesIO()
    _Packer(file, trees).dump(thing)
    return file.getvalue()


def _unpacked(content: bytes, find: Callable[[str], Tree]) -> Any:
    return _Unpacker(io.BytesIO(content), find).load()


@lru_cache(maxsize=4)
def _tree(spec: str) -> Tree:
    return build_tree(load_game_unchecked(spec))
