"""Monte Carlo kernels on compiled rules: the same random numbers and bits as on readable rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numba import types

from counterplay.algorithms.mccfr.memory import (
    MAX_NODES_PER_ITERATION,
    CompiledSamplingMemory,
    new_scratch,
    too_many_nodes_error,
)
from counterplay.arenas.tree.size_estimate import MAX_HISTORY_LENGTH
from counterplay.core.arena import Ints
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

# arrays of `LazyNodeStorage` that belong to the memory
SHARED_ARRAYS = (
    *("counts", "hash_table", "hash_keys", "infoset_entries"),
    *("history_actions", "history_end", "chance_distributions", "policy"),
)


def new_compiled_memory(game: Any, seed: int) -> CompiledSamplingMemory | None:
    """Return an empty memory for a game with compiled rules, or None for other games."""
    compiled_game = _find_compiled_game(game)
    if compiled_game is None or _function_pointers(compiled_game) is None:
        return None
    return CompiledSamplingMemory(game, 0, seed)


def run_on_compiled_rules(
    memory: CompiledSamplingMemory,
    iterations: int,
    kernel: Callable[..., Any],
    arguments: tuple[Any, ...],
    lists_chance: bool = False,
) -> CompiledSamplingMemory:
    """Run a kernel of the family on compiled rules, in place, and return the memory.

    Args:
        memory: the memory.
        iterations: number of iterations.
        kernel: a kernel on trees; its namesake in `kernels.sampling.compiled_rules` is run.
        arguments: the kernel's arguments after the seed.
        lists_chance: whether the kernel visits all outcomes of chance, which the game must list
            then even if it can draw one.

    Raises:
        GameError: if utilities or chance probabilities are invalid.
        RunError: if a compiled function fails, or an iteration visits too many nodes.
    """
    game: Any = memory.game
    compiled_game = _find_compiled_game(game)
    assert compiled_game is not None
    run = getattr(compiled_rules, kernel.__name__)
    pointers = _function_pointers(compiled_game) or ()
    functions = [pointer.address if pointer else 0 for pointer in pointers]
    if lists_chance:
        functions[LazyNodes._fields.index("sample_chance")] = 0
    node_arrays = _node_arrays(len(compiled_game.initial_state), game.num_players)
    node_arrays["states"][0] = compiled_game.initial_state
    scratch, no_slots = _shared_scratch(MAX_NODES_PER_ITERATION), np.zeros((0, 1), np.int32)
    begin, end = memory.iteration + 1, memory.iteration + iterations + 1
    while begin < end:
        memory.reserve()
        shared = {name: getattr(memory, name) for name in SHARED_ARRAYS}
        params = compiled_game.params.astype(np.int64)
        storage = LazyNodeStorage(params=params, **node_arrays, **shared)
        addresses = _array_addresses(storage)  # must outlive the call of the kernel
        nodes = LazyNodes._make([*functions, addresses.ctypes.data])
        game_nodes = GameNodes(nodes, storage.utility, no_slots, game.num_players)
        tables = RegretTables(
            regret=memory.regret,
            policy=memory.policy,
            policy_sum=memory.policy_sum,
            last_averaged=memory.last_averaged,
            baseline=np.zeros(0),
            max_abs_value=memory.max_abs_value,
        )
        scratch.counters[:] = 0
        limits = begin, end, MAX_NODES_PER_ITERATION
        seed = np.uint64(memory.seed)
        begin = run(*limits, seed, *arguments, game_nodes, tables, scratch)
        memory.iteration = begin - 1
        memory.nodes_touched += int(scratch.counters[0])
        _check_status(memory)
    return memory


def _check_status(memory: CompiledSamplingMemory) -> None:
    """Raise the error that a kernel has recorded in `counts`, if any."""
    status, spec = memory.counts[STATUS], get_spec(memory.game)
    if status == INVALID:
        raise GameError(
            f"{spec}: utilities of its compiled rules are not all finite and up to 1e+150, or its "
            "chance probabilities do not sum to 1; `check_game` finds the history"
        )
    if status == STATUS_BROKEN:
        raise RunError(
            f"{spec}: a function of its compiled rules failed; `check_compiled_game` finds the "
            "history"
        )
    if status:
        raise too_many_nodes_error(memory.game, MAX_NODES_PER_ITERATION)


@lru_cache(maxsize=2)
def _node_arrays(state_size: int, num_players: int) -> dict[str, Any]:
    """Return arrays for the nodes of an iteration; pages that are never written cost nothing."""
    return {
        "rows": np.empty((MAX_NODES_PER_ITERATION, 5), np.int64),
        "states": np.empty((MAX_NODES_PER_ITERATION, state_size), np.int32),
        "action": np.empty(MAX_NODES_PER_ITERATION, np.int64),
        "chance": np.empty(MAX_NODES_PER_ITERATION),
        "utility": np.empty((MAX_NODES_PER_ITERATION, num_players)),
        "call_arguments": np.zeros(4, np.int64),
        "child_range": np.zeros(2, np.int64),
        "quantile": np.zeros(1),
    }


def _array_addresses(storage: LazyNodeStorage) -> Ints:
    """Return the addresses, lengths and widths of all arrays, as `LazyNodes.storage` points to."""
    assert all(values.flags.c_contiguous for values in storage)
    widths = [values.shape[1] if values.ndim == 2 else 1 for values in storage]
    return np.array([values.ctypes.data for values in storage] + [*map(len, storage), *widths])


@lru_cache(maxsize=1)
def _shared_scratch(num_nodes: int) -> Scratch:
    return new_scratch(num_nodes, MAX_HISTORY_LENGTH)


@lru_cache(maxsize=8)
def _find_compiled_game(game: Any) -> CompiledGame | None:
    return find_compiled_game(game)


Pointers = tuple[FunctionPointer | None, ...]
_POINTERS_BY_FUNCTIONS: dict[tuple[int, ...], Pointers] = {}


def _function_pointers(compiled_game: CompiledGame) -> Pointers | None:
    """Return pointers to the game's functions, compiled once; None if numba has not compiled them.

    The order is that of the fields of `LazyNodes`. An optional function that the game lacks is
    None.
    """
    functions = (
        compiled_game.current_player,
        compiled_game.legal_actions,
        compiled_game.step,
        compiled_game.utilities,
        compiled_game.infoset_key,
        compiled_game.sample_chance,
    )
    if not all(f is None or hasattr(f, "get_compile_result") for f in functions):
        return None
    key = tuple(map(id, functions))
    if key not in _POINTERS_BY_FUNCTIONS:
        ints, states = types.int64[::1], types.int32[:, ::1]
        floats, rows = types.float64[::1], types.float64[:, ::1]
        signatures = (
            types.void(ints, states, ints, ints),
            types.void(ints, states, ints, ints, ints, floats),
            types.void(ints, states, ints, ints),
            types.void(ints, states, rows),
            types.void(ints, states, ints, ints),
            types.void(ints, states, floats, ints),
        )
        _POINTERS_BY_FUNCTIONS[key] = tuple(
            FunctionPointer(function, signature) if function else None
            for function, signature in zip(functions, signatures, strict=True)
        )
    return _POINTERS_BY_FUNCTIONS[key]
