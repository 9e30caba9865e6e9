"""What the Monte Carlo CFR family shares: the memory, workers, averages and local learners.

Every member walks the tree once per player and iteration and sees only part of it. On a tree the
walks are compiled, and so they are on compiled rules; on others the same source is plain Python.

Reproducible: the draws of a walk depend on the seed, the worker, the iteration and the player, and
on nothing else. Same seed and same number of workers: same bits, however the run is cut into steps.

Workers: in one iteration each of W workers does one walk per player, on tables of its own. Every
`ROUND` iterations all go on with the mean of their regrets, R = R_old + mean of (R_w - R_old), so
that an iteration counts once however many walks estimate it. (With the sum, workers who have all
found the same correction would make it W times.) Averages of policies are added up. Guesses at
values (baselines) stay with their worker.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from counterplay.errors import ConfigError
from counterplay.kernels import draws
from counterplay.kernels.bundles import Arena, Scratch, Table
from counterplay.kernels.threads import run_parts
from counterplay.policy import Policy, normalised_policy, uniform_policy
from counterplay.sampled import SampledGame, SampledPolicy
from counterplay.tabular import powers, ranges
from counterplay.tabular.compiled_memory import CompiledMemory
from counterplay.tabular.on_machines import compiled_memory, sample_machine
from counterplay.tabular.on_rules import sample_rules
from counterplay.tabular.sample_memory import SampleMemory as SampleMemory
from counterplay.tabular.sampled_memory import SampledMemory
from counterplay.tree import Ints, Tree
from counterplay.tree.replaying import augmented
from counterplay.tree.walking import chance_policy, rows

ROUND = 10_000  # iterations between two merges
DECAY = 0.5  # usual step of guesses that are decaying averages


class MonteCarlo:
    """What every member of the family makes of its memory; each says how the memory changes."""

    runs_on: ClassVar[tuple[str, ...]] = ("tree", "rules")
    needs: ClassVar[str] = ""

    def policies(self, arena: Tree | SampledGame, memory: Any) -> dict[str, Any]:
        """The average of all iterations, and the last iterate, the first worker's."""
        if isinstance(arena, SampledGame):
            size = memory.size.num_entries
            sums = {"average": memory.policy_sum[:size], "current": memory.policy[:size]}
            return {name: SampledPolicy.of(arena, memory, total) for name, total in sums.items()}
        return {
            "average": normalised_policy(arena, memory.policy_sum.sum(axis=0)),
            "current": Policy(arena, memory.policy[0, : arena.num_sequences]),
        }


def check(name: str, algorithm: Any) -> None:
    """Refuse hyper-parameters outside their ranges, and those that exclude each other."""
    ranges.check(name, algorithm)
    if getattr(algorithm, "plus", False) and algorithm.eta:
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
            raise ConfigError(f"workers is {workers}, must be 1 on a game that is not unrolled")
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
    for count, raised in powers.faded(memory, iterations, power):
        given = raised, local_learner(algorithm), *settings
        if isinstance(memory, CompiledMemory):
            sample_machine(memory, count, kernel, *given)
        elif isinstance(tree, SampledGame):
            sample_rules(tree, memory, count, kernel, *given)
        else:
            _walk(tree, memory, count, kernel, given, guesses)
    return memory


def _walk(tree: Tree, memory: Any, iterations: int, kernel: Any, given: Any, guesses: str) -> None:
    workers = memory.seed.size
    arena = Arena(rows(tree), tree.utility, _slots(tree, guesses), tree.num_players)
    rooms = [_scratch(tree) for _ in range(workers)]
    tables = [_table(memory, w) for w in range(workers)]
    end = memory.iteration + iterations
    while memory.iteration < end:
        begin, last = memory.iteration + 1, end
        if workers > 1:  # no further than to the next merge
            last = min(end, memory.iteration + ROUND - memory.iteration % ROUND)

        def work(w: int, _: int, begin: int = begin, last: int = last) -> None:
            own = arena, tables[w], rooms[w]
            kernel(begin, last + 1, memory.seed[w], *given, *own)

        run_parts(work, [(w, w + 1) for w in range(workers)])
        memory.iteration = last
        if workers > 1 and memory.iteration % ROUND == 0:
            _merge(tree, memory, given[1])
    memory.touched += [room.tally[0] for room in rooms]


def _merge(tree: Tree, memory: SampleMemory, learner: tuple[float, float]) -> None:
    """Give all workers the mean of their regrets, and the policy that follows from it."""
    mean = memory.regret.mean(axis=0)
    draws.learn_all(learner, tree.offset, memory.largest.max(axis=0), mean, memory.policy[0])
    memory.regret[:] = mean
    memory.policy[1:] = memory.policy[0]


def _slots(tree: Tree, guesses: str) -> Ints:
    if guesses == "augmented":
        return augmented(tree)
    size = tree.num_nodes if guesses else 0
    slots = np.arange(size * tree.num_players, dtype=np.int32).reshape(size, tree.num_players)
    slots.flags.writeable = False
    return slots


def _table(memory: SampleMemory, w: int) -> Table:
    return Table(
        memory.regret[w],
        memory.policy[w],
        memory.policy_sum[w],
        memory.visits[w],
        memory.baseline[w],
        memory.largest[w],
    )


def _scratch(tree: Tree) -> Scratch:
    """Room for one worker; no array so short that two workers would write to one cache line."""
    depth = max(tree.level.size, 16)
    integers = [np.zeros(depth, np.int64) for _ in range(2)]
    floats = [np.zeros(depth) for _ in range(4)]
    met = np.empty(tree.num_nodes, np.int64)
    return Scratch(np.zeros(16, np.uint64), np.zeros(16, np.int64), met, *integers, *floats)
