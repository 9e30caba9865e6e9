"""Regret matching."""

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
class RegretMatching:
    """Regret matching (Hart and Mas-Colell, 2000). At t = 1, 2, ..., for each player:

        mixture(a) = max(regret(a), 0) / sum over b of max(regret(b), 0),   start if all are 0
        regret(a)  = regret(a) + u(a) - u(what was played)

    Regret per iteration is at most D * sqrt(A / T), with utilities in a range of D.
    """

    def init(self, form: NormalForm, player: int, start: Floats) -> Memory:
        return Memory(start.copy(), np.zeros(start.size))

    def play(self, memory: Memory) -> Floats:
        positive = np.maximum(memory.regret, 0.0)
        total = positive.sum()
        return positive / total if total > 0.0 else memory.start

    def observe(self, memory: Memory, values: Floats, played: Floats) -> None:
        memory.regret += values - values @ played

    def weight(self, iteration: int) -> float:
        return 1.0
