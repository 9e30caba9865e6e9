"""The Monte Carlo CFR family: the base class, new memories and the dispatch to arenas.

Every algorithm of the family traverses the game once per player and iteration and visits only part
of it. On a tree and on compiled rules the kernels are compiled; on other rules the same source runs
as plain Python.

Runs are reproducible: the random numbers of a traversal depend only on the seed, the worker, the
iteration and the player. With the same seed and number of workers the bits are the same, however
the run is split into steps. `workers` describes how several workers share a game.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from annotated_types import Ge, Le

from counterplay.algorithms.cfr.scaled_weights import Power, iter_powers
from counterplay.algorithms.mccfr.compiled_backend import new_compiled_memory, run_on_compiled_rules
from counterplay.algorithms.mccfr.memory import (
    CompiledSamplingMemory,
    RulesSamplingMemory,
    TreeSamplingMemory,
    worker_seeds,
)
from counterplay.algorithms.mccfr.rules_backend import run_on_rules
from counterplay.algorithms.mccfr.workers import (
    LearnerSettings,
    WorkerMemories,
    collect_tables,
    run_workers,
)
from counterplay.arenas.rules import RulesArena, TabularPolicy
from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.replay import number_augmented_actions
from counterplay.arenas.tree.sampling_view import chance_probabilities
from counterplay.core.arena import Floats
from counterplay.core.policy import LazyPolicies, Policy, policy_from_weights, uniform_policy
from counterplay.errors import ConfigError
from counterplay.registry import get_registry_name

NumWorkers = Annotated[int, Ge(1), Le(256)]
SamplingArena = TreeArena | RulesArena
SamplingMemory = TreeSamplingMemory | RulesSamplingMemory | CompiledSamplingMemory | WorkerMemories


class WorkerRows(TreeSamplingMemory):
    """The rows of some workers of a run; the process that holds all rows merges them."""

    can_merge: ClassVar[bool] = False


class Traversal(NamedTuple):
    """The kernel of an algorithm with its arguments."""

    kernel: Callable[..., Any]
    power: Power  # iteration t has weight t**gamma in the average, and t**alpha in the regrets
    arguments: tuple[Any, ...] = ()  # further arguments of the kernel
    lazy_averaging: bool = False
    lists_chance: bool = False  # whether it visits all outcomes of chance
    baseline_kind: str = ""  # "augmented" infosets, every "history", or "" without baselines


class MonteCarloCFR:
    """Base class of the Monte Carlo CFR family: makes memories, runs traversals, reads policies.

    An algorithm of the family defines `traversal`.
    """

    runs_on: ClassVar[tuple[str, ...]] = ("tree", "rules")
    required_extra: ClassVar[str] = ""
    num_workers: int = 1
    regret_matching_plus: bool = False
    hedge_eta: float = 0.0

    def __post_init__(self) -> None:
        if self.regret_matching_plus and self.hedge_eta:
            raise ConfigError(
                f"{get_registry_name(self)}: regret_matching_plus is for regret matching; with "
                "Hedge (hedge_eta > 0) leave it out"
            )

    def traversal(self) -> Traversal:
        """Return the kernel of the algorithm with its arguments."""
        raise NotImplementedError

    def init(self, arena: SamplingArena, seed: int = 0) -> SamplingMemory:
        """Return a memory with zero regrets and the uniform policy."""
        return new_memory(arena, seed, self.num_workers, self.traversal())

    def step(
        self, arena: SamplingArena, memory: SamplingMemory, iterations: int = 1
    ) -> SamplingMemory:
        """Run iterations of all workers, in place, and return the memory."""
        return iterate(arena, memory, iterations, self.traversal(), local_learner_settings(self))

    def policies(self, arena: SamplingArena, memory: SamplingMemory) -> Mapping[str, Any]:
        """Return the average of all iterations and workers, and the first worker's policy."""
        if isinstance(memory, TreeSamplingMemory):
            assert isinstance(arena, TreeArena)
            average = partial(policy_from_weights, arena, memory.policy_sum.sum(axis=0))
            current = partial(Policy, arena, memory.policy[0, : arena.num_sequences].copy())
            return LazyPolicies({"average": average, "current": current})
        assert isinstance(arena, RulesArena)
        tables, policy_sum, policy = collect_tables(memory)
        return {
            "average": TabularPolicy.from_memory(arena, tables, policy_sum),
            "current": TabularPolicy.from_memory(arena, tables, policy),
        }


