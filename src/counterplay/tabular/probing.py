"""Probing: outcome sampling that looks at what it leaves out."""

from __future__ import annotations

from typing import Any

from counterplay.kernels import episodes
from counterplay.sampled import SampledGame
from counterplay.settings import settings
from counterplay.tabular import monte_carlo
from counterplay.tabular.monte_carlo import MonteCarlo
from counterplay.tree import Tree


@settings()
class Probing(MonteCarlo):
    """MCCFR with probing (Gibson, Lanctot, Burch, Szafron and Bowling, 2012). At t = 1, 2, ...:

        one path for each player in turn, which follows one of its actions, drawn from
        epsilon * uniform + (1 - epsilon) * policy, and sees what the others lead to by a probe
        u(a)       = the path's value where it goes on, else the utility of one roll-out
        regret     = regret + (u(a) - sum over b of policy(b) * u(b)) / q     at its own nodes
        policy_sum = policy_sum + t**gamma * policy / q                       at the others' nodes
        policy     = regret_matching(regret), after the walk

    with q the player's own probability of sampling the node. No action counts as worth nothing just
    because it was not followed, so estimates vary less. More than two players keep their averages
    as in external sampling.
    """

    epsilon: float = 0.5  # uniform part of what the traverser follows
    gamma: float = 0.0  # iteration t counts t**gamma times in the average
    plus: bool = False  # keep regrets at zero or above: regret matching+
    eta: float = 0.0  # if positive, Hedge at this rate instead of regret matching
    workers: int = 1  # walks per player and iteration, each on a core of its own

    def __post_init__(self) -> None:
        monte_carlo.check("probing", self)

    def init(self, tree: Tree | SampledGame, seed: int = 0) -> Any:
        return monte_carlo.new_memory(tree, seed, self.workers)

    def step(self, tree: Tree | SampledGame, memory: Any, iterations: int = 1) -> Any:
        kernel, power, epsilon = episodes.probing, float(self.gamma), float(self.epsilon)
        return monte_carlo.iterate(self, tree, memory, iterations, kernel, power, epsilon)
