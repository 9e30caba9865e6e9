"""Distributed Monte Carlo CFR: the workers of one run as units of an executor.

The rows of the workers' tables are sent to the process that samples with them, and back. They are
merged in the order of the workers by the function that a local run uses, so the results have the
same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, ClassVar

from counterplay.algorithms.mccfr import workers
from counterplay.algorithms.mccfr.engine import MonteCarloCFR, WorkerRows, local_learner_settings
from counterplay.algorithms.mccfr.memory import RulesSamplingMemory, TreeSamplingMemory
from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.parallel import use_executor
from counterplay.distributed.executor import open_executor
from counterplay.distributed.remote_calls import load_remote_tree, make_call_mapper
from counterplay.distributed.units import Executor, Notify, Unit
from counterplay.errors import ConfigError
from counterplay.experiment.runner import Run
from counterplay.kernels.runtime.threads import split_evenly
from counterplay.registry import load_game_unchecked

# iterations of all workers in a round, below which sending them costs more than running them
MIN_DISTRIBUTED_ITERATIONS = 20_000
MEMORY_ARRAYS = tuple(
    field.name for field in fields(TreeSamplingMemory) if field.name != "iteration"
)


Arrays = dict[str, Any]  # arrays of a memory by name


@dataclass(frozen=True)
class DistributedMCCFR:
    """A Monte Carlo algorithm whose workers run on an executor; itself an algorithm."""

    algorithm: MonteCarloCFR
    executor: Executor
    runs_on: ClassVar[tuple[str, ...]] = ("tree", "rules")
    required_extra: ClassVar[str] = ""

    def __post_init__(self) -> None:
        algorithm: object = self.algorithm  # of any class: runs are distributed at the user's wish
        num_workers = getattr(algorithm, "num_workers", 1)
        if not isinstance(algorithm, MonteCarloCFR) or num_workers < 2:
            raise ConfigError(
                "only algorithms with several workers can be distributed, such as "
                "external_sampling(num_workers=64); p2sro and psro can, too, and deep_cfr and "
                "sd_cfr on rules"
            )

    def init(self, arena: TreeArena | RulesArena, seed: int = 0) -> Any:
        return self.algorithm.init(arena, seed)

    def step(self, arena: TreeArena | RulesArena, memory: Any, iterations: int = 1) -> Any:
        if isinstance(arena, TreeArena):
            return self._step_on_tree(arena, memory, iterations)

        def run_workers(
            memories: list[RulesSamplingMemory], count: int
        ) -> list[RulesSamplingMemory]:
            function = "counterplay.distributed.mccfr:run_rules_worker"
            units = [
                Unit(function, (self.algorithm, arena.spec, part.to_arrays(), count))
                for part in memories
            ]
            return [RulesSamplingMemory.from_arrays(arrays) for arrays in self.executor.map(units)]

        memory.advance(iterations, run_workers, local_learner_settings(self.algorithm))
        return memory

    def _step_on_tree(
        self, tree: TreeArena, memory: TreeSamplingMemory, iterations: int
    ) -> TreeSamplingMemory:
        count, end = memory.seed.size, memory.iteration + iterations
        parts = split_evenly(0, count, self.executor.size)
        while memory.iteration < end:
            last = min(end, workers.next_merge_iteration(memory.iteration, count))
            if (last - memory.iteration) * count < MIN_DISTRIBUTED_ITERATIONS:
                self.algorithm.step(tree, memory, last - memory.iteration)
                continue
            units = [self._make_tree_unit(tree, memory, slice(*part), last) for part in parts]
            for part, rows in zip(parts, self.executor.map(units), strict=True):
                for name in MEMORY_ARRAYS:
                    getattr(memory, name)[slice(*part)] = rows[name]
            memory.iteration = last
            if last % workers.round_length(last, count) == 0:
                workers.merge_workers(tree, memory, local_learner_settings(self.algorithm))
        return memory

    def policies(self, arena: TreeArena | RulesArena, memory: Any) -> Mapping[str, Any]:
        return self.algorithm.policies(arena, memory)

    def _make_tree_unit(
        self, tree: TreeArena, memory: TreeSamplingMemory, part: slice, last_iteration: int
    ) -> Unit:
        tree.game  # noqa: B018  raises here unless others may load the game by its spec
        rows = {name: getattr(memory, name)[part] for name in MEMORY_ARRAYS}
        return Unit(
            "counterplay.distributed.mccfr:run_tree_workers",
            (self.algorithm, tree.spec, tree.num_nodes, rows, memory.iteration, last_iteration),
        )


def run_tree_workers(
    algorithm: MonteCarloCFR,
    spec: str,
    num_nodes: int,
    rows: Arrays,
    iteration: int,
    last_iteration: int,
) -> Arrays:
    """Return the rows of some workers after `last_iteration`, before a merge.

    Args:
        spec: the game.
        num_nodes: of the sender's tree, to check that the game is the same here.
        rows: arrays of the memory by name, for these workers.
        iteration: number of iterations so far.
    """
    tree = load_remote_tree(spec, num_nodes)
    memory = WorkerRows(iteration, **{name: array.copy() for name, array in rows.items()})
    algorithm.step(tree, memory, last_iteration - iteration)
    return {name: getattr(memory, name) for name in MEMORY_ARRAYS}


def run_rules_worker(
    algorithm: MonteCarloCFR, spec: str, memory_arrays: Arrays, num_iterations: int
) -> Arrays:
    """Return the arrays of a worker's memory after more iterations on the rules."""
    memory = RulesSamplingMemory.from_arrays(memory_arrays)
    memory_after = algorithm.step(_load_rules_arena(spec), memory, num_iterations)
    assert isinstance(memory_after, RulesSamplingMemory)
    return memory_after.to_arrays()


@contextmanager
def distribute_run(
    run: Run, target: str | Executor, notify: Notify | None = None
) -> Iterator[None]:
    """Run the workers, or the independent calls, of a run on an executor in the `with` block.

    Args:
        target: as for `open_executor`.
    """
    capabilities = set(run.session.arena.capabilities)
    has_calls = set(getattr(run.config.algorithm, "distributes_on", ())) & capabilities
    with open_executor(target, notify=notify) as executor:
        if has_calls:
            with use_executor(make_call_mapper(executor)):
                yield
            return
        local_algorithm = run.session.algorithm
        run.session.algorithm = DistributedMCCFR(run.config.algorithm, executor)
        try:
            yield
        finally:
            run.session.algorithm = local_algorithm


@lru_cache(maxsize=4)
def _load_rules_arena(spec: str) -> RulesArena:
    return RulesArena(load_game_unchecked(spec))
