"""Linear CFR: iteration t counts t times, in regrets and average."""

from __future__ import annotations

from counterplay.arena import SequenceArena
from counterplay.settings import settings
from counterplay.tabular import regret
from counterplay.tabular.regret import RegretMemory, RegretMinimiser


@settings()
class LinearCFR(RegretMinimiser):
    """Linear CFR (Brown and Sandholm, 2019). At t = 1, 2, ..., for each player in turn:

        policy_sum = policy_sum + t * reach * policy
        regret     = (regret + instant_regret) * t / (t + 1)
        policy     = regret_matching(regret)

    Up to a common factor, which regret matching ignores, that is the sum of t * instant_regret.
    """

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = regret.next_iterations(memory, iterations)
        factors = regret.discounts(arena, t, t / (t + 1.0), t / (t + 1.0))
        weights = regret.columns(t, t)
        return regret.iterate(arena, memory, regret.REGRET_MATCHING, factors, weights)
