"""Dynamic discounted CFR: discounts chosen by a learned function of the progress of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.algorithms.cfr.smooth_pcfr_plus import player_units
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.evaluation import judge
from counterplay.core.settings import PositiveInt, settings

MIDDLE = np.array([2.5, -2.5, 2.5])  # of the ranges of alpha, beta and gamma
HALF_RANGE = 2.5
COEFFICIENTS = np.array(  # of 1, v, v**2, u, u * v, u**2
    [
        [-1.32, 0.61, 0.04, 2.13, -0.46, -0.14],
        [0.22, 1.06, -0.45, -1.45, -0.37, 1.20],
        [5.03, -0.03, -0.77, -8.74, 0.73, 0.08],
    ]
)
ACCURACY_DECADES = 12.0  # decades of exploitability between v = 1 and v = 0
ITERATIONS_PER_CHOICE = (1, 5)  # in the first half of the run, and in the second


@dataclass
class DDCFRMemory(RegretMemory):
    """The memory of CFR, and the present discounts."""

    discounts: Floats  # [3] alpha, beta and gamma
    next_choice: int  # number of iterations before the next choice of discounts
    start_exploitability: float  # sum of all players' gains, each in the player's unit


@settings()
class DDCFR(RegretMinimiser):
    """DDCFR (Xu, Li, Fu, Fu, Xing and Cheng, 2024). At t = 1, 2, ..., in turn:

        regret     = regret * (t - 1)**alpha / ((t - 1)**alpha + 1) where positive
                     and regret * (t - 1)**beta / ((t - 1)**beta + 1) where negative
        policy_sum = policy_sum * ((t - 1) / t)**gamma + reach * policy
        regret     = regret + instant_regret
        policy     = regret_matching(regret)

    A network of the authors, trained on small games, chooses (alpha, beta, gamma) from the progress
    u = t/n of the run and from the decades of exploitability gained so far, v = 1 - decades / 12.
    Here it is a function fitted to the choices in the authors' published results on twelve games,

        (2.5, -2.5, 2.5) + 2.5 * tanh(quadratic polynomial in u and v)

    which differs from these by 0.03, 0.05 and 0.01 (root mean square). A choice holds for one
    iteration in the first half of the run and for five in the second, as in these results. Every
    choice computes the exploitability of the average, which takes about as long as an iteration.
    """

    horizon: PositiveInt = 1000  # planned number of iterations n
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)

    def init(self, arena: SequenceArena, seed: int = 0) -> DDCFRMemory:
        """Return a memory with zero regrets and the uniform policy; the seed is not used."""
        memory = engine.new_memory(arena)
        return DDCFRMemory(
            **vars(memory), discounts=np.zeros(3), next_choice=0, start_exploitability=0.0
        )

    def step(self, arena: SequenceArena, memory: DDCFRMemory, iterations: int = 1) -> DDCFRMemory:
        for _ in range(iterations):
            if memory.iteration == memory.next_choice:
                self._choose_discounts(arena, memory)
            alpha, beta, gamma = memory.discounts
            before, t = float(memory.iteration), engine.next_iterations(memory, 1)
            if before:
                memory.regret *= np.where(
                    memory.regret > 0.0, 1.0 / (1.0 + before**-alpha), 1.0 / (1.0 + before**-beta)
                )
            memory.scale_averages((before / (before + 1.0)) ** gamma)
            factors = engine.discount_factors(arena, t, 1.0, 1.0)
            engine.iterate(arena, memory, engine.REGRET_MATCHING, factors, np.ones((1, 1)))
        return memory

    def _choose_discounts(self, arena: SequenceArena, memory: DDCFRMemory) -> None:
        """Set the discounts from the exploitability of the average."""
        judgement = judge(arena, self.policies(arena, memory)["average"])
        gains = np.maximum(judgement.best_values - judgement.values, 0.0)
        size = float((gains / player_units(arena)).sum())  # players may have different units
        if memory.iteration == 0:
            memory.start_exploitability = size
        ratio = size / (memory.start_exploitability or 1.0)
        decades = -np.log10(max(ratio, 10.0**-ACCURACY_DECADES))
        progress = min(memory.iteration / self.horizon, 1.0)
        memory.discounts = discounts_at(progress, 1.0 - decades / ACCURACY_DECADES)
        memory.next_choice = memory.iteration + ITERATIONS_PER_CHOICE[progress >= 0.5]


def discounts_at(progress: float, remaining: float) -> Floats:
    """Return alpha, beta and gamma for u = `progress` and v = `remaining`."""
    u, v = progress, remaining
    terms = np.array([1.0, v, v * v, u, u * v, u * u])
    return np.asarray(MIDDLE + HALF_RANGE * np.tanh(COEFFICIENTS @ terms))
