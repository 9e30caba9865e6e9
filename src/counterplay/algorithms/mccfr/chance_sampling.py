"""Chance sampling: one deal per walk, all players' actions."""

from __future__ import annotations

from typing import Any

from counterplay.algorithms.mccfr import engine
from counterplay.algorithms.mccfr.engine import MonteCarloCFR
from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.settings import settings
from counterplay.kernels.sampling import traversals


@settings()
class ChanceSampling(MonteCarloCFR):
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
    regret_matching_plus: bool = False  # keep regrets at zero or above: regret matching+
    hedge_eta: float = 0.0  # if positive, Hedge at this rate instead of regret matching
    num_workers: int = 1  # walks per player and iteration, each on a core of its own

    def __post_init__(self) -> None:
        engine.check_parameters("chance_sampling", self)

    def init(self, arena: TreeArena | RulesArena, seed: int = 0) -> Any:
        return engine.new_memory(arena, seed, self.num_workers)

    def step(self, arena: TreeArena | RulesArena, memory: Any, iterations: int = 1) -> Any:
        kernel, power = traversals.chance_sampling, float(self.gamma)
        return engine.iterate(self, arena, memory, iterations, kernel, power)
