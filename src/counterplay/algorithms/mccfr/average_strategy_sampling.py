"""Average strategy sampling: between external and outcome sampling."""

from __future__ import annotations

from typing import Any

from counterplay.algorithms.mccfr import engine
from counterplay.algorithms.mccfr.engine import MonteCarloCFR
from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.settings import settings
from counterplay.kernels.sampling import traversals


@settings()
class AverageStrategySampling(MonteCarloCFR):
    """Average strategy sampling (Gibson, Burch, Lanctot and Szafron, 2012). At t = 1, 2, ...:

        one walk for each player in turn, in which it tries each of its actions with probability
        rho(a)     = max(epsilon, (beta + tau * policy_sum(a)) / (beta + sum of policy_sum)), or 1
        v(a)       = u(a) / rho(a) if tried, else 0;    q = product of all rho on the way
        regret     = regret + (v(a) - sum over b of policy(b) * v(b)) / q     at its own nodes
        policy_sum = policy_sum + t**gamma * policy / q                       at the others' nodes
        policy     = regret_matching(regret), after the walk

    The paper divides by q at the terminal instead, which is the same. With its beta of 1e6 small
    games are sampled externally; the defaults here leave something out. More than two players keep
    their averages as in external sampling. An infoset none of whose actions is tried counts 0.
    """

    epsilon: float = 0.05  # least probability of trying an action
    tau: float = 1.0  # how soon actions of a high average are always tried
    beta: float = 100.0  # how long everything is tried
    gamma: float = 0.0  # iteration t counts t**gamma times in the average
    num_workers: int = 1  # walks per player and iteration, each on a core of its own

    def __post_init__(self) -> None:
        engine.check_parameters("average_strategy_sampling", self)

    def init(self, arena: TreeArena | RulesArena, seed: int = 0) -> Any:
        return engine.new_memory(arena, seed, self.num_workers)

    def step(self, arena: TreeArena | RulesArena, memory: Any, iterations: int = 1) -> Any:
        power, scheme = float(self.gamma), (float(self.epsilon), float(self.tau), float(self.beta))
        kernel = traversals.average_sampling
        return engine.iterate(self, arena, memory, iterations, kernel, power, scheme)
