"""The shared parts of the CFR family: the memory, the local learners and the iteration.

Every algorithm of the family is a schedule. At iteration t, for each player, with instant regrets
r_t:

    policy_sum = policy_sum + w_t * reach * policy        (for each of K averages)
    regret     = d_t(regret + r_t), where d_t multiplies positive regrets by p_t, negative by n_t
    policy     = regret_matching(regret + m_t * r_t)

CFR is p = n = w = 1, m = 0; the file of every other algorithm gives its schedule. With Hedge as the
local learner nothing is discounted and policy = softmax(rate_t * regret).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from counterplay.algorithms.cfr import imperfect_recall
from counterplay.core.arena import (
    Floats,
    SequenceArena,
    SequenceForm,
    SweepForm,
    has_imperfect_recall,
    has_vectors,
)
from counterplay.core.policy import LazyPolicies, Policy, policy_from_weights, uniform_policy
from counterplay.core.solve import Memory
from counterplay.kernels.runtime.threads import run_in_threads, split_evenly
from counterplay.kernels.sequence_form import sweeps


def next_iterations(memory: Memory, count: int) -> Floats:
    """Return the numbers t [count] of the next iterations; the first iteration is t = 1."""
    return np.arange(memory.iteration + 1.0, memory.iteration + 1.0 + count)


def discount_factors(
    arena: SequenceArena,
    t: Floats,
    positive: Floats | float,
    negative: Floats | float,
    prediction: float = 0.0,
) -> tuple[Floats, Floats]:
    """Return the factors p_t, n_t and m_t of iterations t [T, 3], and the value tolerance [S]."""
    return stack_columns(t, positive, negative, prediction), arena.value_tolerance


def stack_columns(t: Floats, *values: Floats | float) -> Floats:
    """Return a table [T, V] of V values per iteration; a value is constant or an array [T]."""
    table = np.empty((t.size, len(values)))
    for column, value in enumerate(values):
        table[:, column] = value
    return table


@dataclass
class RegretMemory:
    """The memory of the CFR family: S sequences in the game, F in its sequence form."""

    iteration: int
    regret: Floats  # [S + 1]
    policy: Floats  # [S + 1] the current policy
    policy_sum: Floats  # [K, S + 1] weighted by reach, for K averages
    reach: Floats  # [F + 1] of the current policy
    cf_value: Floats  # [F + 1] scratch: the last instant regrets
    finished: ClassVar[bool] = False
    is_traced: ClassVar[bool] = False  # whether `record_update` has to be called

    def scale_averages(self, factor: float) -> None:
        """Multiply the sums of policies by a factor."""
        self.policy_sum *= factor

    def record_update(
        self,
        player: int,
        learner: LocalLearner,
        factors: tuple[float | Floats, ...],
        weight: Floats,
        alternating: bool,
    ) -> None:
        """Record the update of a player that follows; `cf_value` has its instant regrets.

        Only a traced memory records: see `trace`. The arguments are those of `iterate` and
        `update_regrets`.
        """


class RegretMinimiser:
    """Base class of the CFR family: makes the memory and reads policies from it.

    A vector arena (hold'em) has its own memory and iteration, so memories are `Any` here.
    """

    runs_on: ClassVar[tuple[str, ...]] = ("sequences", "vectors")
    required_extra: ClassVar[str] = ""
    averages: ClassVar[tuple[str, ...]] = ("average",)  # names of the columns of the weights
    is_predictive: ClassVar[bool] = False  # whether m_t differs from zero
    is_scale_free: ClassVar[bool] = True  # whether utilities times a constant change no policy

    def init(self, arena: Any, seed: int = 0) -> Any:
        """Return a memory with zero regrets and the uniform policy; the seed is not used."""
        if has_vectors(arena):
            return arena.new_memory(len(self.averages), self.is_predictive)
        return new_memory(arena, len(self.averages))

    def policies(self, arena: Any, memory: Any) -> Mapping[str, Any]:
        """Return the averages, the one with the guarantee first, and the current policy.

        Where all weights of an average are zero (excluded iterations, or underflow), it equals the
        current policy.
        """
        if has_vectors(arena):
            return arena.policies(memory, self.averages)
        return average_policies(arena, memory, self.averages)


def average_policies(
    arena: SequenceArena, memory: RegretMemory, names: tuple[str, ...]
) -> Mapping[str, Policy]:
    """Return the averages of a memory by name, and the current policy."""
    current = memory.policy[:-1].copy()  # the next step changes the memory in place
    sums = zip(names, memory.policy_sum[:, :-1].copy(), strict=True)
    factories = {name: partial(policy_from_weights, arena, total, current) for name, total in sums}
    return LazyPolicies(factories | {"current": partial(Policy, arena, current)})


class LocalLearner(NamedTuple):
    """The kernels of a local learner, which turns instant regrets into the next policy."""

    update: Callable[..., None]  # adds regrets and writes an unnormalised policy
    normalise: Callable[..., None]  # normalises the policy and sets the reach, parents first
    run_alternating: Callable[..., None]  # whole iterations in one compiled call
    run_simultaneous: Callable[..., None] | None = None  # None: the learner only alternates


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
    """Return a memory with zero regrets and the uniform policy."""
    size = int(arena.form.offset[-1]) + 1
    memory = RegretMemory(
        iteration=0,
        regret=np.zeros(arena.num_sequences + 1),
        policy=np.append(uniform_policy(arena).probabilities, 1.0),
        policy_sum=np.zeros((num_averages, arena.num_sequences + 1)),
        reach=np.ones(size),
        cf_value=np.zeros(size),
    )
    policy, form = form_policy(arena, memory), arena.form
    if isinstance(form, SequenceForm):
        _multiply_groups(sweep_form(arena), policy, memory.reach)
    else:
        sweeps.forward(form, 0, form.parent.size, policy, memory.reach)
    return memory


def _multiply_groups(form: SweepForm, policy: Floats, reach: Floats) -> None:
    """`sweeps.multiply_groups` without a kernel, which takes longer to compile for a first call.

    On arenas without levels a group can contain parents of its infosets: it is multiplied again
    until their reach does not change any more.
    """
    for first, last, size in form.group.tolist():
        start, parent = form.group_start[first:last], form.group_parent[first:last]
        above = np.full(start.size, np.nan)
        while (above != reach[parent]).any():
            above = reach[parent]
            for k in range(size):
                reach[start + k] = above * policy[start + k]


def iterate(
    arena: SequenceArena,
    memory: RegretMemory,
    learner: LocalLearner,
    factors: tuple[Floats, ...],
    weights: Floats,
    alternating: bool = True,
) -> RegretMemory:
    """Run T iterations in place and return the memory.

    Args:
        arena: the game.
        memory: the memory, changed in place.
        learner: the local learner.
        factors: a table of factors [T, .], one row per iteration, and further arguments of the
            learner's kernels.
        weights: weights w_t of the K averages [T, K].
        alternating: update the players in turn, each against the newest policy of the others;
            otherwise all players respond to the policies of the last iteration.
    """
    if has_vectors(arena):
        arena.iterate(memory, factors[0], weights, alternating)
        return memory
    is_compiled = isinstance(arena.form, SequenceForm) and arena.has_perfect_recall
    if is_compiled and arena.max_threads == 1 and not memory.is_traced:
        run = learner.run_alternating if alternating else learner.run_simultaneous
        assert run is not None
        arrays = (memory.reach, memory.cf_value, memory.regret, memory.policy, memory.policy_sum)
        run(sweep_form(arena), factors, weights, *arrays)
    else:
        for row, weight in zip(factors[0].tolist(), weights, strict=True):
            for player in range(arena.num_players):
                compute_instant_regrets(arena, memory, player, memory.reach)
                factors_t = (*row, *factors[1:])
                memory.record_update(player, learner, factors_t, weight, alternating)
                update_regrets(arena, memory, learner, player, factors_t, weight)
                if alternating:
                    normalise_policy(arena, memory, learner, player)
            if not alternating:
                for player in range(arena.num_players):
                    normalise_policy(arena, memory, learner, player)
    memory.iteration += len(weights)
    return memory


def sweep_form(arena: SequenceArena) -> SweepForm:
    """Return the form that sweeps read, which arenas have whose `form` is a `SequenceForm`."""
    form: SweepForm = cast(Any, arena).sweep_form
    return form


def compute_instant_regrets(
    arena: SequenceArena, memory: RegretMemory, player: int, reach: Floats
) -> None:
    """Set `cf_value` to a player's instant regrets against the others' `reach` [F + 1]."""
    form, policy, cf_value = arena.form, form_policy(arena, memory), memory.cf_value
    arena.gradient(player, reach, cf_value)
    levels = arena.levels(player, arena.max_threads)
    if not isinstance(form, SequenceForm):
        for parts in reversed(levels):
            run_in_threads(lambda a, b: sweeps.backward_regret(form, a, b, policy, cf_value), parts)
        return
    grouped = sweep_form(arena)
    for parts in reversed(levels):
        ranges = np.searchsorted(grouped.group[:, 0], parts).tolist()
        run_in_threads(lambda a, b: sweeps.subtract_values(grouped, a, b, policy, cf_value), ranges)


def update_regrets(
    arena: SequenceArena,
    memory: RegretMemory,
    learner: LocalLearner,
    player: int,
    factors: tuple[float | Floats, ...],
    weight: Floats,
) -> None:
    """Add a player's policy to its sums, with `weight` [K], and its instant regrets to regrets."""
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
    """Normalise a player's new policy and set its `reach`."""
    form, policy, reach = arena.form, memory.policy, memory.reach
    if has_imperfect_recall(arena):
        imperfect_recall.normalise_merged_policy(arena, player, learner.normalise, policy, reach)
        return
    for parts in arena.levels(player, arena.max_threads):
        run_in_threads(lambda a, b: learner.normalise(form, a, b, policy, reach), parts)


def form_policy(arena: SequenceArena, memory: RegretMemory) -> Floats:
    """Return the current policy by sequence of the sequence form [F + 1]."""
    return memory.policy[arena.game_sequence] if has_imperfect_recall(arena) else memory.policy
