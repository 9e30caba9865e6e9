"""Fictitious play."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.settings import settings
from counterplay.matrix.normal_form import NormalForm

RELATIVE_TIE_TOLERANCE = 1e-12  # relative differences up to this are rounding errors


@dataclass
class FictitiousPlayMemory:
    """The memory of one player."""

    initial_mixture: Floats  # [A_i]
    value_sum: Floats  # [A_i] sum of the observed values
    iteration: int = 0


@settings()
class FictitiousPlay:
    """Fictitious play (Brown, 1951). At t = 1 each player plays its initial mixture; then

        mixture = a best response to the frequencies of the others' joint actions so far

    The lowest action wins ties. With three players or more this is the version with beliefs about
    the others' joint actions; beliefs about each player alone would ignore their correlation.
    Averages converge in two-player zero-sum games, potential games, 2 x n games and games that
    iterated elimination solves; not in Shapley's game.
    """

    def init(self, form: NormalForm, player: int, initial_mixture: Floats) -> FictitiousPlayMemory:
        return FictitiousPlayMemory(initial_mixture.copy(), np.zeros(initial_mixture.size))

    def play(self, memory: FictitiousPlayMemory) -> Floats:
        if memory.iteration == 0:
            return memory.initial_mixture
        largest = memory.value_sum.max()
        is_best = memory.value_sum >= largest - RELATIVE_TIE_TOLERANCE * abs(largest)
        return np.eye(is_best.size)[int(is_best.argmax())]

    def observe(self, memory: FictitiousPlayMemory, values: Floats, played_mixture: Floats) -> None:
        memory.iteration += 1
        memory.value_sum += values

    def average_weight(self, iteration: int) -> float:
        return 1.0
