"""External sampling: the traverser tries everything, everybody else is sampled."""

from __future__ import annotations

from typing import Any

from counterplay.algorithms.mccfr import engine
from counterplay.algorithms.mccfr.engine import MonteCarloCFR
from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.settings import settings
from counterplay.kernels.sampling import traversals


@settings()
class ExternalSampling(MonteCarloCFR):
    """External-sampling MCCFR (Lanctot, Waugh, Zinkevich and Bowling, 2009). At t = 1, 2, ...:

        one walk for each player in turn: chance and the others draw one action, it tries all
        regret     = regret + u(a) - sum over b of policy(b) * u(b)      at its own nodes
        policy_sum = policy_sum + t**gamma * policy                      at the others' nodes
        policy     = regret_matching(regret), after the walk

    What was not sampled cancels: regrets need no weight, and an infoset is met as often as its
    player's own reach says. That holds between two players. With more, a third one's reach would
    bias the average; then each player's is kept along an episode of its own, in which the others
    play uniformly. (Gibson, 2014, expands all actions instead; others update one opponent, with
    bias.) Actions are drawn at every node, not once per infoset and walk.
    """

    gamma: float = 0.0  # iteration t counts t**gamma times in the average
    regret_matching_plus: bool = False  # keep regrets at zero or above: regret matching+
    hedge_eta: float = 0.0  # if positive, Hedge at this rate instead of regret matching
    num_workers: int = 1  # walks per player and iteration, each on a core of its own

    def __post_init__(self) -> None:
        engine.check_parameters("external_sampling", self)

    def init(self, arena: TreeArena | RulesArena, seed: int = 0) -> Any:
        return engine.new_memory(arena, seed, self.num_workers)

    def step(self, arena: TreeArena | RulesArena, memory: Any, iterations: int = 1) -> Any:
        kernel, power = traversals.external_sampling, float(self.gamma)
        return engine.iterate(self, arena, memory, iterations, kernel, power)
