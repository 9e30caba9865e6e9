"""The numbers of a schedule of the CFR family, one row per iteration: see `regret`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from counterplay.algorithms.cfr import imperfect_recall
from counterplay.core.arena import (
    Floats,
    SequenceArena,
    SequenceForm,
    has_imperfect_recall,
    has_vectors,
)
from counterplay.core.policy import LazyPolicies, Policy, policy_from_weights, uniform_policy
from counterplay.core.solve import Memory
from counterplay.kernels.runtime.threads import run_in_threads, split_evenly
from counterplay.kernels.sequence_form import sweeps


def next_iterations(memory: Memory, count: int) -> Floats:
    """The iterations t = 1, 2, ... that the next `count` will be."""
    return np.arange(memory.iteration + 1.0, memory.iteration + 1.0 + count)


def discount_factors(
    arena: Any,
    t: Floats,
    positive: Floats | float,
    negative: Floats | float,
    prediction: float = 0.0,
) -> tuple[Floats, ...]:
    """The factors p_t, n_t and m_t of iterations t [T, 3], and what counts as zero [S]."""
    return stack_columns(t, positive, negative, prediction), arena.value_tolerance


def stack_columns(t: Floats, *values: Floats | float) -> Floats:
    """One row per iteration, one column per value; a value may depend on the iteration or not."""
    table = np.empty((t.size, len(values)))
    for column, value in enumerate(values):
        table[:, column] = value
    return table


@dataclass
class RegretMemory:
    """What the CFR family keeps. S sequences; F of them in the tree's sequence form."""

    iteration: int
    regret: Floats  # [S + 1]
    policy: Floats  # [S + 1] the current one
    policy_sum: Floats  # [K, S + 1] weighted by own reach; K averages are kept
    reach: Floats  # [F + 1] of the current policy
    cf_value: Floats  # [F + 1] scratch: the last instant regrets
    finished: ClassVar[bool] = False

    def scale_averages(self, factor: float) -> None:
        """Multiply the sums of policies."""
        self.policy_sum *= factor


class RegretMinimiser:
    """What every member of the family makes of its memory; each says how the memory changes."""

    runs_on: ClassVar[tuple[str, ...]] = ("sequences", "vectors")
    required_extra: ClassVar[str] = ""
    averages: ClassVar[tuple[str, ...]] = ("average",)  # the columns of the weights, by name
    is_predictive: ClassVar[bool] = False  # whether m_t is ever other than zero

    def init(self, arena: Any, seed: int = 0) -> Any:
        if has_vectors(arena):
            return arena.new_memory(len(self.averages), self.is_predictive)
        return new_memory(arena, len(self.averages))

    def policies(self, arena: Any, memory: Any) -> Any:
        """The averages, the one with the guarantee first, and the last iterate.

        That also stands in for an average where nothing has weight: its iterations were left out,
        or their weights are lost to underflow.
        """
        if has_vectors(arena):
            return arena.policies(memory, self.averages)
        now = memory.policy[:-1].copy()  # the memory moves on
        sums = zip(self.averages, memory.policy_sum[:, :-1].copy(), strict=True)
        makers = {name: partial(policy_from_weights, arena, total, now) for name, total in sums}
        return LazyPolicies(makers | {"current": partial(Policy, arena, now)})


class LocalLearner(NamedTuple):
    """A local learner: how an infoset turns instant regrets into its next policy."""

    update: Callable[..., None]  # adds regrets and writes an unscaled policy
    normalise: Callable[..., None]  # scales that policy and sets the reach, parents first
    run_alternating: Callable[..., None]  # whole iterations in one compiled call
    run_simultaneous: Callable[..., None]


REGRET_MATCHING = LocalLearner(
    sweeps.update_regret_matching,
    sweeps.forward_matching,
    sweeps.alternate_matching,
    sweeps.simultaneous_matching,
)
HEDGE = LocalLearner(
    sweeps.update_hedge,
    sweeps.forward_softmax,
    sweeps.alternate_hedge,
    sweeps.simultaneous_hedge,
)


