"""Fictitious play."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.matrix.normal_form import NormalForm
from counterplay.settings import settings
from counterplay.tree import Floats

TIE = 1e-12  # part of the total up to which differences are rounding errors


@dataclass
class Memory:
    start: Floats
    total: Floats  # sum of the values seen
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

    def init(self, form: NormalForm, player: int, start: Floats) -> Memory:
        return Memory(start.copy(), np.zeros(start.size))

    def play(self, memory: Memory) -> Floats:
        if memory.iteration == 0:
            return memory.start
        most = memory.total.max()
        best = memory.total >= most - TIE * abs(most)
        return np.eye(best.size)[int(best.argmax())]

    def observe(self, memory: Memory, values: Floats, played: Floats) -> None:
        memory.iteration += 1
        memory.total += values

    def weight(self, iteration: int) -> float:
        return 1.0
