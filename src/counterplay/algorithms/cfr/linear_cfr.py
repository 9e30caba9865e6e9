"""Linear CFR: iteration t has weight t, in the regrets and in the average."""

from __future__ import annotations

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import settings


@settings()
class LinearCFR(RegretMinimiser):
    """Linear CFR (Brown and Sandholm, 2019). At t = 1, 2, ..., for each player in turn:

        policy_sum = policy_sum + t * reach * policy
        regret     = (regret + instant_regret) * t / (t + 1)
        policy     = regret_matching(regret)

    Up to a common factor, which regret matching ignores, regret is the sum of t * instant_regret.
    """

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = engine.next_iterations(memory, iterations)
        factors = engine.discount_factors(arena, t, t / (t + 1.0), t / (t + 1.0))
        weights = engine.stack_columns(t, t)
        return engine.iterate(arena, memory, engine.REGRET_MATCHING, factors, weights)
