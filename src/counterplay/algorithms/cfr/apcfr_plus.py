"""Asymmetric predictive CFR+: predictions count less where they have been wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterplay.algorithms.cfr import engine, scaled_weights
from counterplay.algorithms.cfr.engine import LocalLearner, RegretMemory, RegretMinimiser
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.settings import NonNegative, settings
from counterplay.kernels.sequence_form import predictive


@dataclass
class APCFRPlusMemory(RegretMemory):
    """The memory of CFR, and the errors of predictions."""

    last_instant_regret: Floats  # [S + 1]
    squared_errors: Floats  # [I + 1] sums of squared changes of the instant regret
    squared_changes: Floats  # [I + 1] sums of squared changes of the regret


@settings()
class APCFRPlus(RegretMinimiser):
    """APCFR+ (Meng, Yang, Zhang, Ge and Gao, 2026). At t = 1, 2, ..., in turn, at infoset I:

        policy_sum = policy_sum + t**gamma * reach * policy
        regret     = max(regret + instant_regret, 0)
        alpha      = min(sqrt(sum |r_t - r_(t-1)|**2 / sum |R_t - R_(t-1)|**2), alpha_max)
        policy     = regret_matching(regret + instant_regret / (1 + alpha))

    with r_t the instant regrets and R_t the regrets of I at iteration t; the sums are over all
    iterations so far, and the norms Euclidean. Where regrets never changed, alpha = alpha_max.
    """

    alpha_max: NonNegative = 5.0
    gamma: float = 2.0
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)

    def init(self, arena: SequenceArena, seed: int = 0) -> APCFRPlusMemory:
        """Return a memory with zero regrets and the uniform policy; the seed is not used."""
        memory = engine.new_memory(arena)
        return APCFRPlusMemory(
            **vars(memory),
            last_instant_regret=np.zeros_like(memory.regret),
            squared_errors=np.zeros(arena.num_infosets + 1),
            squared_changes=np.zeros(arena.num_infosets + 1),
        )

    def step(
        self, arena: SequenceArena, memory: APCFRPlusMemory, iterations: int = 1
    ) -> APCFRPlusMemory:
        state = (
            arena.value_tolerance,
            np.array([self.alpha_max]),
            memory.last_instant_regret,
            np.empty_like(memory.regret),
            memory.squared_errors,
            memory.squared_changes,
            np.empty_like(memory.squared_errors),
        )
        learner = LocalLearner(
            predictive.update_asymmetric,
            lambda form, first, last, policy, reach: predictive.forward_asymmetric(
                form, first, last, state, memory.regret, policy, reach
            ),
            predictive.alternate_asymmetric,
        )
        for t, weights in scaled_weights.iter_weights(memory, iterations, self.gamma):
            engine.iterate(arena, memory, learner, (engine.stack_columns(t), *state), weights)
        return memory
