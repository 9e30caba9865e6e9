"""CFR with Hedge, the tabular method that Deep-Hedge approximates."""

from __future__ import annotations

from typing import Annotated, ClassVar

from annotated_types import Gt

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.algorithms.game_requirements import utility_unit
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import Probability, settings


@settings()
class CFRHedge(RegretMinimiser):
    """CFR with Hedge (Freund and Schapire, 1997) at every infoset. At t = 1, 2, ...:

        policy_sum = policy_sum + reach * policy
        regret     = regret + instant_regret
        policy     = softmax(eta * t**-decay_power * regret)

    With 0 < decay_power < 1 the average regret of every infoset tends to zero. A constant rate
    (decay_power 0) has no such guarantee but often converges. Counterfactual regrets are
    proportional to the reach of an infoset, so eta must be larger than in a matrix game. eta refers
    to utilities divided by the game's scale. The defaults are tuned on Kuhn poker, Leduc poker and
    Goofspiel.
    """

    eta: Annotated[float, Gt(0.0)] = 80.0
    decay_power: Probability = 0.25
    alternating: bool = True  # update players in turn, each against the others' newest policy
    normalize_utilities: bool = True  # divide utilities by the game's scale
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    is_scale_free: ClassVar[bool] = False  # eta is in the inverse units of the game
    averages: ClassVar[tuple[str, ...]] = ("average", "linear_average")

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = engine.next_iterations(memory, iterations)
        eta = self.eta / utility_unit(arena, self.normalize_utilities)
        rates = engine.stack_columns(t, eta * t**-self.decay_power)
        weights = engine.stack_columns(t, 1.0, t)
        return engine.iterate(arena, memory, engine.HEDGE, (rates,), weights, self.alternating)
