"""CFR with Hedge, the tabular method that Deep-Hedge approximates."""

from __future__ import annotations

from dataclasses import dataclass

from counterplay.errors import ConfigError
from counterplay.policy import Policy
from counterplay.tabular import regret
from counterplay.tabular.regret import RegretMemory
from counterplay.tree import Tree


@dataclass(frozen=True)
class CFRHedge:
    """CFR with multiplicative weights (Freund and Schapire, 1997) everywhere. At t = 1, 2, ...:

        policy_sum = policy_sum + reach * policy
        regret     = regret + instant_regret
        policy     = softmax(eta * t**-decay * regret)

    With 0 < decay < 1 every infoset has vanishing average regret; a constant rate (decay 0) has
    not, though it often converges all the same. Counterfactual regrets shrink with the reach of an
    infoset, so eta is larger than for a matrix game. The defaults suit Kuhn, Leduc and Goofspiel.
    """

    eta: float = 50.0
    decay: float = 0.25
    alternating: bool = True  # each player already sees the earlier ones' new policy

    def __post_init__(self) -> None:
        if not self.eta > 0.0:
            raise ConfigError(f"cfr_hedge: eta is {self.eta}, must be positive")
        if not 0.0 <= self.decay <= 1.0:
            raise ConfigError(f"cfr_hedge: decay is {self.decay}, must be from 0 to 1")

    def init(self, tree: Tree, seed: int = 0) -> RegretMemory:
        return regret.new_memory(tree, num_averages=2)

    def step(self, tree: Tree, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = regret.next_iterations(memory, iterations)
        rates = regret.columns(t, self.eta * t**-self.decay)
        weights = regret.columns(t, 1.0, t)
        return regret.iterate(tree, memory, regret.HEDGE, (rates,), weights, self.alternating)

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
