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

from counterplay.deep.graph import Graph, graph_of
from counterplay.policy import Policy
from counterplay.registry import spec_of
from counterplay.tree import Tree

PLACE = 3  # digits before the name of a table
CACHE_BYTES = 2**30  # of programs on disk; the ones used longest ago go first
LONG = 0.1  # seconds of compiling that fill memory
OPTIONS: dict[str, Any] = {  # small networks are done before these would be set up
    "xla_cpu_multi_thread_eigen": False,  # a product shared between threads
    "xla_cpu_experimental_ynn_fusion_type": "",  # a library called for every product
}
if jax.__version_info__ >= (0, 6):  # earlier ones complain about lists, and not in Python
    OPTIONS["xla_disable_hlo_passes"] = "cpu-parallel-task-assigner"  # a loop shared likewise


@dataclass
class DeviceMemory:
    """How many iterations there were, and what they left."""

    iteration: int
    key: jax.Array  # of all randomness
    state: Any
    finished: ClassVar[bool] = False


class OnDevice:
    """The adapter: holds no update rule of its own."""

    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    needs: ClassVar[str] = "deep"
    compiling: ClassVar[Mapping[str, Any]] = {}  # options of the compiler, beside those of all

    @property
    def name(self) -> str:
        """As the registry has it."""
        return spec_of(self).partition("(")[0]

    def start(self, graph: Any, rng: np.random.Generator) -> Any:
        raise NotImplementedError

    def iteration(self, graph: Any, t: Any, state: Any, key: jax.Array) -> Any:
        raise NotImplementedError

    def tables(self, graph: Any, state: Any) -> dict[str, Any]:
        raise NotImplementedError

    def init(self, tree: Tree, seed: int = 0) -> DeviceMemory:
        return begun(self, graph_of(tree), seed)

    def step(self, tree: Tree, memory: DeviceMemory, iterations: int = 1) -> DeviceMemory:
        return advanced(self, graph_of(tree), memory, iterations)

    def policies(self, tree: Tree, memory: DeviceMemory) -> dict[str, Policy]:
        tables = tables_of(self, graph_of(tree), memory)
        return {name: policy_of(tree, table) for name, table in tables.items()}


class OnHost(OnDevice):
    """The adapter of algorithms that walk the tree on the host and only fit on the device.

    `start`, `iteration` and `tables` take the tree in place of its graph and are not compiled
    themselves; what an iteration calls may be. It may change the arrays of its state.
    """

    def init(self, tree: Tree, seed: int = 0) -> DeviceMemory:
        state = self.start(tree, np.random.default_rng(seed))
        return DeviceMemory(0, jax.random.PRNGKey(seed), state)

    def step(self, tree: Tree, memory: DeviceMemory, iterations: int = 1) -> DeviceMemory:
        state, last = memory.state, memory.iteration + iterations
        for n in range(memory.iteration, last):
            state = self.iteration(tree, n + 1, state, jax.random.fold_in(memory.key, n))
        return DeviceMemory(last, memory.key, state)

    def policies(self, tree: Tree, memory: DeviceMemory) -> dict[str, Policy]:
        tables = self.tables(tree, memory.state)
        return {name: policy_of(tree, table) for name, table in tables.items()}


def begun(algorithm: OnDevice, graph: Graph, seed: int) -> DeviceMemory:
    """Before the first iteration, on a graph that need not be a whole tree's."""
    state = algorithm.start(graph, np.random.default_rng(seed))
    return DeviceMemory(0, jax.random.PRNGKey(seed), jax.device_put(state))


def advanced(
    algorithm: OnDevice, graph: Graph, memory: DeviceMemory, iterations: int
) -> DeviceMemory:
    """After so many more iterations."""
    last = memory.iteration + iterations
    advance = _advance(type(algorithm))
    state = advance(algorithm, graph, memory.key, memory.iteration, last, memory.state)
    return DeviceMemory(last, memory.key, state)


def tables_of(algorithm: OnDevice, graph: Graph, memory: DeviceMemory) -> dict[str, Any]:
    """The tables [I, A] of its policies; the first carries the guarantee."""
    tables = _tables()(algorithm, graph, memory.state)
    return {name[PLACE:]: tables[name] for name in sorted(tables)}


def policy_of(tree: Tree, table: Any) -> Policy:
    """The policy that a table [I, A] of weights stands for; uniform where all are zero."""
    legal = np.arange(tree.max_actions) < tree.num_actions[:, None]
    weights = np.where(legal, np.asarray(table, np.float64), 0.0)
    total = weights.sum(axis=1, keepdims=True)
    rows = np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), legal)
    return Policy(tree, (rows / rows.sum(axis=1, keepdims=True))[legal])


@lru_cache
def _advance(kind: type[OnDevice]) -> Callable[..., Any]:
    @partial(compiled, more=kind.compiling, static_argnums=0, donate_argnums=5)
    def advance(
        algorithm: Any, graph: Graph, key: jax.Array, first: jax.Array, last: jax.Array, state: Any
    ) -> Any:
        def iteration(n: jax.Array, state: Any) -> Any:
            return algorithm.iteration(graph, n + 1, state, jax.random.fold_in(key, n))

        return jax.lax.fori_loop(first, last, iteration, state)

    return advance


@lru_cache
def _tables() -> Callable[..., Any]:
    @partial(compiled, static_argnums=0)
    def tables(algorithm: Any, graph: Graph, state: Any) -> dict[str, jax.Array]:
        found = algorithm.tables(graph, state)  # JAX sorts dicts by their keys: number them
        return {f"{k:0{PLACE}}{name}": table for k, (name, table) in enumerate(found.items())}

    return tables


def compiled(
    function: Callable[..., Any], more: Mapping[str, Any] | None = None, **given: Any
) -> Callable[..., Any]:
    """The function, compiled at its first call, and kept on disk for the next process.

    `more` are options of the compiler; those that are not known here are left out.
    """
    keep_programs()
    give_memory_back()
    wanted = OPTIONS | dict(more or {})
    options = {name: value for name, value in wanted.items() if is_known(name, value)}
    return jax.jit(function, compiler_options=options, **given)


@lru_cache
def is_known(name: str, value: Any) -> bool:
    """Whether this version of JAX has an option, on this device."""
    try:
        jax.jit(abs, compiler_options={name: value}).lower(1.0).compile()
    except RuntimeError:
        return False
    return True


@lru_cache
def give_memory_back() -> None:
    """Let the system have what compiling leaves free: 300 MB for a large program, unused after."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None

    def compiled_one(event: str, seconds: float, **_: Any) -> None:
        if trim and seconds > LONG and event.endswith("backend_compile_duration"):
            trim(0)

    jax.monitoring.register_event_duration_secs_listener(compiled_one)


@lru_cache
def keep_programs() -> None:
    """Let JAX keep compiled programs in the user's cache folder, unless it was told where."""
    if jax.config.jax_compilation_cache_dir is None:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        jax.config.update("jax_compilation_cache_dir", str(Path(home) / "counterplay" / "jax"))
        jax.config.update("jax_compilation_cache_max_size", CACHE_BYTES)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
