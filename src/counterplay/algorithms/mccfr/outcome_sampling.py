"""Outcome sampling: one episode per player and iteration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from counterplay.algorithms.cfr import scaled_weights
from counterplay.algorithms.mccfr.engine import (
    MonteCarloCFR,
    NumWorkers,
    SamplingArena,
    SamplingMemory,
    Traversal,
)
from counterplay.algorithms.mccfr.memory import TreeSamplingMemory
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.policy import Policy, policy_from_weights
from counterplay.core.settings import NonNegative, PositiveProbability, settings
from counterplay.kernels.sampling import episodes
from counterplay.kernels.sequence_form import sweeps


@settings()
class OutcomeSampling(MonteCarloCFR):
    """Outcome-sampling MCCFR (Lanctot, Waugh, Zinkevich and Bowling, 2009). At t = 1, 2, ...:

        one episode for each player in turn, which explores with epsilon of uniform play
        v(a)       = u / q(a) for the action taken, with probability q(a); 0 for the others
        regret     = regret + (v(a) - sum over b of policy(b) * v(b)) / Q     at its own nodes
        policy     = regret_matching(regret), after the episode

    with u the value of the node below, which is backed up as sum over b of policy(b) * v(b), and Q
    the player's own probability of sampling the node; other probabilities cancel. The average is

        policy_sum = policy_sum + t**gamma * own reach / sampling reach * policy  at its own nodes
        policy_sum = policy_sum + (weight since last counted) * own reach * policy    at the others'

    The first, stochastically weighted, is unbiased for any number of players. The second, with
    `lazy_averaging`, uses the current policy of an infoset for all iterations since its last visit:
    less variance, some bias. The weight since the last visit is added when a policy is read.
    Published pseudocode often writes a for the sampled action, and leaves v(a) undefined.
    """

    epsilon: PositiveProbability = 0.6  # weight of uniform play in the traverser's sampling
    lazy_averaging: bool = False  # average by the last iteration counted instead of by weights
    gamma: NonNegative = 0.0  # iteration t has weight t**gamma in the average
    num_workers: NumWorkers = 1  # episodes per player and iteration, in parallel

    def traversal(self) -> Traversal:
        arguments = (float(self.epsilon),)
        if self.lazy_averaging:  # its weights are sums over iterations, of the order t**(gamma + 1)
            kernel = episodes.lazy_outcome_sampling
            return Traversal(kernel, self.gamma + 1.0, arguments, lazy_averaging=True)
        return Traversal(episodes.outcome_sampling, float(self.gamma), arguments)

    def policies(self, arena: SamplingArena, memory: SamplingMemory) -> Mapping[str, Any]:
        """Return the average, with the lazy average completed, and the first worker's policy.

        The lazy average is completed where the reach of an infoset is known: on a tree, with
        perfect recall.
        """
        policies = super().policies(arena, memory)
        if self.lazy_averaging and isinstance(arena, TreeArena) and arena.has_perfect_recall:
            assert isinstance(memory, TreeSamplingMemory)
            return {**policies, "average": _complete_lazy_average(arena, memory, self.gamma)}
        return policies


def _complete_lazy_average(tree: TreeArena, memory: TreeSamplingMemory, gamma: float) -> Policy:
    """Return the lazy average, with the weight of all infosets since they were last counted."""
    total = memory.policy_sum.sum(axis=0)
    num_bits = scaled_weights.scale_bits(memory.iteration, gamma + 1.0)
    t = np.array(memory.iteration)
    for policy, last_averaged in zip(memory.policy, memory.last_averaged, strict=True):
        reach = np.ones(tree.num_sequences + 1)
        sweeps.forward(tree.form, 0, tree.form.parent.size, policy, reach)
        last = last_averaged[tree.offset[:-1]]
        missing = scaled_weights.iteration_weight(
            t, gamma + 1.0, num_bits
        ) - scaled_weights.iteration_weight(last, gamma + 1.0, num_bits)
        total += np.repeat(missing, tree.num_actions) / (gamma + 1.0) * reach[:-1]
    return policy_from_weights(tree, total)
