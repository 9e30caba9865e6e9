"""Independent function calls as units of an executor, for `core.parallel.use_executor`.

Examples are the levels of P2SRO, the oracles of PSRO and the traversals of Deep CFR on rules. Trees
and user games are not sent but named, and each process builds them once. The sending process has
loaded the game with the user's consent if a file names it; receivers do not ask again.
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
from counterplay.core.parallel import CallExecutor, Report, Stop
from counterplay.core.solve import AnyAlgorithm
from counterplay.distributed.units import Executor, Unit
from counterplay.errors import ConfigError
from counterplay.registry import (
    USER_CLASSES,
    get_spec,
    load_algorithm_unchecked,
    load_game_unchecked,
)

NO_TREE = 0  # number of nodes that stands for a game without a tree
ALGORITHM = -1  # number of nodes that stands for an algorithm


def make_call_mapper(executor: Executor) -> CallExecutor:
    """Return a function that runs calls as units of an executor."""

    def map_calls(
        function: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        report: Report | None = None,
        stop: Stop | None = None,
    ) -> list[Any]:
        trees: dict[str, TreeArena] = {}
        name = "counterplay.distributed.remote_calls:run_call"
        units = [Unit(name, (_pack((function, call), trees),)) for call in arguments]

        def report_unpacked(number: int, result: bytes) -> None:
            if report:
                report(number, _unpack(result, trees.__getitem__))

        results = executor.map(units, report_unpacked if report else None, stop)
        return [r if r is None else _unpack(r, trees.__getitem__) for r in results]

    return map_calls


def run_call(packed: bytes) -> bytes:
    """Run a packed call in this process, and return its packed result."""
    function, arguments = _unpack(packed, _build_tree)
    return _pack(function(*arguments), {})


def load_remote_tree(spec: str, num_nodes: int) -> TreeArena:
    """Return the tree of a spec, built once in this process.

    Raises:
        ConfigError: it has another number of nodes than the sender's tree.
    """
    return check_same_tree(_build_tree(spec), num_nodes)


def check_same_tree(tree: TreeArena, num_nodes: int) -> TreeArena:
    """Return a tree; raise ConfigError if its number of nodes differs from the sender's."""
    if tree.num_nodes != num_nodes:
        raise ConfigError(
            f"{tree.spec} is another game here: {tree.num_nodes} nodes, not {num_nodes}"
        )
    return tree


class _CallPickler(pickle.Pickler):
    """Stores specs instead of trees and classes of users, and collects the trees."""

    def __init__(self, file: io.BytesIO, tree_by_spec: dict[str, TreeArena]):
        super().__init__(file)
        self.tree_by_spec = tree_by_spec

    def persistent_id(self, value: object) -> tuple[str, int] | None:
        if type(value) in USER_CLASSES:
            return get_spec(value), NO_TREE if hasattr(value, "initial_state") else ALGORITHM
        if not isinstance(value, TreeArena):
            return None
        value.game  # noqa: B018  raises here unless others may load the game by its spec
        self.tree_by_spec[value.spec] = value
        return value.spec, value.num_nodes


class _CallUnpickler(pickle.Unpickler):
    """Replaces specs by instances of users' classes, and by the trees of a function."""

    def __init__(self, file: io.BytesIO, find_tree: Callable[[str], TreeArena]):
        super().__init__(file)
        self.find_tree = find_tree

    def persistent_load(self, name: tuple[str, int]) -> TreeArena | Game | AnyAlgorithm:
        spec, num_nodes = name
        if num_nodes == ALGORITHM:
            algorithm: AnyAlgorithm = load_algorithm_unchecked(spec)
            return algorithm
        if num_nodes == NO_TREE:
            return load_game_unchecked(spec)
        return check_same_tree(self.find_tree(spec), num_nodes)


def _pack(value: object, tree_by_spec: dict[str, TreeArena]) -> bytes:
    file = io.BytesIO()
    _CallPickler(file, tree_by_spec).dump(value)
    return file.getvalue()


def _unpack(content: bytes, find_tree: Callable[[str], TreeArena]) -> Any:
    return _CallUnpickler(io.BytesIO(content), find_tree).load()


@lru_cache(maxsize=4)
def _build_tree(spec: str) -> TreeArena:
    return build_tree(load_game_unchecked(spec))
