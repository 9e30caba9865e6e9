"""What the Monte Carlo CFR family shares: the memory, workers, averages and local learners.

Every member walks the tree once per player and iteration and sees only part of it. On a tree the
walks are compiled, and so they are on compiled rules; on others the same source is plain Python.

Reproducible: the draws of a walk depend on the seed, the worker, the iteration and the player, and
on nothing else. Same seed and same number of workers: same bits, however the run is cut into steps.

How several workers share a game is told in `workers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from counterplay.algorithms.cfr import scaled_weights
from counterplay.algorithms.mccfr import workers as crew
from counterplay.algorithms.mccfr.compiled_backend import new_compiled_memory, run_on_compiled_rules
from counterplay.algorithms.mccfr.memory import CompiledSamplingMemory, RulesSamplingMemory
from counterplay.algorithms.mccfr.memory import TreeSamplingMemory as SampleMemory
from counterplay.algorithms.mccfr.rules_backend import run_on_rules
from counterplay.algorithms.mccfr.workers import WorkerMemories, collect_tables
from counterplay.arenas.rules import RulesArena, TabularPolicy
from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.replay import number_augmented_actions
from counterplay.arenas.tree.sampling_view import chance_probabilities
from counterplay.core import field_bounds
from counterplay.core.policy import LazyPolicies, Policy, policy_from_weights, uniform_policy
from counterplay.errors import ConfigError

DEFAULT_BASELINE_DECAY = 0.5  # usual step of guesses that are decaying averages


class WorkerRows(SampleMemory):
    """Some workers' rows, to be walked away from the others: whoever has all of them merges."""

    can_merge: ClassVar[bool] = False


class MonteCarloCFR:
    """What every member of the family makes of its memory; each says how the memory changes."""

    runs_on: ClassVar[tuple[str, ...]] = ("tree", "rules")
    required_extra: ClassVar[str] = ""

    def policies(self, arena: TreeArena | RulesArena, memory: Any) -> Mapping[str, Any]:
        """The average of all iterations, and the last iterate, the first worker's."""
        if isinstance(arena, RulesArena):
            met, average, current = collect_tables(memory)
            sums = {"average": average, "current": current}
            return {
                name: TabularPolicy.from_memory(arena, met, total) for name, total in sums.items()
            }
        mean = partial(policy_from_weights, arena, memory.policy_sum.sum(axis=0))
        last = partial(Policy, arena, memory.policy[0, : arena.num_sequences].copy())
        return LazyPolicies({"average": mean, "current": last})


def check_parameters(name: str, algorithm: Any) -> None:
    """Refuse hyper-parameters outside their ranges, and those that exclude each other."""
    field_bounds.check_bounds(name, algorithm)
    if getattr(algorithm, "regret_matching_plus", False) and getattr(algorithm, "hedge_eta", 0.0):
        raise ConfigError(
            f"{name}: regret_matching_plus is for regret matching; with Hedge (hedge_eta > 0) leave "
            "it out"
        )
    if (
        getattr(algorithm, "predictive_baseline", False)
        and algorithm.baseline_decay != DEFAULT_BASELINE_DECAY
    ):
        raise ConfigError(
            f"{name}: baseline_decay is for guesses that are learned; with predictive_baseline leave "
            "it out"
        )


def local_learner_settings(algorithm: Any) -> tuple[float, float]:
    """Lowest regret kept, and rate of Hedge (0: regret matching), by the fields `plus` and `eta`"""
    plus = getattr(algorithm, "regret_matching_plus", False)
    return 0.0 if plus else -np.inf, float(getattr(algorithm, "hedge_eta", 0.0))


def new_memory(
    arena: TreeArena | RulesArena,
    seed: int,
    num_workers: int,
    *,
    lazy_averaging: bool = False,
    baseline_kind: str = "",
) -> Any:
    """No regrets, the uniform policy; `guesses` says what baselines are kept for, if any."""
    if isinstance(arena, RulesArena):
        if num_workers > 1:
            return WorkerMemories.new(seed, num_workers, baseline_kind)
        state = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
        compiled = None if baseline_kind else new_compiled_memory(arena.game, state)
        return compiled or RulesSamplingMemory(0, state, baseline_kind)
    policy = np.append(uniform_policy(arena).probabilities, chance_probabilities(arena))
    baseline = np.zeros(0)
    if baseline_kind == "augmented":
        baseline = np.zeros(int(number_augmented_actions(arena).max()) + 1)
    elif baseline_kind == "history":
        values = np.zeros((arena.num_nodes, arena.num_players))
        values[arena.terminals] = arena.utility
        baseline = values.ravel()
    size = arena.num_sequences
    return SampleMemory(
        iteration=0,
        seed=np.random.SeedSequence(seed).generate_state(num_workers, np.uint64),
        nodes_touched=np.zeros(num_workers, np.int64),
        regret=np.zeros((num_workers, size)),
        policy=np.tile(policy, (num_workers, 1)),
        policy_sum=np.zeros((num_workers, size)),
        last_averaged=np.zeros((num_workers, size if lazy_averaging else 0)),
        baseline=np.tile(baseline, (num_workers, 1)),
        max_abs_value=np.zeros((num_workers, size)),
    )


def iterate(
    algorithm: Any,
    arena: TreeArena | RulesArena,
    memory: Any,
    iterations: int,
    kernel: Any,
    power: Any,
    *settings: Any,
    baseline_kind: str = "",
) -> Any:
    """So many iterations of a kernel, by all workers; returns the memory.

    Iteration t counts t**power times in the average; of two powers, the first is of the regrets.
    """
    if isinstance(memory, WorkerMemories):

        def walk(members: list[Any], count: int) -> list[Any]:
            same = kernel, power, *settings
            return [iterate(algorithm, arena, member, count, *same) for member in members]

        memory.advance(iterations, walk, local_learner_settings(algorithm))
        return memory
    for count, raised in scaled_weights.iter_powers(memory, iterations, power):
        given = raised, local_learner_settings(algorithm), *settings
        if isinstance(memory, CompiledSamplingMemory):
            run_on_compiled_rules(memory, count, kernel, *given)
        elif isinstance(arena, RulesArena):
            run_on_rules(arena, memory, count, kernel, *given)
        else:
            crew.run_workers(arena, memory, count, kernel, given, baseline_kind)
    return memory
