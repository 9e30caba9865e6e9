"""Discounted CFR: old regrets fade, negative ones faster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.policy import Policy
from counterplay.tabular import powers, regret
from counterplay.tabular.regret import RegretMemory
from counterplay.tree import Floats, Tree


@dataclass(frozen=True)
class DCFR:
    """Discounted CFR (Brown and Sandholm, 2019). At t = 1, 2, ..., for each player in turn:

        policy_sum = policy_sum + t**gamma * reach * policy
        regret     = regret + instant_regret, then times t**alpha / (t**alpha + 1) where positive
                     and times t**beta / (t**beta + 1) where negative
        policy     = regret_matching(regret)

    alpha = beta = gamma = 1 is linear CFR; (inf, -inf, 2) is CFR+ with quadratic averaging.
    """

    alpha: float = 1.5
    beta: float = 0.0
    gamma: float = 2.0

    def init(self, tree: Tree, seed: int = 0) -> RegretMemory:
        return regret.new_memory(tree)

    def step(self, tree: Tree, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        for t, weights in powers.weighted(memory, iterations, self.gamma):
            # x / (x + 1) = 1 / (1 + 1/x), which also holds in the limits 0 and infinity
            positive = 1.0 / (1.0 + _power(t, -self.alpha))
            negative = 1.0 / (1.0 + _power(t, -self.beta))
            rules = regret.discounts(tree, t, positive, negative)
            regret.iterate(tree, memory, regret.REGRET_MATCHING, rules, weights)
        return memory

    def policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        return self.average_policy(tree, memory)

    def average_policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        """Iteration t counts t**gamma times."""
        return regret.average_policy(tree, memory)

    def current_policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        """The last iterate."""
        return regret.current_policy(tree, memory)


def _power(t: Floats, exponent: float) -> Floats:
    """t**exponent, where an infinite exponent leaves no doubt at t = 1 either."""
    if np.isinf(exponent):
        return np.full_like(t, max(exponent, 0.0))
    with np.errstate(over="ignore"):  # infinity is as good as any number that large
        return t**exponent
