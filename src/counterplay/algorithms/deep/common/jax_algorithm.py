"""What turns `start / iteration / tables` into the contract of an algorithm, compiled once.

An algorithm with networks is a frozen dataclass that says, as pure functions of arrays, what it
starts from, what an iteration changes, and which policies it has:

    start(graph, rng) -> state                     a pytree of arrays
    iteration(graph, t, state, key) -> state       t = 1, 2, ...; the key is this iteration's alone
    tables(graph, state) -> {name: [I, A]}         the first carries the guarantee

The graph is an argument: one program serves every tree of the same shape, and nothing of the tree
is built into it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.monitoring
import numpy as np

from counterplay.algorithms.deep.common.graph import Graph, graph_from_tree
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.policy import Policy
from counterplay.registry import get_spec

TABLE_INDEX_DIGITS = 3  # digits before the name of a table
MAX_CACHE_BYTES = 2**30  # of programs on disk; the ones used longest ago go first
TRIM_COMPILE_SECONDS = 0.1  # seconds of compiling that fill memory
COMPILER_OPTIONS: dict[str, Any] = {  # small networks are done before these would be set up
    "xla_cpu_multi_thread_eigen": False,  # a product shared between threads
    "xla_cpu_experimental_ynn_fusion_type": "",  # a library called for every product
}
if jax.__version_info__ >= (0, 6):  # earlier ones complain about lists, and not in Python
    COMPILER_OPTIONS["xla_disable_hlo_passes"] = (
        "cpu-parallel-task-assigner"  # a loop shared likewise
    )


@dataclass
class JaxMemory:
    """How many iterations there were, and what they left."""

    iteration: int
    key: jax.Array  # of all randomness
    state: Any
    finished: ClassVar[bool] = False


class JaxAlgorithm:
    """The adapter: holds no update rule of its own."""

    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = "deep"
    compiler_options: ClassVar[
        Mapping[str, Any]
    ] = {}  # options of the compiler, beside those of all

    @property
    def name(self) -> str:
        """As the registry has it."""
        return get_spec(self).partition("(")[0]

    def init_state(self, graph: Any, rng: np.random.Generator) -> Any:
        raise NotImplementedError

    def iterate(self, graph: Any, t: Any, state: Any, key: jax.Array) -> Any:
        raise NotImplementedError

    def tabulate(self, graph: Any, state: Any) -> dict[str, Any]:
        raise NotImplementedError

    def init(self, tree: TreeArena, seed: int = 0) -> JaxMemory:
        return init_memory(self, graph_from_tree(tree), seed)

    def step(self, tree: TreeArena, memory: JaxMemory, iterations: int = 1) -> JaxMemory:
        return advance_memory(self, graph_from_tree(tree), memory, iterations)

    def policies(self, tree: TreeArena, memory: JaxMemory) -> dict[str, Policy]:
        tables = tabulate_policies(self, graph_from_tree(tree), memory)
        return {name: policy_from_table(tree, table) for name, table in tables.items()}


class HostAlgorithm(JaxAlgorithm):
    """The adapter of algorithms that walk the tree on the host and only fit on the device.

    `start`, `iteration` and `tables` take the tree in place of its graph and are not compiled
    themselves; what an iteration calls may be. It may change the arrays of its state.
    """

    def init(self, tree: TreeArena, seed: int = 0) -> JaxMemory:
        state = self.init_state(tree, np.random.default_rng(seed))
        return JaxMemory(0, jax.random.PRNGKey(seed), state)

    def step(self, tree: TreeArena, memory: JaxMemory, iterations: int = 1) -> JaxMemory:
        state, last = memory.state, memory.iteration + iterations
        for n in range(memory.iteration, last):
            state = self.iterate(tree, n + 1, state, jax.random.fold_in(memory.key, n))
        return JaxMemory(last, memory.key, state)

    def policies(self, tree: TreeArena, memory: JaxMemory) -> dict[str, Policy]:
        tables = self.tabulate(tree, memory.state)
        return {name: policy_from_table(tree, table) for name, table in tables.items()}


def init_memory(algorithm: JaxAlgorithm, graph: Graph, seed: int) -> JaxMemory:
    """Before the first iteration, on a graph that need not be a whole tree's."""
    state = algorithm.init_state(graph, np.random.default_rng(seed))
    return JaxMemory(0, jax.random.PRNGKey(seed), jax.device_put(state))


