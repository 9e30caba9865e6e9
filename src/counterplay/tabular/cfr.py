"""Vanilla counterfactual regret minimisation."""

from __future__ import annotations

from dataclasses import dataclass

from counterplay.policy import Policy
from counterplay.tabular import regret
from counterplay.tabular.regret import RegretMemory
from counterplay.tree import Tree


@dataclass(frozen=True)
class CFR:
    """CFR (Zinkevich, Johanson, Bowling and Piccione, 2007). At t = 1, 2, ..., at all infosets:

        policy_sum = policy_sum + reach * policy
        regret     = regret + instant_regret
        policy     = regret_matching(regret)

    The paper updates all players at once; in turn, the default here, converges faster. The plain
    average carries the guarantee; the linear one is usually better and is kept beside it.
    """

    alternating: bool = True  # each player already sees the earlier ones' new policy

    def init(self, tree: Tree, seed: int = 0) -> RegretMemory:
        return regret.new_memory(tree, num_averages=2)

    def step(self, tree: Tree, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = regret.next_iterations(memory, iterations)
        factors, weights = regret.discounts(tree, t, 1.0, 1.0), regret.columns(t, 1.0, t)
        return regret.iterate(
            tree, memory, regret.REGRET_MATCHING, factors, weights, self.alternating
        )

    def policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        return self.average_policy(tree, memory)

    def average_policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        """Every iteration counts the same."""
        return regret.average_policy(tree, memory, 0)

    def linear_average_policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        """Iteration t counts t times."""
        return regret.average_policy(tree, memory, 1)

    def current_policy(self, tree: Tree, memory: RegretMemory) -> Policy:
        """The last iterate."""
        return regret.current_policy(tree, memory)
