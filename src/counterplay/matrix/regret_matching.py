"""Regret matching."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.settings import settings
from counterplay.matrix.normal_form import NormalForm


@dataclass
class RegretMatchingMemory:
    """The memory of one player."""

    initial_mixture: Floats  # [A_i]
    regret: Floats  # [A_i]


@settings()
class RegretMatching:
    """Regret matching (Hart and Mas-Colell, 2000). At t = 1, 2, ..., for each player:

        mixture(a) = max(regret(a), 0) / sum over b of max(regret(b), 0)
        regret(a)  = regret(a) + u(a) - u(mixture played)

    or the initial mixture if no regret is positive. Regret per iteration is at most
    D * sqrt(A / T), where D is the range of the player's utilities.
    """

    def init(self, form: NormalForm, player: int, initial_mixture: Floats) -> RegretMatchingMemory:
        return RegretMatchingMemory(initial_mixture.copy(), np.zeros(initial_mixture.size))

    def play(self, memory: RegretMatchingMemory) -> Floats:
        positive = np.maximum(memory.regret, 0.0)
        total = positive.sum()
        return positive / total if total > 0.0 else memory.initial_mixture

    def observe(self, memory: RegretMatchingMemory, values: Floats, played_mixture: Floats) -> None:
        memory.regret += values - values @ played_mixture

    def average_weight(self, iteration: int) -> float:
        return 1.0