def local_learner_settings(algorithm: MonteCarloCFR) -> LearnerSettings:
    """Return the lowest regret that is kept, and the rate of Hedge (0: regret matching)."""
    lowest_regret = 0.0 if algorithm.regret_matching_plus else -np.inf
    return lowest_regret, float(algorithm.hedge_eta)


def new_memory(
    arena: SamplingArena, seed: int, num_workers: int, traversal: Traversal
) -> SamplingMemory:
    """Return a memory with zero regrets and the uniform policy, for an algorithm's traversal."""
    if isinstance(arena, TreeArena):
        return _new_tree_memory(arena, seed, num_workers, traversal)
    if num_workers > 1:
        return WorkerMemories.new(seed, num_workers, traversal.baseline_kind)
    state = int(worker_seeds(seed, 1)[0])
    compiled = None if traversal.baseline_kind else new_compiled_memory(arena.game, state)
    return compiled or RulesSamplingMemory(0, state, traversal.baseline_kind)


def _new_tree_memory(
    tree: TreeArena, seed: int, num_workers: int, traversal: Traversal
) -> TreeSamplingMemory:
    policy = np.append(uniform_policy(tree).probabilities, chance_probabilities(tree))
    size = tree.num_sequences
    return TreeSamplingMemory(
        iteration=0,
        seed=worker_seeds(seed, num_workers),
        nodes_touched=np.zeros(num_workers, np.int64),
        regret=np.zeros((num_workers, size)),
        policy=np.tile(policy, (num_workers, 1)),
        policy_sum=np.zeros((num_workers, size)),
        last_averaged=np.zeros((num_workers, size if traversal.lazy_averaging else 0)),
        baseline=np.tile(_initial_baseline(tree, traversal.baseline_kind), (num_workers, 1)),
        max_abs_value=np.zeros((num_workers, size)),
    )


def _initial_baseline(tree: TreeArena, baseline_kind: str) -> Floats:
    """Return baselines [B] of zero; those of terminal histories are the utilities."""
    if baseline_kind == "augmented":
        return np.zeros(int(number_augmented_actions(tree).max()) + 1)
    if baseline_kind == "history":
        values = np.zeros((tree.num_nodes, tree.num_players))
        values[tree.terminals] = tree.utility
        return values.ravel()
    return np.zeros(0)


def iterate(
    arena: SamplingArena,
    memory: SamplingMemory,
    iterations: int,
    traversal: Traversal,
    learner: LearnerSettings,
) -> SamplingMemory:
    """Run iterations of a traversal, by all workers, in place and return the memory."""
    if isinstance(memory, WorkerMemories):

        def run(members: list[RulesSamplingMemory], count: int) -> list[RulesSamplingMemory]:
            for member in members:
                iterate(arena, member, count, traversal, learner)
            return members

        memory.advance(iterations, run, learner)
        return memory
    kernel, power, *_ = traversal
    for count, scaled_power in iter_powers(memory, iterations, power):
        arguments = scaled_power, learner, *traversal.arguments
        if isinstance(memory, CompiledSamplingMemory):
            run_on_compiled_rules(memory, count, kernel, arguments, traversal.lists_chance)
        elif isinstance(memory, RulesSamplingMemory):
            assert isinstance(arena, RulesArena)
            run_on_rules(arena, memory, count, kernel, arguments)
        else:
            assert isinstance(arena, TreeArena)
            run_workers(arena, memory, count, kernel, arguments, traversal.baseline_kind)
    return memory
