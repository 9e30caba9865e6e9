"""CFR+: regrets never fall below zero."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import NonNegativeInt, settings


@settings()
class CFRPlus(RegretMinimiser):
    """CFR+ (Tammelin, 2014). At t = 1, 2, ..., for each player in turn, at its infosets:

        policy_sum = policy_sum + max(t - delay, 0) * reach * policy
        regret     = max(regret + instant_regret, 0)
        policy     = regret_matching(regret)

    The linear average has the convergence guarantee; the last iterate is often accurate too.
    """

    delay: NonNegativeInt = 0  # first iterations left out of the linear average
    averages: ClassVar[tuple[str, ...]] = ("linear_average", "average")

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = engine.next_iterations(memory, iterations)
        factors = engine.discount_factors(arena, t, 1.0, 0.0)
        weights = engine.stack_columns(t, np.maximum(t - self.delay, 0.0), 1.0)
        return engine.iterate(arena, memory, engine.REGRET_MATCHING, factors, weights)
