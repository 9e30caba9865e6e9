"""The Monte Carlo kernels on rules that are never unrolled.

Their own source runs as plain Python, on nodes that the rules make and tables that grow. Every draw
is that of the compiled kernels: the same bits as on a tree.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from counterplay import splitmix
from counterplay.kernels.bundles import Arena, Scratch, Table
from counterplay.sampled import SampledGame
from counterplay.tabular.sampled_memory import SampledMemory
from counterplay.tabular.sampled_nodes import SampledNodes


def sample_rules(
    rules: SampledGame, memory: SampledMemory, iterations: int, kernel: Any, *settings: Any
) -> SampledMemory:
    """Run a kernel of the Monte Carlo family, as plain Python, on the rules."""
    walk = _plain(kernel.__module__)[kernel.__name__]
    nodes = SampledNodes(rules.game, memory)
    arena = Arena(nodes, nodes.utility, nodes.slot, rules.num_players)
    table = Table(*(getattr(memory, name) for name in Table._fields))
    tally = [0, 0]
    room = Scratch([0], tally, *(defaultdict(float) for _ in range(7)))
    for t in range(memory.iteration + 1, memory.iteration + iterations + 1):
        walk(t, t + 1, memory.seed, *settings, arena, table, room)
        nodes.forget()
        memory.iteration = t
    memory.touched += tally[0]
    return memory


def plain(module: ModuleType, **replaced: Callable[..., Any]) -> dict[str, Any]:
    """The kernels of a module, and all they call, as plain Python, some of them `replaced`."""
    spaces: dict[str, dict[str, Any]] = {}

    def space(names: dict[str, Any]) -> dict[str, Any]:
        name = names["__name__"]
        if name not in spaces:
            spaces[name] = dict(names)
            for key, value in names.items():
                function = getattr(value, "py_func", None)  # what numba compiled
                if key in replaced:
                    spaces[name][key] = replaced[key]
                elif isinstance(function, FunctionType):
                    around = space(function.__globals__)
                    spaces[name][key] = FunctionType(function.__code__, around, key)
        return spaces[name]

    return space(vars(module))


@cache
def _plain(module: str) -> dict[str, Any]:
    same: dict[str, Callable[..., Any]] = {
        name: getattr(splitmix, name) for name in ("mix", "start", "draw")
    }
    return plain(sys.modules[module], **same)
