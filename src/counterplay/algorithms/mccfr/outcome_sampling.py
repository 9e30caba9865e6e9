"""Outcome sampling: one episode per player and iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from counterplay.algorithms.cfr import scaled_weights
from counterplay.algorithms.mccfr import engine
from counterplay.algorithms.mccfr.engine import MonteCarloCFR
from counterplay.algorithms.mccfr.memory import TreeSamplingMemory
from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.policy import Policy, policy_from_weights
from counterplay.core.settings import settings
from counterplay.kernels.sampling import episodes
from counterplay.kernels.sequence_form import sweeps


@settings()
class OutcomeSampling(MonteCarloCFR):
    """Outcome-sampling MCCFR (Lanctot, Waugh, Zinkevich and Bowling, 2009). At t = 1, 2, ...:

        one episode for each player in turn, which explores with epsilon of uniform play
        v(a)       = u / q(a) for the action taken, with probability q(a); 0 for the others
        regret     = regret + (v(a) - sum over b of policy(b) * v(b)) / Q     at its own nodes
        policy     = regret_matching(regret), after the walk

    with u the value of the rest, taken back as sum over b of policy(b) * v(b), and Q the player's
    own probability of sampling the node; the rest cancels. The average, either

        policy_sum = policy_sum + t**gamma * own reach / sampling reach * policy  at its own nodes
        policy_sum = policy_sum + (weight since last counted) * own reach * policy    at the others'

    The first, stochastically weighted, is right on average for any number of players. The second,
    `lazy`, lets the policy an infoset has now stand for all iterations it was not met: less noise,
    some bias. What an infoset still lacks is added when the policy is asked for. Listings
    of the recursion often write a where the sampled action is meant, and leave v(a) open.
    """

    epsilon: float = 0.6  # uniform part of what the traverser samples
    lazy_averaging: bool = False  # average by the last iteration counted instead of by weights
    gamma: float = 0.0  # iteration t counts t**gamma times in the average
    num_workers: int = 1  # walks per player and iteration, each on a core of its own

    def __post_init__(self) -> None:
        engine.check_parameters("outcome_sampling", self)

    def init(self, arena: TreeArena | RulesArena, seed: int = 0) -> Any:
        return engine.new_memory(arena, seed, self.num_workers, lazy_averaging=self.lazy_averaging)

    def step(self, arena: TreeArena | RulesArena, memory: Any, iterations: int = 1) -> Any:
        kernel = (
            episodes.lazy_outcome_sampling if self.lazy_averaging else episodes.outcome_sampling
        )
        power = (
            self.gamma + 1.0 if self.lazy_averaging else float(self.gamma)
        )  # lazily, weights are summed
        epsilon = float(self.epsilon)
        return engine.iterate(self, arena, memory, iterations, kernel, power, epsilon)

    def policies(self, arena: TreeArena | RulesArena, memory: Any) -> Mapping[str, Any]:
        found = super().policies(arena, memory)
        # on rules nobody knows the reach of an infoset, and players who forget have several
        if self.lazy_averaging and isinstance(arena, TreeArena) and arena.has_perfect_recall:
            return {**found, "average": _complete_lazy_average(arena, memory, self.gamma)}
        return found


def _complete_lazy_average(tree: TreeArena, memory: TreeSamplingMemory, gamma: float) -> Policy:
    """The lazy average with what every infoset still lacks."""
    total = memory.policy_sum.sum(axis=0)
    taken = scaled_weights.scale_bits(memory.iteration, gamma + 1.0)
    first, counts = tree.offset[:-1], tree.num_actions
    for policy, visits in zip(memory.policy, memory.last_averaged, strict=True):
        reach = np.ones(tree.num_sequences + 1)
        sweeps.forward(tree.form, 0, tree.form.parent.size, policy, reach)
        counted = scaled_weights.iteration_weight(visits[first], gamma + 1.0, taken)
        lacking = (
            scaled_weights.iteration_weight(np.array(memory.iteration), gamma + 1.0, taken)
            - counted
        )
        total += np.repeat(lacking, counts) / (gamma + 1.0) * reach[:-1]
    return policy_from_weights(tree, total)
