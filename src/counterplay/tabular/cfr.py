"""Vanilla counterfactual regret minimisation."""

from __future__ import annotations

from typing import ClassVar

from counterplay.arena import SequenceArena
from counterplay.settings import settings
from counterplay.tabular import regret
from counterplay.tabular.regret import RegretMemory, RegretMinimiser


@settings()
class CFR(RegretMinimiser):
    """CFR (Zinkevich, Johanson, Bowling and Piccione, 2007). At t = 1, 2, ..., at all infosets:

        policy_sum = policy_sum + reach * policy
        regret     = regret + instant_regret
        policy     = regret_matching(regret)

    The paper updates all players at once; in turn, the default here, converges faster. The plain
    average carries the guarantee; the linear one is usually better and is kept beside it.
    """

    alternating: bool = True  # each player already sees the earlier ones' new policy
    averages: ClassVar[tuple[str, ...]] = ("average", "linear_average")

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = regret.next_iterations(memory, iterations)
        factors, weights = regret.discounts(arena, t, 1.0, 1.0), regret.columns(t, 1.0, t)
        return regret.iterate(
            arena, memory, regret.REGRET_MATCHING, factors, weights, self.alternating
        )
