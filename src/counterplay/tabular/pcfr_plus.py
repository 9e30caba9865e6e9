"""Predictive CFR+: the next instant regret is expected to be like the last."""

from __future__ import annotations

from dataclasses import dataclass

from counterplay.policy import Policy
from counterplay.tabular import powers, regret
from counterplay.tabular.regret import RegretMemory
from counterplay.tree import Tree


@dataclass(frozen=True)
class PCFRPlus:
    """Predictive CFR+ (Farina, Kroer and Sandholm, 2021). At t = 1, 2, ..., in turn:

        policy_sum = policy_sum + t**gamma * reach * policy
        regret     = max(regret + instant_regret, 0)
        policy     = regret_matching(regret + instant_regret)

    The prediction, the last instant regret, enters the policy only. Much faster than CFR+ on
    many games, slower on poker.
    """

    gamma: float = 2.0

    def init(self, tree: Tree, seed: int = 0) -> RegretMemory:
        return regret.new_memory(tree)

    def step(self, tree: Tree, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        for t, weights in powers.weighted(memory, iterations, self.gamma):
            rules = regret.discounts(tree, t, 1.0, 0.0, prediction=1.0)
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
