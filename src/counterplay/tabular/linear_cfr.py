"""Linear CFR: iteration t counts t times, in regrets and average."""

from __future__ import annotations

from dataclasses import dataclass

from counterplay.policy import Policy
from counterplay.tabular import regret
from counterplay.tabular.regret import RegretMemory
from counterplay.tree import Tree


@dataclass(frozen=True)
class LinearCFR:
    """Linear CFR (Brown and Sandholm, 2019). At t = 1, 2, ..., for each player in turn:

        policy_sum = policy_sum + t * reach * policy
        regret     = (regret + instant_regret) * t / (t + 1)
        policy     = regret_matching(regret)

    Up to a common factor, which regret matching ignores, that is the sum of t * instant_regret.
    """

    def init(self, tree: Tree, seed: int = 0) -> RegretMemory:
        return regret.new_memory(tree)

    def step(self, tree: Tree, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = regret.next_iterations(memory, iterations)
        factors = regret.discounts(tree, t, t / (t + 1.0), t / (t + 1.0))
        weights = regret.columns(t, t)
        return regret.iterate(tree, memory, regret.REGRET_MATCHING, factors, weights)

    def policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        return self.average_policy(tree, memory)

    def average_policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        """Iteration t counts t times."""
        return regret.average_policy(tree, memory)

    def current_policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        """The last iterate."""
        return regret.current_policy(tree, memory)
