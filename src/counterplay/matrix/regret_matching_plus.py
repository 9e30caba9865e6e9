"""Regret matching+."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.settings import settings
from counterplay.matrix.normal_form import NormalForm


@dataclass
class RegretMatchingPlusMemory:
    initial_mixture: Floats
    regret: Floats


@settings()
class RegretMatchingPlus:
    """Regret matching+ (Tammelin et al., 2015). At t = 1, 2, ..., for each player:

        mixture(a) = regret(a) / sum over b of regret(b),   start if all are zero
        regret(a)  = max(regret(a) + u(a) - u(what was played), 0)

    Iteration t counts t times in the average. The same bound as regret matching, much faster in
    practice, most of all with alternating players.
    """

    def init(
        self, form: NormalForm, player: int, initial_mixture: Floats
    ) -> RegretMatchingPlusMemory:
        return RegretMatchingPlusMemory(initial_mixture.copy(), np.zeros(initial_mixture.size))

    def play(self, memory: RegretMatchingPlusMemory) -> Floats:
        total = memory.regret.sum()
        return memory.regret / total if total > 0.0 else memory.initial_mixture

    def observe(
        self, memory: RegretMatchingPlusMemory, values: Floats, played_mixture: Floats
    ) -> None:
        memory.regret = np.maximum(memory.regret + values - values @ played_mixture, 0.0)

    def average_weight(self, iteration: int) -> float:
        return float(iteration)
