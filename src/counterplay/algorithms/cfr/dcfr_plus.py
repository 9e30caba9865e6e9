"""Discounted CFR+: discounted regrets that never fall below zero."""

from __future__ import annotations

from counterplay.algorithms.cfr import engine, scaled_weights
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import settings


@settings()
class DCFRPlus(RegretMinimiser):
    """DCFR+ (Xu, Li, Liu, Fu, Fu, Xing and Cheng, 2024). At t = 1, 2, ..., in turn:

        policy_sum = policy_sum + t**gamma * reach * policy
        regret     = max(regret + instant_regret, 0) * t**alpha / (t**alpha + 1)
        policy     = regret_matching(regret)

    This is `PDCFRPlus` without the prediction, and `DCFR` with beta = -inf. The paper applies the
    discount of iteration t at the start of iteration t + 1; the regrets are the same.
    """

    alpha: float = 1.5
    gamma: float = 4.0

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        for t, weights in scaled_weights.iter_weights(memory, iterations, self.gamma):
            positive = 1.0 / (1.0 + t**-self.alpha)
            factors = engine.discount_factors(arena, t, positive, 0.0)
            engine.iterate(arena, memory, engine.REGRET_MATCHING, factors, weights)
        return memory
