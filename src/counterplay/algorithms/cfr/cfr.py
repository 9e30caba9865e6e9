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

    The paper updates all players at once; in turn, the default here, converges faster. The plain
    average carries the guarantee; the linear one is usually better and is kept beside it.
    """

    alternating: bool = True  # each player already sees the earlier ones' new policy
    averages: ClassVar[tuple[str, ...]] = ("average", "linear_average")

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = engine.next_iterations(memory, iterations)
        factors, weights = (
            engine.discount_factors(arena, t, 1.0, 1.0),
            engine.stack_columns(t, 1.0, t),
        )
        return engine.iterate(
            arena, memory, engine.REGRET_MATCHING, factors, weights, self.alternating
        )
