"""What the CFR family shares: the memory, the local learners, and the iterations.

Every member is a schedule. At iteration t, for each player, with instant regrets r_t:

    policy_sum = policy_sum + w_t * reach * policy        (for each average that is kept)
    regret     = d_t(regret + r_t), where d_t multiplies positive regrets by p_t, negative by n_t
    policy     = regret_matching(regret + m_t * r_t)

CFR is p = n = w = 1, m = 0; the other files say what they choose. With Hedge as the local learner
nothing is discounted and policy = softmax(rate_t * regret).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from counterplay.arena import Floats, SequenceArena, has_vectors
from counterplay.kernels import sweeps
from counterplay.kernels.threads import even_parts, run_parts
from counterplay.policy import Policies, Policy, normalised_policy, uniform_policy
from counterplay.tabular import merging
from counterplay.tabular.schedules import columns as columns
from counterplay.tabular.schedules import discounts as discounts
from counterplay.tabular.schedules import next_iterations as next_iterations
from counterplay.tree import SequenceForm, forgets


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

    def fade(self, factor: float) -> None:
        """Multiply the sums of policies."""
        self.policy_sum *= factor


class RegretMinimiser:
    """What every member of the family makes of its memory; each says how the memory changes."""

    runs_on: ClassVar[tuple[str, ...]] = ("sequences", "vectors")
    needs: ClassVar[str] = ""
    averages: ClassVar[tuple[str, ...]] = ("average",)  # the columns of the weights, by name
    predicts: ClassVar[bool] = False  # whether m_t is ever other than zero

    def init(self, arena: Any, seed: int = 0) -> Any:
        if has_vectors(arena):
            return arena.new_memory(len(self.averages), self.predicts)
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
        makers = {name: partial(normalised_policy, arena, total, now) for name, total in sums}
        return Policies(makers | {"current": partial(Policy, arena, now)})


class LocalLearner(NamedTuple):
    """A local learner: how an infoset turns instant regrets into its next policy."""

    update: Callable[..., None]  # adds regrets and writes an unscaled policy
    settle: Callable[..., None]  # scales that policy and sets the reach, parents first
    alternate: Callable[..., None]  # whole iterations in one compiled call
    simultaneous: Callable[..., None]


REGRET_MATCHING = LocalLearner(
    sweeps.match,
    sweeps.forward_matching,
    sweeps.alternate_matching,
    sweeps.simultaneous_matching,
)
HEDGE = LocalLearner(
    sweeps.weigh,
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
    if isinstance(arena.form, SequenceForm) and arena.perfect_recall and arena.workers == 1:
        run = learner.alternate if alternating else learner.simultaneous
        arrays = (memory.reach, memory.cf_value, memory.regret, memory.policy, memory.policy_sum)
        run(arena.form, factors, weights, *arrays)
    else:
        for row, weight in zip(factors[0].tolist(), weights, strict=True):
            for player in range(arena.num_players):
                find_regrets(arena, memory, player, memory.reach)
                learn(arena, memory, learner, player, (*row, *factors[1:]), weight)
                if alternating:
                    settle(arena, memory, learner, player)
            if not alternating:
                for player in range(arena.num_players):
                    settle(arena, memory, learner, player)
    memory.iteration += len(weights)
    return memory


def find_regrets(arena: SequenceArena, memory: RegretMemory, player: int, reach: Floats) -> None:
    """Set `cf_value` to the player's instant regrets when the others play with `reach`."""
    form, policy, cf_value = arena.form, form_policy(arena, memory), memory.cf_value
    arena.gradient(player, reach, cf_value)
    for parts in reversed(arena.levels(player, arena.workers)):
        run_parts(lambda a, b: sweeps.backward_regret(form, a, b, policy, cf_value), parts)


def learn(
    arena: SequenceArena,
    memory: RegretMemory,
    learner: LocalLearner,
    player: int,
    rule: tuple[Any, ...],
    weight: Floats,
) -> None:
    """Add the policy to its sum and the instant regrets to the regrets."""
    instant, reach = memory.cf_value, memory.reach
    if forgets(arena):
        instant, reach = merging.added_up(arena, instant, reach)

    def update(start: int, end: int) -> None:
        sweeps.add_average(start, end, weight, reach, memory.policy_sum)
        learner.update(start, end, rule, instant, memory.regret, memory.policy)

    first, last = np.searchsorted(arena.infoset_player, [player, player + 1])
    start, end = int(arena.offset[first]), int(arena.offset[last])
    run_parts(update, even_parts(start, end, arena.workers))


def settle(arena: SequenceArena, memory: RegretMemory, learner: LocalLearner, player: int) -> None:
    """Scale the player's new policy and set its `reach`."""
    form, policy, reach = arena.form, memory.policy, memory.reach
    if forgets(arena):
        merging.settle(arena, player, learner.settle, policy, reach)
        return
    for parts in arena.levels(player, arena.workers):
        run_parts(lambda a, b: learner.settle(form, a, b, policy, reach), parts)


def form_policy(arena: SequenceArena, memory: RegretMemory) -> Floats:
    """The current policy along the sequence form."""
    return memory.policy[arena.merged] if forgets(arena) else memory.policy
