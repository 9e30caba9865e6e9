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

from counterplay.errors import ConfigError
from counterplay.policy import Policies, Policy, normalised_policy, uniform_policy
from counterplay.sampled import SampledGame, SampledPolicy
from counterplay.tabular import powers, ranges
from counterplay.tabular import workers as crew
from counterplay.tabular.compiled_memory import CompiledMemory
from counterplay.tabular.on_machines import compiled_memory, sample_machine
from counterplay.tabular.on_rules import sample_rules
from counterplay.tabular.sample_memory import SampleMemory as SampleMemory
from counterplay.tabular.sampled_crew import SampledCrew, what_was_met
from counterplay.tabular.sampled_memory import SampledMemory
from counterplay.tree import Tree
from counterplay.tree.replaying import augmented
from counterplay.tree.walking import chance_policy

DECAY = 0.5  # usual step of guesses that are decaying averages


class Rows(SampleMemory):
    """Some workers' rows, to be walked away from the others: whoever has all of them merges."""

    merges: ClassVar[bool] = False


class MonteCarlo:
    """What every member of the family makes of its memory; each says how the memory changes."""

    runs_on: ClassVar[tuple[str, ...]] = ("tree", "rules")
    needs: ClassVar[str] = ""

    def policies(self, arena: Tree | SampledGame, memory: Any) -> Mapping[str, Any]:
        """The average of all iterations, and the last iterate, the first worker's."""
        if isinstance(arena, SampledGame):
            met, average, current = what_was_met(memory)
            sums = {"average": average, "current": current}
            return {name: SampledPolicy.of(arena, met, total) for name, total in sums.items()}
        mean = partial(normalised_policy, arena, memory.policy_sum.sum(axis=0))
        last = partial(Policy, arena, memory.policy[0, : arena.num_sequences].copy())
        return Policies({"average": mean, "current": last})


def check(name: str, algorithm: Any) -> None:
    """Refuse hyper-parameters outside their ranges, and those that exclude each other."""
    ranges.check(name, algorithm)
    if getattr(algorithm, "plus", False) and getattr(algorithm, "eta", 0.0):
        raise ConfigError(f"{name}: plus is for regret matching; with Hedge (eta > 0) leave it out")
    if getattr(algorithm, "expected", False) and algorithm.decay != DECAY:
        raise ConfigError(
            f"{name}: decay is for guesses that are learned; with expected leave it out"
        )


def local_learner(algorithm: Any) -> tuple[float, float]:
    """Lowest regret kept, and rate of Hedge (0: regret matching), by the fields `plus` and `eta`"""
    plus = getattr(algorithm, "plus", False)
    return 0.0 if plus else -np.inf, float(getattr(algorithm, "eta", 0.0))


def new_memory(
    tree: Tree | SampledGame, seed: int, workers: int, *, lazy: bool = False, guesses: str = ""
) -> Any:
    """No regrets, the uniform policy; `guesses` says what baselines are kept for, if any."""
    if isinstance(tree, SampledGame):
        if workers > 1:
            return SampledCrew.new(seed, workers, guesses)
        state = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
        compiled = None if guesses else compiled_memory(tree.game, state)
        return compiled or SampledMemory(0, state, guesses)
    policy = np.append(uniform_policy(tree).probabilities, chance_policy(tree))
    baseline = np.zeros(0)
    if guesses == "augmented":
        baseline = np.zeros(int(augmented(tree).max()) + 1)
    elif guesses == "history":
        values = np.zeros((tree.num_nodes, tree.num_players))
        values[tree.terminals] = tree.utility
        baseline = values.ravel()
    size = tree.num_sequences
    return SampleMemory(
        iteration=0,
        seed=np.random.SeedSequence(seed).generate_state(workers, np.uint64),
        touched=np.zeros(workers, np.int64),
        regret=np.zeros((workers, size)),
        policy=np.tile(policy, (workers, 1)),
        policy_sum=np.zeros((workers, size)),
        visits=np.zeros((workers, size if lazy else 0)),
        baseline=np.tile(baseline, (workers, 1)),
        largest=np.zeros((workers, size)),
    )


def iterate(
    algorithm: Any,
    tree: Tree | SampledGame,
    memory: Any,
    iterations: int,
    kernel: Any,
    power: Any,
    *settings: Any,
    guesses: str = "",
) -> Any:
    """So many iterations of a kernel, by all workers; returns the memory.

    Iteration t counts t**power times in the average; of two powers, the first is of the regrets.
    """
    if isinstance(memory, SampledCrew):

        def walk(members: list[Any], count: int) -> list[Any]:
            same = kernel, power, *settings
            return [iterate(algorithm, tree, member, count, *same) for member in members]

        memory.advance(iterations, walk, local_learner(algorithm))
        return memory
    for count, raised in powers.faded(memory, iterations, power):
        given = raised, local_learner(algorithm), *settings
        if isinstance(memory, CompiledMemory):
            sample_machine(memory, count, kernel, *given)
        elif isinstance(tree, SampledGame):
            sample_rules(tree, memory, count, kernel, *given)
        else:
            crew.walk(tree, memory, count, kernel, given, guesses)
    return memory
