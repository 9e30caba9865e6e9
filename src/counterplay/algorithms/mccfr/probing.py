"""Probing: outcome sampling that looks at what it leaves out."""

from __future__ import annotations

from typing import Any

from counterplay.algorithms.mccfr import engine
from counterplay.algorithms.mccfr.engine import MonteCarloCFR
from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.settings import settings
from counterplay.kernels.sampling import episodes


@settings()
class Probing(MonteCarloCFR):
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
    regret_matching_plus: bool = False  # keep regrets at zero or above: regret matching+
    hedge_eta: float = 0.0  # if positive, Hedge at this rate instead of regret matching
    num_workers: int = 1  # walks per player and iteration, each on a core of its own

    def __post_init__(self) -> None:
        engine.check_parameters("probing", self)

    def init(self, arena: TreeArena | RulesArena, seed: int = 0) -> Any:
        return engine.new_memory(arena, seed, self.num_workers)

    def step(self, arena: TreeArena | RulesArena, memory: Any, iterations: int = 1) -> Any:
        kernel, power, epsilon = episodes.probing, float(self.gamma), float(self.epsilon)
        return engine.iterate(self, arena, memory, iterations, kernel, power, epsilon)
