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

from counterplay.calls import carried
from counterplay.errors import ConfigError
from counterplay.kernels.threads import even_parts
from counterplay.registry import load_game_unchecked
from counterplay.sampled import SampledGame
from counterplay.scale.carrying import carrier
from counterplay.scale.choosing import executor_on
from counterplay.scale.units import Executor, Say, Unit
from counterplay.tabular import workers as crew
from counterplay.tabular.monte_carlo import MonteCarlo, Rows, SampleMemory, local_learner
from counterplay.tabular.sampled_memory import SampledMemory
from counterplay.tree import Tree
from counterplay.tree.unrolling import build_tree

FEW = 20_000  # iterations of all workers in a round, below which a message costs more than the walk
ARRAYS = tuple(field.name for field in fields(SampleMemory) if field.name != "iteration")


@dataclass(frozen=True)
class Spread:
    """A member of the family whose workers an executor walks; `solve` and runs take it like any."""

    algorithm: Any
    executor: Executor
    runs_on: ClassVar[tuple[str, ...]] = ("tree", "rules")
    needs: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm, MonteCarlo) or getattr(self.algorithm, "workers", 1) < 2:
            raise ConfigError(
                "only algorithms with several workers can be spread over machines, such as "
                "external_sampling(workers=64); p2sro and psro can, too, and deep_cfr and sd_cfr "
                "on rules"
            )

    def init(self, arena: Tree | SampledGame, seed: int = 0) -> Any:
        return self.algorithm.init(arena, seed)

    def step(self, arena: Tree | SampledGame, memory: Any, iterations: int = 1) -> Any:
        if isinstance(arena, Tree):
            return self._step_on_tree(arena, memory, iterations)

        def walk(members: list[SampledMemory], count: int) -> list[SampledMemory]:
            given = [(self.algorithm, arena.spec, one.to_arrays(), count) for one in members]
            units = [Unit("counterplay.scale.walking:walk_rules", one) for one in given]
            return [SampledMemory.from_arrays(found) for found in self.executor.map(units)]

        memory.advance(iterations, walk, local_learner(self.algorithm))
        return memory

    def _step_on_tree(self, tree: Tree, memory: SampleMemory, iterations: int) -> SampleMemory:
        count, end = memory.seed.size, memory.iteration + iterations
        parts = even_parts(0, count, self.executor.size)
        while memory.iteration < end:
            last = min(end, crew.next_merge(memory.iteration, count))
            if (last - memory.iteration) * count < FEW:
                self.algorithm.step(tree, memory, last - memory.iteration)
                continue
            units = [self._unit(tree, memory, slice(*part), last) for part in parts]
            for part, rows in zip(parts, self.executor.map(units), strict=True):
                for name in ARRAYS:
                    getattr(memory, name)[slice(*part)] = rows[name]
            memory.iteration = last
            if last % crew.round_at(last, count) == 0:
                crew.merge(tree, memory, local_learner(self.algorithm))
        return memory

    def policies(self, arena: Tree | SampledGame, memory: Any) -> dict[str, Any]:
        return self.algorithm.policies(arena, memory)

    def _unit(self, tree: Tree, memory: SampleMemory, part: slice, last: int) -> Unit:
        tree.rules  # noqa: B018  raises here unless others may load the game by its spec
        rows = {name: getattr(memory, name)[part] for name in ARRAYS}
        given = self.algorithm, tree.spec, tree.num_nodes, rows, memory.iteration, last
        return Unit("counterplay.scale.walking:walk", given)


def walk(
    algorithm: Any, spec: str, num_nodes: int, rows: dict[str, Any], iteration: int, last: int
) -> dict[str, Any]:
    """The rows of some workers after iteration `last`, before a merge."""
    tree = _tree(spec)
    if tree.num_nodes != num_nodes:
        raise ConfigError(f"{spec} is another game here: {tree.num_nodes} nodes, not {num_nodes}")
    memory = Rows(iteration, **{name: array.copy() for name, array in rows.items()})
    algorithm.step(tree, memory, last - iteration)
    return {name: getattr(memory, name) for name in ARRAYS}


def walk_rules(algorithm: Any, spec: str, stored: dict[str, Any], count: int) -> dict[str, Any]:
    """A worker on the rules, so many iterations later, before a merge."""
    memory = SampledMemory.from_arrays(stored)
    return algorithm.step(_rules(spec), memory, count).to_arrays()


@contextmanager
def spread(run: Any, on: str | Executor, say: Say | None = None) -> Iterator[None]:
    """Inside, the workers of a run, or its calls that know nothing of each other, are elsewhere."""
    calls = set(getattr(run.config.algorithm, "spreads", ())) & set(run.course.arena.offers)
    with executor_on(on, say=say) as executor:
        if calls:
            with carried(carrier(executor)):
                yield
            return
        before, run.course.algorithm = run.course.algorithm, Spread(run.config.algorithm, executor)
        try:
            yield
        finally:
            run.course.algorithm = before


@lru_cache(maxsize=4)
def _tree(spec: str) -> Tree:
    return build_tree(load_game_unchecked(spec))


@lru_cache(maxsize=4)
def _rules(spec: str) -> SampledGame:
    return SampledGame(load_game_unchecked(spec))
