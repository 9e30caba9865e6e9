"""Fictitious play."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.settings import settings
from counterplay.matrix.normal_form import NormalForm

RELATIVE_TIE_TOLERANCE = 1e-12  # part of the total up to which differences are rounding errors


@dataclass
class FictitiousPlayMemory:
    initial_mixture: Floats
    value_sum: Floats  # sum of the values seen
    iteration: int = 0


@settings()
class FictitiousPlay:
    """Fictitious play (Brown, 1951). At t = 1 `start` is played; at t = 2, 3, ..., by each player:

        mixture = a best response to how often the others played each joint action so far

    The lowest action wins ties. With three players or more this is the version in which beliefs
    are about the others together; beliefs about each alone would forget how they correlate.
    Averages converge in two-player zero-sum games, potential games, 2 x n games and those that
    iterated elimination solves; not in Shapley's game.
    """

    def init(self, form: NormalForm, player: int, initial_mixture: Floats) -> FictitiousPlayMemory:
        return FictitiousPlayMemory(initial_mixture.copy(), np.zeros(initial_mixture.size))

    def play(self, memory: FictitiousPlayMemory) -> Floats:
        if memory.iteration == 0:
            return memory.initial_mixture
        most = memory.value_sum.max()
        best = memory.value_sum >= most - RELATIVE_TIE_TOLERANCE * abs(most)
        return np.eye(best.size)[int(best.argmax())]

    def observe(self, memory: FictitiousPlayMemory, values: Floats, played_mixture: Floats) -> None:
        memory.iteration += 1
        memory.value_sum += values

    def average_weight(self, iteration: int) -> float:
        return 1.0