def new_memory(arena: SequenceArena, num_averages: int = 1) -> RegretMemory:
    """No regrets, the uniform policy."""
    size = int(arena.form.offset[-1]) + 1
    memory = RegretMemory(
        iteration=0,
        regret=np.zeros(arena.num_sequences + 1),
        policy=np.append(uniform_policy(arena).probabilities, 1.0),
        policy_sum=np.zeros((num_averages, arena.num_sequences + 1)),
        reach=np.ones(size),
        cf_value=np.zeros(size),
    )
    sweeps.forward(arena.form, 0, arena.form.parent.size, form_policy(arena, memory), memory.reach)
    return memory


def iterate(
    arena: SequenceArena,
    memory: RegretMemory,
    learner: LocalLearner,
    factors: tuple[Floats, ...],
    weights: Floats,
    alternating: bool = True,
) -> RegretMemory:
    """One iteration per row of `factors[0]` [T, .], with the weights [T, K] of the K averages.

    Alternating, each player sees the policy that the earlier ones have just chosen; otherwise all
    players see each other's policy of before.
    """
    if has_vectors(arena):
        arena.iterate(memory, factors[0], weights, alternating)
        return memory
    if isinstance(arena.form, SequenceForm) and arena.has_perfect_recall and arena.max_threads == 1:
        run = learner.run_alternating if alternating else learner.run_simultaneous
        arrays = (memory.reach, memory.cf_value, memory.regret, memory.policy, memory.policy_sum)
        run(arena.form, factors, weights, *arrays)
    else:
        for row, weight in zip(factors[0].tolist(), weights, strict=True):
            for player in range(arena.num_players):
                compute_instant_regrets(arena, memory, player, memory.reach)
                update_regrets(arena, memory, learner, player, (*row, *factors[1:]), weight)
                if alternating:
                    normalise_policy(arena, memory, learner, player)
            if not alternating:
                for player in range(arena.num_players):
                    normalise_policy(arena, memory, learner, player)
    memory.iteration += len(weights)
    return memory


def compute_instant_regrets(
    arena: SequenceArena, memory: RegretMemory, player: int, reach: Floats
) -> None:
    """Set `cf_value` to the player's instant regrets when the others play with `reach`."""
    form, policy, cf_value = arena.form, form_policy(arena, memory), memory.cf_value
    arena.gradient(player, reach, cf_value)
    for parts in reversed(arena.levels(player, arena.max_threads)):
        run_in_threads(lambda a, b: sweeps.backward_regret(form, a, b, policy, cf_value), parts)


def update_regrets(
    arena: SequenceArena,
    memory: RegretMemory,
    learner: LocalLearner,
    player: int,
    factors: tuple[Any, ...],
    weight: Floats,
) -> None:
    """Add the policy to its sum and the instant regrets to the regrets."""
    instant, reach = memory.cf_value, memory.reach
    if has_imperfect_recall(arena):
        instant, reach = imperfect_recall.merge_infosets(arena, instant, reach)

    def update(start: int, end: int) -> None:
        sweeps.add_average(start, end, weight, reach, memory.policy_sum)
        learner.update(start, end, factors, instant, memory.regret, memory.policy)

    first, last = np.searchsorted(arena.infoset_player, [player, player + 1])
    start, end = int(arena.offset[first]), int(arena.offset[last])
    run_in_threads(update, split_evenly(start, end, arena.max_threads))


def normalise_policy(
    arena: SequenceArena, memory: RegretMemory, learner: LocalLearner, player: int
) -> None:
    """Scale the player's new policy and set its `reach`."""
    form, policy, reach = arena.form, memory.policy, memory.reach
    if has_imperfect_recall(arena):
        imperfect_recall.normalise_merged_policy(arena, player, learner.normalise, policy, reach)
        return
    for parts in arena.levels(player, arena.max_threads):
        run_in_threads(lambda a, b: learner.normalise(form, a, b, policy, reach), parts)


def form_policy(arena: SequenceArena, memory: RegretMemory) -> Floats:
    """The current policy along the sequence form."""
    return memory.policy[arena.game_sequence] if has_imperfect_recall(arena) else memory.policy
