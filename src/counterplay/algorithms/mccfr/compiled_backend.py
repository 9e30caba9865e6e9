"""The Monte Carlo kernels on compiled rules: the same draws, and bits, as on readable ones."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import types

from counterplay.algorithms.mccfr.memory import MAX_NODES_PER_ITERATION, CompiledSamplingMemory
from counterplay.errors import GameError, RunError
from counterplay.games.compiled.protocol import CompiledGame, find_compiled_game
from counterplay.kernels.runtime.function_pointers import FunctionPointer
from counterplay.kernels.sampling import compiled_rules
from counterplay.kernels.sampling.lazy_nodes import (
    INVALID,
    STATUS,
    STATUS_BROKEN,
    LazyNodes,
    LazyNodeStorage,
)
from counterplay.kernels.sampling.types import GameNodes, RegretTables, Scratch
from counterplay.registry import get_spec

MAX_HISTORY_LENGTH = 10_000  # actions of a history, at most
SHARED_ARRAYS = (
    "counts",
    "hash_table",
    "hash_keys",
    "infoset_entries",
    "history_actions",
    "history_end",
    "chance_distributions",
    "policy",
)


def new_compiled_memory(game: Any, seed: int) -> CompiledSamplingMemory | None:
    """An empty memory for a game with compiled rules; none for others."""
    machine = _find_compiled_game(game)
    if machine is None or _function_pointers(machine) is None:
        return None
    return CompiledSamplingMemory(game, 0, seed)


def run_on_compiled_rules(
    memory: CompiledSamplingMemory, iterations: int, kernel: Any, *settings: Any
) -> CompiledSamplingMemory:
    """Run a kernel of the family on compiled rules."""
    game: Any = memory.game
    machine = _find_compiled_game(game)
    assert machine is not None
    walk = getattr(compiled_rules, kernel.__name__)
    begin, end = memory.iteration + 1, memory.iteration + iterations + 1
    made = _node_arrays(len(machine.initial_state), memory.game.num_players)
    made["states"][0] = machine.initial_state
    while begin < end:
        memory.reserve()
        kept = {name: getattr(memory, name) for name in SHARED_ARRAYS}
        room = LazyNodeStorage(params=machine.params.astype(np.int64), **made, **kept)
        addresses = _array_addresses(room)
        functions = [pointer.address for pointer in _function_pointers(machine)]
        nodes = LazyNodes._make([*functions, addresses.ctypes.data])
        arena = GameNodes(nodes, room.utility, np.zeros((0, 1), np.int32), memory.game.num_players)
        nothing = np.zeros(0)
        table = RegretTables(
            memory.regret,
            memory.policy,
            memory.policy_sum,
            memory.last_averaged,
            nothing,
            memory.max_abs_value,
        )
        scratch = _scratch_arrays()
        scratch.counters[:] = 0
        begin = walk(
            begin,
            end,
            MAX_NODES_PER_ITERATION,
            np.uint64(memory.seed),
            *settings,
            arena,
            table,
            scratch,
        )
        memory.iteration = begin - 1
        memory.nodes_touched += int(scratch.counters[0])
        if memory.counts[STATUS] == INVALID:
            raise GameError(
                f"{get_spec(memory.game)}: utilities of its machine are not all finite and up to "
                "1e+150, or its chance probabilities are not a sum of 1; `check_game` finds the "
                "history"
            )
        if memory.counts[STATUS] == STATUS_BROKEN:
            raise RunError(
                f"{get_spec(memory.game)}: a function of its machine failed; `check_compiled_game` finds "
                "the history"
            )
        if memory.counts[STATUS]:
            raise RunError(
                f"{get_spec(memory.game)}: one iteration met more than {MAX_NODES_PER_ITERATION:,} nodes; take an "
                "algorithm that samples more, such as outcome_sampling"
            )
    return memory


@lru_cache(maxsize=2)
def _node_arrays(width: int, num_players: int) -> dict[str, Any]:
    """Room for the nodes of an iteration; pages that nobody writes to cost nothing."""
    return {
        "rows": np.empty((MAX_NODES_PER_ITERATION, 5), np.int64),
        "states": np.empty((MAX_NODES_PER_ITERATION, width), np.int32),
        "action": np.empty(MAX_NODES_PER_ITERATION, np.int64),
        "chance": np.empty(MAX_NODES_PER_ITERATION),
        "utility": np.empty((MAX_NODES_PER_ITERATION, num_players)),
        "call_arguments": np.zeros(4, np.int64),
        "child_range": np.zeros(2, np.int64),
    }


def _array_addresses(room: LazyNodeStorage) -> Any:
    """What `Lazy.room` points to."""
    assert all(array.flags.c_contiguous for array in room)
    widths = [array.shape[1] if array.ndim == 2 else 1 for array in room]
    return np.array([array.ctypes.data for array in room] + [*map(len, room), *widths])


@lru_cache(maxsize=1)
def _scratch_arrays() -> Scratch:
    integers = [np.zeros(MAX_HISTORY_LENGTH, np.int64) for _ in range(2)]
    floats = [np.zeros(MAX_HISTORY_LENGTH) for _ in range(4)]
    met = np.empty(MAX_NODES_PER_ITERATION, np.int64)
    return Scratch(np.zeros(1, np.uint64), np.zeros(2, np.int64), met, *integers, *floats)


@lru_cache(maxsize=8)
def _find_compiled_game(game: Any) -> CompiledGame | None:
    return find_compiled_game(game)


_FUNCTION_POINTERS: dict[tuple[int, ...], Any] = {}


def _function_pointers(machine: CompiledGame) -> Any:
    """The functions as pointers, compiled once; None if they are no compiled functions."""
    functions = (
        machine.current_player,
        machine.legal_actions,
        machine.step,
        machine.utilities,
        machine.infoset_key,
    )
    if not all(hasattr(function, "get_compile_result") for function in functions):
        return None
    found = tuple(map(id, functions))
    if found not in _FUNCTION_POINTERS:
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
        _FUNCTION_POINTERS[found] = tuple(
            FunctionPointer(function, signature) for function, signature in pairs
        )
    return _FUNCTION_POINTERS[found]
