"""Regret matching+."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.matrix.normal_form import NormalForm
from counterplay.settings import settings
from counterplay.tree import Floats


@dataclass
class Memory:
    start: Floats
    regret: Floats


@settings()
class RegretMatchingPlus:
    """Regret matching+ (Tammelin et al., 2015). At t = 1, 2, ..., for each player:

        mixture(a) = regret(a) / sum over b of regret(b),   start if all are zero
        regret(a)  = max(regret(a) + u(a) - u(what was played), 0)

    Iteration t counts t times in the average. The same bound as regret matching, much faster in
    practice, most of all with alternating players.
    """

    def init(self, form: NormalForm, player: int, start: Floats) -> Memory:
        return Memory(start.copy(), np.zeros(start.size))

    def play(self, memory: Memory) -> Floats:
        total = memory.regret.sum()
        return memory.regret / total if total > 0.0 else memory.start

    def observe(self, memory: Memory, values: Floats, played: Floats) -> None:
        memory.regret = np.maximum(memory.regret + values - values @ played, 0.0)

    def weight(self, iteration: int) -> float:
        return float(iteration)
