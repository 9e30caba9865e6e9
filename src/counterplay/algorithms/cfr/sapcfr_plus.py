"""Simple asymmetric predictive CFR+: the prediction counts one third."""

from __future__ import annotations

from typing import ClassVar

from counterplay.algorithms.cfr import engine, scaled_weights
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import NonNegative, settings


@settings()
class SAPCFRPlus(RegretMinimiser):
    """SAPCFR+ (Meng, Yang, Zhang, Ge and Gao, 2026). At t = 1, 2, ..., in turn:

        policy_sum = policy_sum + t**gamma * reach * policy
        regret     = max(regret + instant_regret, 0)
        policy     = regret_matching(regret + instant_regret / (1 + alpha))

    alpha = 2 minimises a bound of the regret if predictions are as bad as possible. alpha = 0 is
    PCFR+, and a large alpha approaches CFR+.
    """

    alpha: NonNegative = 2.0
    gamma: float = 2.0
    is_predictive: ClassVar[bool] = True

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        prediction = 1.0 / (1.0 + self.alpha)
        for t, weights in scaled_weights.iter_weights(memory, iterations, self.gamma):
            factors = engine.discount_factors(arena, t, 1.0, 0.0, prediction)
            engine.iterate(arena, memory, engine.REGRET_MATCHING, factors, weights)
        return memory