def advance_memory(
    algorithm: JaxAlgorithm, graph: Graph, memory: JaxMemory, iterations: int
) -> JaxMemory:
    """After so many more iterations."""
    last = memory.iteration + iterations
    advance = _jit_advance(type(algorithm))
    state = advance(algorithm, graph, memory.key, memory.iteration, last, memory.state)
    return JaxMemory(last, memory.key, state)


def tabulate_policies(algorithm: JaxAlgorithm, graph: Graph, memory: JaxMemory) -> dict[str, Any]:
    """The tables [I, A] of its policies; the first carries the guarantee."""
    tables = _jit_tabulate()(algorithm, graph, memory.state)
    return {name[TABLE_INDEX_DIGITS:]: tables[name] for name in sorted(tables)}


def policy_from_table(tree: TreeArena, table: Any) -> Policy:
    """The policy that a table [I, A] of weights stands for; uniform where all are zero."""
    legal = np.arange(tree.max_actions) < tree.num_actions[:, None]
    weights = np.where(legal, np.asarray(table, np.float64), 0.0)
    total = weights.sum(axis=1, keepdims=True)
    rows = np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), legal)
    return Policy(tree, (rows / rows.sum(axis=1, keepdims=True))[legal])


@lru_cache
def _jit_advance(algorithm_class: type[JaxAlgorithm]) -> Callable[..., Any]:
    @partial(
        persistent_jit,
        extra_options=algorithm_class.compiler_options,
        static_argnums=0,
        donate_argnums=5,
    )
    def advance(
        algorithm: Any, graph: Graph, key: jax.Array, first: jax.Array, last: jax.Array, state: Any
    ) -> Any:
        def iteration(n: jax.Array, state: Any) -> Any:
            return algorithm.iterate(graph, n + 1, state, jax.random.fold_in(key, n))

        return jax.lax.fori_loop(first, last, iteration, state)

    return advance


@lru_cache
def _jit_tabulate() -> Callable[..., Any]:
    @partial(persistent_jit, static_argnums=0)
    def tables(algorithm: Any, graph: Graph, state: Any) -> dict[str, jax.Array]:
        found = algorithm.tabulate(graph, state)  # JAX sorts dicts by their keys: number them
        return {
            f"{k:0{TABLE_INDEX_DIGITS}}{name}": table
            for k, (name, table) in enumerate(found.items())
        }

    return tables


def persistent_jit(
    function: Callable[..., Any],
    extra_options: Mapping[str, Any] | None = None,
    **jit_arguments: Any,
) -> Callable[..., Any]:
    """The function, compiled at its first call, and kept on disk for the next process.

    `more` are options of the compiler; those that are not known here are left out.
    """
    enable_program_cache()
    trim_memory_after_compiling()
    wanted = COMPILER_OPTIONS | dict(extra_options or {})
    options = {name: value for name, value in wanted.items() if is_known_option(name, value)}
    return jax.jit(function, compiler_options=options, **jit_arguments)


@lru_cache
def is_known_option(name: str, value: Any) -> bool:
    """Whether this version of JAX has an option, on this device."""
    try:
        jax.jit(abs, compiler_options={name: value}).lower(1.0).compile()
    except RuntimeError:
        return False
    return True


@lru_cache
def trim_memory_after_compiling() -> None:
    """Let the system have what compiling leaves free: 300 MB for a large program, unused after."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None

    def trim_after_compile(event: str, seconds: float, **_: Any) -> None:
        if trim and seconds > TRIM_COMPILE_SECONDS and event.endswith("backend_compile_duration"):
            trim(0)

    jax.monitoring.register_event_duration_secs_listener(trim_after_compile)


@lru_cache
def enable_program_cache() -> None:
    """Let JAX keep compiled programs in the user's cache folder, unless it was told where."""
    if jax.config.jax_compilation_cache_dir is None:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        jax.config.update("jax_compilation_cache_dir", str(Path(home) / "counterplay" / "jax"))
        jax.config.update("jax_compilation_cache_max_size", MAX_CACHE_BYTES)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
