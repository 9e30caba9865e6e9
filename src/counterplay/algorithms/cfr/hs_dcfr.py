"""DCFR with hyperparameter schedules: discounts that change with the progress of a run."""

from __future__ import annotations

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.algorithms.cfr.hyperparameter_schedule import average_weights, progress
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import NonNegative, PositiveInt, settings


@settings()
class HSDCFR(RegretMinimiser):
    """HS-DCFR (Zhang, McAleer and Sandholm, 2024). DCFR with, at iteration t of n:

        alpha_t = 1 + 3 t/n      beta_t = -1 - 2 t/n      gamma_t = gamma - 5 t/n

    in the notation of `DCFR`, with the average of `hyperparameter_schedule`. The paper uses gamma
    = 30, "HS-DCFR(30)", and 15. n must be chosen beforehand; after iteration n the exponents stay.
    """

    horizon: PositiveInt = 1000  # planned number of iterations n
    gamma: NonNegative = 30.0  # exponent of the average at the start

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = engine.next_iterations(memory, iterations)
        done = progress(t, self.horizon)
        positive = 1.0 / (1.0 + t ** -(1.0 + 3.0 * done))
        negative = 1.0 / (1.0 + t ** (1.0 + 2.0 * done))
        factors = engine.discount_factors(arena, t, positive, negative)
        weights = average_weights(t, self.horizon, self.gamma, 5.0)
        return engine.iterate(arena, memory, engine.REGRET_MATCHING, factors, weights)
