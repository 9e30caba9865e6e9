"""Predictive CFR, also called optimistic CFR: regret matching that counts the last regret twice."""

from __future__ import annotations

from typing import ClassVar

from counterplay.algorithms.cfr import engine, scaled_weights
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import settings


@settings()
class PCFR(RegretMinimiser):
    """Predictive CFR (Farina, Kroer and Sandholm, 2021). At t = 1, 2, ..., in turn:

        policy_sum = policy_sum + t**gamma * reach * policy
        regret     = regret + instant_regret
        policy     = regret_matching(regret + instant_regret)

    This is `PCFRPlus` with regrets that may become negative, "optimistic" regret matching.
    """

    gamma: float = 2.0
    is_predictive: ClassVar[bool] = True

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        for t, weights in scaled_weights.iter_weights(memory, iterations, self.gamma):
            factors = engine.discount_factors(arena, t, 1.0, 1.0, prediction=1.0)
            engine.iterate(arena, memory, engine.REGRET_MATCHING, factors, weights)
        return memory
