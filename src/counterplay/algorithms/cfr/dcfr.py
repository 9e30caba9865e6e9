"""Discounted CFR: early iterations lose weight, in regrets and in the average."""

from __future__ import annotations

import numpy as np

from counterplay.algorithms.cfr import engine, scaled_weights
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.algorithms.cfr.warm_start import regrets_from_policy
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.policy import Policy
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

    With `restart_base` b > 1 the average restarts after iterations 1, b, b**2, ..., and the weight
    of iteration t is (t - b**k)**gamma, with b**k the last restart before t. The postflop solver of
    Inoue (2022) uses gamma = 3 and b = 4, and omits the reach.
    """

    alpha: float = 1.5
    beta: float = 0.0
    gamma: float = 2.0
    restart_base: int = 0  # restart the average at powers of this number; 0 disables restarts

    def __post_init__(self) -> None:
        if self.restart_base < 0 or self.restart_base == 1:
            raise ConfigError(f"dcfr: restart_base is {self.restart_base}, must be 0 or at least 2")

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        if self.restart_base:
            schedule = scaled_weights.iter_restarting_weights(
                memory, iterations, self.gamma, self.restart_base
            )
        else:
            schedule = scaled_weights.iter_weights(memory, iterations, self.gamma)
        for t, weights in schedule:
            # x / (x + 1) = 1 / (1 + 1/x), which also holds in the limits 0 and infinity
            positive = 1.0 / (1.0 + _power(t, -self.alpha))
            negative = 1.0 / (1.0 + _power(t, -self.beta))
            factors = engine.discount_factors(arena, t, positive, negative)
            engine.iterate(arena, memory, engine.REGRET_MATCHING, factors, weights)
        return memory

    def warm_start(self, arena: TreeArena, policy: Policy, iterations: int) -> RegretMemory:
        """Return a memory as if a policy had been the average of T past iterations.

        Args:
            arena: the tree.
            policy: the policy to start from, such as a solution of a smaller or similar game.
            iterations: number of past iterations T. A large number trusts the policy; a policy of
                exploitability e is worth about as many as a run needs to reach e.

        Returns:
            A memory for `step`, with the substitute regrets of `regrets_from_policy`.
        """
        memory = regrets_from_policy(arena, policy, iterations)
        memory.policy_sum *= iterations ** (self.gamma + 1.0) / (
            self.gamma + 1.0
        )  # sum of t**gamma
        return memory


def _power(t: Floats, exponent: float) -> Floats:
    """Return t**exponent, with 1**inf = inf and 1**-inf = 0."""
    if np.isinf(exponent):
        return np.full_like(t, max(exponent, 0.0))
    with np.errstate(over="ignore"):  # overflow to infinity gives the right factor
        return t**exponent
