"""Predictive CFR+: the next instant regret is expected to be like the last."""

from __future__ import annotations

from typing import ClassVar

from counterplay.arena import SequenceArena
from counterplay.settings import settings
from counterplay.tabular import powers, regret
from counterplay.tabular.regret import RegretMemory, RegretMinimiser


@settings()
class PCFRPlus(RegretMinimiser):
    """Predictive CFR+ (Farina, Kroer and Sandholm, 2021). At t = 1, 2, ..., in turn:

        policy_sum = policy_sum + t**gamma * reach * policy
        regret     = max(regret + instant_regret, 0)
        policy     = regret_matching(regret + instant_regret)

    The prediction, the last instant regret, enters the policy only. Much faster than CFR+ on
    many games, slower on poker.
    """

    gamma: float = 2.0
    predicts: ClassVar[bool] = True

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        for t, weights in powers.weighted(memory, iterations, self.gamma):
            factors = regret.discounts(arena, t, 1.0, 0.0, prediction=1.0)
            regret.iterate(arena, memory, regret.REGRET_MATCHING, factors, weights)
        return memory
