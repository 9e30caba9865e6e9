"""CFR+: regrets never fall below zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.errors import ConfigError
from counterplay.policy import Policy
from counterplay.tabular import regret
from counterplay.tabular.regret import RegretMemory
from counterplay.tree import Tree


@dataclass(frozen=True)
class CFRPlus:
    """CFR+ (Tammelin, 2014). At t = 1, 2, ..., for each player in turn, at its infosets:

        policy_sum = policy_sum + max(t - delay, 0) * reach * policy
        regret     = max(regret + instant_regret, 0)
        policy     = regret_matching(regret)

    Its linear average is the policy; the last iterate is often good too, without a guarantee.
    """

    delay: int = 0  # first iterations left out of the linear average

    def __post_init__(self) -> None:
        if self.delay < 0:
            raise ConfigError(f"cfr_plus: delay is {self.delay}, must be at least 0")

    def init(self, tree: Tree, seed: int = 0) -> RegretMemory:
        return regret.new_memory(tree, num_averages=2)

    def step(self, tree: Tree, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = regret.next_iterations(memory, iterations)
        factors = regret.discounts(tree, t, 1.0, 0.0)
        weights = regret.columns(t, 1.0, np.maximum(t - self.delay, 0.0))
        return regret.iterate(tree, memory, regret.REGRET_MATCHING, factors, weights)

    def policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        return self.linear_average_policy(tree, memory)

    def average_policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        """Every iteration counts the same."""
        return regret.average_policy(tree, memory, 0)

    def linear_average_policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        """Iteration t counts max(t - delay, 0) times."""
        return regret.average_policy(tree, memory, 1)

    def current_policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        """The last iterate."""
        return regret.current_policy(tree, memory)
