"""Discounted CFR: old regrets fade, negative ones faster."""

from __future__ import annotations

import numpy as np

from counterplay.algorithms.cfr import engine, scaled_weights
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.settings import settings
from counterplay.errors import ConfigError


@settings()
class DCFR(RegretMinimiser):
    """Discounted CFR (Brown and Sandholm, 2019). At t = 1, 2, ..., for each player in turn:

        policy_sum = policy_sum + t**gamma * reach * policy
        regret     = regret + instant_regret, then times t**alpha / (t**alpha + 1) where positive
                     and times t**beta / (t**beta + 1) where negative
        policy     = regret_matching(regret)

    alpha = beta = gamma = 1 is linear CFR; (inf, -inf, 2) is CFR+ with quadratic averaging.

    With `restart` b > 1 the average begins anew after iterations 1, b, b**2, ..., and weights are
    (t - b**k)**gamma since the last of these: what was played early is forgotten. gamma = 3 and
    restart = 4 is what the postflop solver of Inoue (2022) does, there without own reach.
    """

    alpha: float = 1.5
    beta: float = 0.0
    gamma: float = 2.0
    restart_base: int = 0  # at powers of this number; 0 for never

    def __post_init__(self) -> None:
        if self.restart_base < 0 or self.restart_base == 1:
            raise ConfigError(f"dcfr: restart_base is {self.restart_base}, must be 0 or at least 2")

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        weighted = (
            scaled_weights.iter_restarting_weights
            if self.restart_base
            else scaled_weights.iter_weights
        )
        for t, weights in weighted(memory, iterations, self.gamma, self.restart_base):
            # x / (x + 1) = 1 / (1 + 1/x), which also holds in the limits 0 and infinity
            positive = 1.0 / (1.0 + _power(t, -self.alpha))
            negative = 1.0 / (1.0 + _power(t, -self.beta))
            factors = engine.discount_factors(arena, t, positive, negative)
            engine.iterate(arena, memory, engine.REGRET_MATCHING, factors, weights)
        return memory


def _power(t: Floats, exponent: float) -> Floats:
    """t**exponent, where an infinite exponent leaves no doubt at t = 1 either."""
    if np.isinf(exponent):
        return np.full_like(t, max(exponent, 0.0))
    with np.errstate(over="ignore"):  # infinity is as good as any number that large
        return t**exponent
