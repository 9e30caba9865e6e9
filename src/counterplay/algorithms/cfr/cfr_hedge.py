"""CFR with Hedge, the tabular method that Deep-Hedge approximates."""

from __future__ import annotations

from typing import ClassVar

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import settings
from counterplay.errors import ConfigError


@settings()
class CFRHedge(RegretMinimiser):
    """CFR with multiplicative weights (Freund and Schapire, 1997) everywhere. At t = 1, 2, ...:

        policy_sum = policy_sum + reach * policy
        regret     = regret + instant_regret
        policy     = softmax(eta * t**-decay * regret)

    With 0 < decay < 1 every infoset has vanishing average regret; a constant rate (decay 0) has
    not, though it often converges all the same. Counterfactual regrets shrink with the reach of an
    infoset, so eta is larger than for a matrix game. The defaults suit Kuhn, Leduc and Goofspiel.
    """

    eta: float = 50.0
    decay_power: float = 0.25
    alternating: bool = True  # each player already sees the earlier ones' new policy
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    averages: ClassVar[tuple[str, ...]] = ("average", "linear_average")

    def __post_init__(self) -> None:
        if not self.eta > 0.0:
            raise ConfigError(f"cfr_hedge: eta is {self.eta}, must be positive")
        if not 0.0 <= self.decay_power <= 1.0:
            raise ConfigError(f"cfr_hedge: decay_power is {self.decay_power}, must be from 0 to 1")

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        t = engine.next_iterations(memory, iterations)
        rates = engine.stack_columns(t, self.eta * t**-self.decay_power)
        weights = engine.stack_columns(t, 1.0, t)
        return engine.iterate(arena, memory, engine.HEDGE, (rates,), weights, self.alternating)
