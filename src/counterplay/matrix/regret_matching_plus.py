"""Regret matching+."""

from __future__ import annotations

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.settings import settings
from counterplay.matrix.normal_form import NormalForm
from counterplay.matrix.regret_matching import RegretMatchingMemory


@settings()
class RegretMatchingPlus:
    """Regret matching+ (Tammelin et al., 2015). At t = 1, 2, ..., for each player:

        mixture(a) = regret(a) / sum over b of regret(b)
        regret(a)  = max(regret(a) + u(a) - u(mixture played), 0)

    or the initial mixture if all regrets are zero. Iteration t has weight t in the average. The
    bound on regret is that of regret matching; in practice the algorithm is much faster, above all
    with alternating players.
    """

    def init(self, form: NormalForm, player: int, initial_mixture: Floats) -> RegretMatchingMemory:
        return RegretMatchingMemory(initial_mixture.copy(), np.zeros(initial_mixture.size))

    def play(self, memory: RegretMatchingMemory) -> Floats:
        total = memory.regret.sum()
        return memory.regret / total if total > 0.0 else memory.initial_mixture

    def observe(self, memory: RegretMatchingMemory, values: Floats, played_mixture: Floats) -> None:
        memory.regret = np.maximum(memory.regret + values - values @ played_mixture, 0.0)

    def average_weight(self, iteration: int) -> float:
        return float(iteration)
