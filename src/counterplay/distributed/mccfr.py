"""One Monte Carlo run on many processes or machines: its workers are the units.

Rows of the tables travel to whoever walks them and back; a merge is that of a run on one machine,
by the same function, in the order of the workers. So the bits are those of that run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, ClassVar

from counterplay.algorithms.mccfr import workers as crew
from counterplay.algorithms.mccfr.engine import MonteCarloCFR, WorkerRows, local_learner_settings
from counterplay.algorithms.mccfr.memory import RulesSamplingMemory, TreeSamplingMemory
from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.build import build_tree
from counterplay.core.parallel import use_executor
from counterplay.distributed.executor import open_executor
from counterplay.distributed.remote_calls import make_call_mapper
from counterplay.distributed.units import Executor, Notify, Unit
from counterplay.errors import ConfigError
from counterplay.kernels.runtime.threads import split_evenly
from counterplay.registry import load_game_unchecked

MIN_DISTRIBUTED_ITERATIONS = (
    20_000  # iterations of all workers in a round, below which a message costs more than the walk
)
MEMORY_ARRAYS = tuple(
    field.name for field in fields(TreeSamplingMemory) if field.name != "iteration"
)


@dataclass(frozen=True)
class DistributedMCCFR:
    """A member of the family whose workers an executor walks; `solve` and runs take it like any."""

    algorithm: Any
    executor: Executor
    runs_on: ClassVar[tuple[str, ...]] = ("tree", "rules")
    required_extra: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if (
            not isinstance(self.algorithm, MonteCarloCFR)
            or getattr(self.algorithm, "num_workers", 1) < 2
        ):
            raise ConfigError(
                "only algorithms with several workers can be spread over machines, such as "
                "external_sampling(num_workers=64); p2sro and psro can, too, and deep_cfr and "
                "sd_cfr on rules"
            )

    def init(self, arena: TreeArena | RulesArena, seed: int = 0) -> Any:
        return self.algorithm.init(arena, seed)

    def step(self, arena: TreeArena | RulesArena, memory: Any, iterations: int = 1) -> Any:
        if isinstance(arena, TreeArena):
            return self._step_on_tree(arena, memory, iterations)

        def run_workers(
            members: list[RulesSamplingMemory], count: int
        ) -> list[RulesSamplingMemory]:
            given = [(self.algorithm, arena.spec, one.to_arrays(), count) for one in members]
            units = [Unit("counterplay.distributed.mccfr:run_rules_worker", one) for one in given]
            return [RulesSamplingMemory.from_arrays(found) for found in self.executor.map(units)]

        memory.advance(iterations, run_workers, local_learner_settings(self.algorithm))
        return memory

    def _step_on_tree(
        self, tree: TreeArena, memory: TreeSamplingMemory, iterations: int
    ) -> TreeSamplingMemory:
        count, end = memory.seed.size, memory.iteration + iterations
        parts = split_evenly(0, count, self.executor.size)
        while memory.iteration < end:
            last = min(end, crew.next_merge_iteration(memory.iteration, count))
            if (last - memory.iteration) * count < MIN_DISTRIBUTED_ITERATIONS:
                self.algorithm.step(tree, memory, last - memory.iteration)
                continue
            units = [self._make_tree_unit(tree, memory, slice(*part), last) for part in parts]
            for part, rows in zip(parts, self.executor.map(units), strict=True):
                for name in MEMORY_ARRAYS:
                    getattr(memory, name)[slice(*part)] = rows[name]
            memory.iteration = last
            if last % crew.round_length(last, count) == 0:
                crew.merge_workers(tree, memory, local_learner_settings(self.algorithm))
        return memory

    def policies(self, arena: TreeArena | RulesArena, memory: Any) -> dict[str, Any]:
        return self.algorithm.policies(arena, memory)

    def _make_tree_unit(
        self, tree: TreeArena, memory: TreeSamplingMemory, workers: slice, last_iteration: int
    ) -> Unit:
        tree.game  # noqa: B018  raises here unless others may load the game by its spec
        rows = {name: getattr(memory, name)[workers] for name in MEMORY_ARRAYS}
        given = self.algorithm, tree.spec, tree.num_nodes, rows, memory.iteration, last_iteration
        return Unit("counterplay.distributed.mccfr:run_tree_workers", given)


def run_tree_workers(
    algorithm: Any,
    spec: str,
    num_nodes: int,
    rows: dict[str, Any],
    iteration: int,
    last_iteration: int,
) -> dict[str, Any]:
    """The rows of some workers after iteration `last`, before a merge."""
    tree = _load_tree(spec)
    if tree.num_nodes != num_nodes:
        raise ConfigError(f"{spec} is another game here: {tree.num_nodes} nodes, not {num_nodes}")
    memory = WorkerRows(iteration, **{name: array.copy() for name, array in rows.items()})
    algorithm.step(tree, memory, last_iteration - iteration)
    return {name: getattr(memory, name) for name in MEMORY_ARRAYS}


def run_rules_worker(
    algorithm: Any, spec: str, memory_arrays: dict[str, Any], num_iterations: int
) -> dict[str, Any]:
    """A worker on the rules, so many iterations later, before a merge."""
    memory = RulesSamplingMemory.from_arrays(memory_arrays)
    return algorithm.step(_load_rules_arena(spec), memory, num_iterations).to_arrays()


@contextmanager
def distribute_run(
    run: Any, target: str | Executor, notify: Notify | None = None
) -> Iterator[None]:
    """Inside, the workers of a run, or its calls that know nothing of each other, are elsewhere."""
    calls = set(getattr(run.config.algorithm, "distributes_on", ())) & set(
        run.session.arena.capabilities
    )
    with open_executor(target, notify=notify) as executor:
        if calls:
            with use_executor(make_call_mapper(executor)):
                yield
            return
        before, run.session.algorithm = (
            run.session.algorithm,
            DistributedMCCFR(run.config.algorithm, executor),
        )
        try:
            yield
        finally:
            run.session.algorithm = before


@lru_cache(maxsize=4)
def _load_tree(spec: str) -> TreeArena:
    return build_tree(load_game_unchecked(spec))


@lru_cache(maxsize=4)
def _load_rules_arena(spec: str) -> RulesArena:
    return RulesArena(load_game_unchecked(spec))
