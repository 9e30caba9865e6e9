"""Adapters that turn pure functions of arrays into algorithms, and the compilation of programs.

A subclass of `JaxAlgorithm` is a frozen dataclass of hyper-parameters with three pure functions:

    init_state(graph, rng) -> state                a pytree of arrays
    iterate(graph, t, state, key) -> state         t = 1, 2, ...; every iteration has its own key
    tabulate(graph, state) -> {name: [I, A]}       the policy with the guarantee comes first

The graph is an argument of the compiled program, so that one program serves every tree of the same
shape.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial, wraps
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, TypeVar

import jax
import jax.monitoring
import numpy as np

from counterplay.algorithms.deep.common.graph import Graph, graph_from_tree
from counterplay.algorithms.deep.common.tree_tables import legal_mask
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.policy import Policy
from counterplay.registry import get_spec

TABLE_INDEX_DIGITS = 3  # digits that number the tables of a program's result
MAX_CACHE_BYTES = 2**30  # of compiled programs on disk; the least recently used are deleted
TRIM_COMPILE_SECONDS = 0.1  # compilations longer than this leave much free memory behind
COMPILER_OPTIONS: dict[str, Any] = {  # the set-up of these costs more than small networks do
    "xla_cpu_multi_thread_eigen": False,  # several threads for one matrix product
    "xla_cpu_experimental_ynn_fusion_type": "",  # a library call for every matrix product
}
if jax.__version_info__ >= (0, 6):  # earlier versions print warnings about options with lists
    # several threads for one loop
    COMPILER_OPTIONS["xla_disable_hlo_passes"] = "cpu-parallel-task-assigner"

P = ParamSpec("P")
R = TypeVar("R")


@dataclass
class JaxMemory:
    """The memory of an algorithm with networks."""

    iteration: int  # iterations so far
    key: jax.Array  # root of all random keys
    state: Any  # a pytree of arrays, different for each algorithm
    finished: ClassVar[bool] = False


class NetworkAlgorithm:
    """Facts that all algorithms with networks share."""

    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = "deep"

    @property
    def name(self) -> str:
        """The name in the registry."""
        return get_spec(self).partition("(")[0]


class JaxAlgorithm(NetworkAlgorithm):
    """Adapter for algorithms whose whole iteration is one compiled program on a tree."""

    compiler_options: ClassVar[Mapping[str, Any]] = {}  # in addition to `COMPILER_OPTIONS`

    def init_state(self, graph: Any, rng: np.random.Generator) -> Any:
        """Return the state before the first iteration."""
        raise NotImplementedError

    def iterate(self, graph: Any, t: Any, state: Any, key: jax.Array) -> Any:
        """Return the state after iteration t."""
        raise NotImplementedError

    def tabulate(self, graph: Any, state: Any) -> dict[str, Any]:
        """Return the policies by name, as tables of weights [I, A]."""
        raise NotImplementedError

    def init(self, tree: TreeArena, seed: int = 0) -> JaxMemory:
        """Return the memory before the first iteration."""
        return init_memory(self, graph_from_tree(tree), seed)

    def step(self, tree: TreeArena, memory: JaxMemory, iterations: int = 1) -> JaxMemory:
        """Return the memory after more iterations."""
        return advance_memory(self, graph_from_tree(tree), memory, iterations)

    def policies(self, tree: TreeArena, memory: JaxMemory) -> dict[str, Policy]:
        """Return the policies by name; the first has the guarantee."""
        tables = tabulate_policies(self, graph_from_tree(tree), memory)
        return {name: policy_from_table(tree, table) for name, table in tables.items()}


def init_memory(algorithm: JaxAlgorithm, graph: Graph, seed: int) -> JaxMemory:
    """Return the memory before the first iteration, on any graph."""
    state = algorithm.init_state(graph, np.random.default_rng(seed))
    return JaxMemory(0, jax.random.PRNGKey(seed), jax.device_put(state))


def advance_memory(
    algorithm: JaxAlgorithm, graph: Graph, memory: JaxMemory, iterations: int
) -> JaxMemory:
    """Return the memory after more iterations."""
    last = memory.iteration + iterations
    algorithm_class: Any = type(algorithm)
    advance = _jit_advance(algorithm_class)
    state = advance(algorithm, graph, memory.key, memory.iteration, last, memory.state)
    return JaxMemory(last, memory.key, state)


def tabulate_policies(algorithm: JaxAlgorithm, graph: Graph, memory: JaxMemory) -> dict[str, Any]:
    """Return the policies by name as tables of weights [I, A]; the first has the guarantee."""
    tables = _tabulate_in_order(algorithm, graph, memory.state)
    return {name[TABLE_INDEX_DIGITS:]: tables[name] for name in sorted(tables)}


def policy_from_table(tree: TreeArena, table: Any) -> Policy:
    """Return the policy of a table of weights [I, A]; uniform where all weights are zero."""
    legal = legal_mask(tree)
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


def persistent_jit(
    function: Callable[..., Any],
    extra_options: Mapping[str, Any] | None = None,
    **jit_arguments: Any,
) -> Callable[..., Any]:
    """Compile a function at its first call, and keep the program on disk for other processes.

    Args:
        function: the function to compile.
        extra_options: compiler options besides `COMPILER_OPTIONS`; options that this version of
            JAX does not know are left out.
        **jit_arguments: further arguments of `jax.jit`.
    """
    enable_program_cache()
    trim_memory_after_compiling()
    options = {
        name: value
        for name, value in (COMPILER_OPTIONS | dict(extra_options or {})).items()
        if is_known_option(name, value)
    }
    return jax.jit(function, compiler_options=options, **jit_arguments)


def lazy_jit(**jit_arguments: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that applies `persistent_jit` at the function's first call.

    Importing a module then neither starts JAX nor compiles anything.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @cache
        def get_program() -> Callable[P, R]:
            return persistent_jit(function, **jit_arguments)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return get_program()(*args, **kwargs)

        return call

    return decorate


def wait_for(result: R) -> R:
    """Return the result of a program after the program has finished.

    Programs run asynchronously, and JAX copies large NumPy arguments while they wait to start. A
    caller that changes such an argument in place must wait for the result first.
    """
    block_until_ready: Any = jax.block_until_ready
    finished: R = block_until_ready(result)
    return finished


def split_key(key: Any, count: int) -> list[Any]:
    """Return the keys of `jax.random.split` on the host.

    For iterations that the host drives: one compiled call, where unpacking the array of keys takes
    a call for each.
    """
    return list(np.asarray(_split_key(key, count)))


@lazy_jit(static_argnums=1)
def _split_key(key: jax.Array, count: int) -> jax.Array:
    return jax.random.split(key, count)


def fold_in(key: Any, number: int) -> Any:
    """Return the key of `jax.random.fold_in` on the host."""
    return np.asarray(_fold_in(key, number))


@lazy_jit()
def _fold_in(key: jax.Array, number: Any) -> jax.Array:
    return jax.random.fold_in(key, number)


@lazy_jit(static_argnums=0)
def _tabulate_in_order(algorithm: JaxAlgorithm, graph: Graph, state: Any) -> dict[str, jax.Array]:
    """Return the tables with numbered names, because JAX sorts dictionaries by their keys."""
    tables = algorithm.tabulate(graph, state)
    return {
        f"{k:0{TABLE_INDEX_DIGITS}}{name}": table for k, (name, table) in enumerate(tables.items())
    }


@lru_cache
def is_known_option(name: str, value: Any) -> bool:
    """Return True if this version of JAX has a compiler option on this device."""
    try:
        jax.jit(abs, compiler_options={name: value}).lower(1.0).compile()
    except RuntimeError:
        return False
    return True


@lru_cache
def trim_memory_after_compiling() -> None:
    """Return free memory to the system after compilations: 300 MB for a large program."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None

    def trim_after_compile(event: str, duration_secs: float, **_: Any) -> None:
        is_long = duration_secs > TRIM_COMPILE_SECONDS
        if trim and is_long and event.endswith("backend_compile_duration"):
            trim(0)

    jax.monitoring.register_event_duration_secs_listener(trim_after_compile)


@lru_cache
def enable_program_cache() -> None:
    """Make JAX store compiled programs in the user's cache folder, unless a folder is set."""
    config: Any = jax.config
    if config.jax_compilation_cache_dir is None:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        config.update("jax_compilation_cache_dir", str(Path(home) / "counterplay" / "jax"))
        config.update("jax_compilation_cache_max_size", MAX_CACHE_BYTES)
        config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
