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

from counterplay.kernels.bundles import Arena, Scratch, Table
from counterplay.sampled import SampledGame
from counterplay.tabular.sampled_memory import SampledMemory
from counterplay.tabular.sampled_nodes import SampledNodes

MASK = (1 << 64) - 1


def sample_rules(
    rules: SampledGame, memory: SampledMemory, iterations: int, kernel: Any, *settings: Any
) -> SampledMemory:
    """Run a kernel of the Monte Carlo family, as plain Python, on the rules."""
    walk = _plain(kernel.__module__)[kernel.__name__]
    nodes = SampledNodes(rules.game, memory)
    arena = Arena(nodes, nodes.utility, nodes.slot, rules.num_players)
    table = Table(memory.regret, memory.policy, memory.policy_sum, memory.visits, memory.baseline)
    tally = [0, 0]
    room = Scratch([0], tally, *(defaultdict(float) for _ in range(6)))
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
    return plain(sys.modules[module], mix=python_mix, start=python_start, draw=python_draw)


def python_mix(bits: int) -> int:
    """`draws.mix` without NumPy's fixed-size integers."""
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & MASK
    return bits ^ (bits >> 31)


def python_start(seed: int, t: int, stream: int, rng: list[int]) -> None:
    """`draws.start`: the same draws, bit for bit."""
    golden = 0x9E3779B97F4A7C15
    mixed = python_mix((seed + golden * t) & MASK)
    rng[0] = python_mix((mixed + golden * stream) & MASK)


def python_draw(rng: list[int]) -> float:
    """`draws.draw`: the same draws, bit for bit."""
    rng[0] = (rng[0] + 0x9E3779B97F4A7C15) & MASK
    return float((python_mix(rng[0]) >> 11) * 2.0**-53)
