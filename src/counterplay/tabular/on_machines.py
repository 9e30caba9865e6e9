"""The Monte Carlo kernels on compiled rules: the same draws, and bits, as on readable ones."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import types

from counterplay.errors import GameError, RunError
from counterplay.kernels import on_machines
from counterplay.kernels.bundles import Arena, Scratch, Table
from counterplay.kernels.lazy_nodes import BROKEN, INVALID, PROBLEM, Lazy, Room
from counterplay.kernels.pointers import Pointer
from counterplay.registry import spec_of
from counterplay.tabular.compiled_memory import ROOM, CompiledMemory
from counterplay.tree.machines import Machine, machine_of

DEEPEST = 10_000  # actions of a history, at most
KEPT = "counts", "table", "known", "place", "words", "last_word", "lotteries", "policy"


def compiled_memory(game: Any, seed: int) -> CompiledMemory | None:
    """An empty memory for a game with compiled rules; none for others."""
    machine = _machine(game)
    if machine is None or _pointers(machine) is None:
        return None
    return CompiledMemory(game, 0, seed)


def sample_machine(
    memory: CompiledMemory, iterations: int, kernel: Any, *settings: Any
) -> CompiledMemory:
    """Run a kernel of the family on compiled rules."""
    game: Any = memory.game
    machine = _machine(game)
    assert machine is not None
    walk = getattr(on_machines, kernel.__name__)
    begin, end = memory.iteration + 1, memory.iteration + iterations + 1
    made = _room(len(machine.start), memory.game.num_players)
    made["states"][0] = machine.start
    while begin < end:
        memory.make_room()
        kept = {name: getattr(memory, name) for name in KEPT}
        room = Room(rules=machine.rules.astype(np.int64), **made, **kept)
        addresses = _addresses(room)
        functions = [pointer.address for pointer in _pointers(machine)]
        nodes = Lazy._make([*functions, addresses.ctypes.data])
        arena = Arena(nodes, room.utility, np.zeros((0, 1), np.int32), memory.game.num_players)
        nothing = np.zeros(0)
        table = Table(
            memory.regret,
            memory.policy,
            memory.policy_sum,
            memory.visits,
            nothing,
            memory.largest,
        )
        scratch = _scratch()
        scratch.tally[:] = 0
        begin = walk(begin, end, ROOM, np.uint64(memory.seed), *settings, arena, table, scratch)
        memory.iteration = begin - 1
        memory.touched += int(scratch.tally[0])
        if memory.counts[PROBLEM] == INVALID:
            raise GameError(
                f"{spec_of(memory.game)}: utilities of its machine are not all finite and up to "
                "1e+150, or its chance probabilities are not a sum of 1; `check_game` finds the "
                "history"
            )
        if memory.counts[PROBLEM] == BROKEN:
            raise RunError(
                f"{spec_of(memory.game)}: a function of its machine failed; `check_machine` finds "
                "the history"
            )
        if memory.counts[PROBLEM]:
            raise RunError(
                f"{spec_of(memory.game)}: one iteration met more than {ROOM:,} nodes; take an "
                "algorithm that samples more, such as outcome_sampling"
            )
    return memory


@lru_cache(maxsize=2)
def _room(width: int, num_players: int) -> dict[str, Any]:
    """Room for the nodes of an iteration; pages that nobody writes to cost nothing."""
    return {
        "rows": np.empty((ROOM, 5), np.int64),
        "states": np.empty((ROOM, width), np.int32),
        "action": np.empty(ROOM, np.int64),
        "chance": np.empty(ROOM),
        "utility": np.empty((ROOM, num_players)),
        "one": np.zeros(4, np.int64),
        "ends": np.zeros(2, np.int64),
    }


def _addresses(room: Room) -> Any:
    """What `Lazy.room` points to."""
    assert all(array.flags.c_contiguous for array in room)
    widths = [array.shape[1] if array.ndim == 2 else 1 for array in room]
    return np.array([array.ctypes.data for array in room] + [*map(len, room), *widths])


@lru_cache(maxsize=1)
def _scratch() -> Scratch:
    integers = [np.zeros(DEEPEST, np.int64) for _ in range(2)]
    floats = [np.zeros(DEEPEST) for _ in range(4)]
    met = np.empty(ROOM, np.int64)
    return Scratch(np.zeros(1, np.uint64), np.zeros(2, np.int64), met, *integers, *floats)


@lru_cache(maxsize=8)
def _machine(game: Any) -> Machine | None:
    return machine_of(game)


_POINTERS: dict[tuple[int, ...], Any] = {}


def _pointers(machine: Machine) -> Any:
    """The functions as pointers, compiled once; None if they are no compiled functions."""
    functions = machine.look, machine.offer, machine.step, machine.pay, machine.see
    if not all(hasattr(function, "get_compile_result") for function in functions):
        return None
    found = tuple(map(id, functions))
    if found not in _POINTERS:
        ints, states = types.int64[::1], types.int32[:, ::1]
        floats, rows = types.float64[::1], types.float64[:, ::1]
        signatures = (
            types.void(ints, states, ints, ints),
            types.void(ints, states, ints, ints, ints, floats),
            types.void(ints, states, ints, ints),
            types.void(ints, states, rows),
            types.void(ints, states, ints, ints),
        )
        pairs = zip(functions, signatures, strict=True)
        _POINTERS[found] = tuple(Pointer(function, signature) for function, signature in pairs)
    return _POINTERS[found]
