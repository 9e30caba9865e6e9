"""Predictive CFR+ with a hyperparameter schedule of its average."""

from __future__ import annotations

from typing import ClassVar

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.algorithms.cfr.hyperparameter_schedule import average_weights
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import NonNegative, PositiveInt, settings


@settings()
class HSPCFRPlus(RegretMinimiser):
    """HS-PCFR+ (Zhang, McAleer and Sandholm, 2024): `PCFRPlus` with gamma_t = gamma - 5 t/n.

    The average is that of `hyperparameter_schedule`; regrets and policies are those of `PCFRPlus`.
    The paper uses gamma = 30, "HS-PCFR+(30)", and 15.
    """

    horizon: PositiveInt = 1000  # planned number of iterations n
    gamma: NonNegative = 30.0  # exponent of the average at the start
    is_predictive: ClassVar[bool] = True

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = engine.next_iterations(memory, iterations)
        factors = engine.discount_factors(arena, t, 1.0, 0.0, prediction=1.0)
        weights = average_weights(t, self.horizon, self.gamma, 5.0)
        return engine.iterate(arena, memory, engine.REGRET_MATCHING, factors, weights)
