"""Vanilla counterfactual regret minimisation."""

from __future__ import annotations

from typing import ClassVar

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import settings


@settings()
class CFR(RegretMinimiser):
    """CFR (Zinkevich, Johanson, Bowling and Piccione, 2007). At t = 1, 2, ..., at all infosets:

        policy_sum = policy_sum + reach * policy
        regret     = regret + instant_regret
        policy     = regret_matching(regret)

    The paper updates all players simultaneously; updating them in turn, the default, converges
    faster. The uniform average has the convergence guarantee. The linear average is usually more
    accurate; both are returned.
    """

    alternating: bool = True  # update players in turn, each against the others' newest policy
    averages: ClassVar[tuple[str, ...]] = ("average", "linear_average")

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = engine.next_iterations(memory, iterations)
        factors = engine.discount_factors(arena, t, 1.0, 1.0)
        weights = engine.stack_columns(t, 1.0, t)
        learner = engine.REGRET_MATCHING
        return engine.iterate(arena, memory, learner, factors, weights, self.alternating)
