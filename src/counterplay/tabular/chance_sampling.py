"""Chance sampling: one deal per walk, all players' actions."""

from __future__ import annotations

from typing import Any

from counterplay.kernels import walks
from counterplay.sampled import SampledGame
from counterplay.settings import settings
from counterplay.tabular import monte_carlo
from counterplay.tabular.monte_carlo import MonteCarlo
from counterplay.tree import Tree


@settings()
class ChanceSampling(MonteCarlo):
    """Chance-sampled CFR (Zinkevich, Johanson, Bowling and Piccione, 2007). At t = 1, 2, ...:

        one walk for each player in turn: chance draws one outcome, all players try everything
        regret     = regret + cf * (u(a) - sum over b of policy(b) * u(b))   at its own nodes
        policy_sum = policy_sum + t**gamma * own reach * policy              at its own nodes
        policy     = regret_matching(regret), after the walk

    where cf is the other players' reach; chance's own cancels with the probability of the sample.
    Listings of it often match regrets in mid-walk; here the policy is frozen, because one infoset
    is met through many histories. In a game without chance this is vanilla CFR.
    """

    gamma: float = 0.0  # iteration t counts t**gamma times in the average
    plus: bool = False  # keep regrets at zero or above: regret matching+
    eta: float = 0.0  # if positive, Hedge at this rate instead of regret matching
    workers: int = 1  # walks per player and iteration, each on a core of its own

    def __post_init__(self) -> None:
        monte_carlo.check("chance_sampling", self)

    def init(self, tree: Tree | SampledGame, seed: int = 0) -> Any:
        return monte_carlo.new_memory(tree, seed, self.workers)

    def step(self, tree: Tree | SampledGame, memory: Any, iterations: int = 1) -> Any:
        kernel, power = walks.chance_sampling, float(self.gamma)
        return monte_carlo.iterate(self, tree, memory, iterations, kernel, power)
