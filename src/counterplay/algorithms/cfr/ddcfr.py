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
DEGREE = 4
COEFFICIENTS = np.array(  # of alpha, beta and gamma; for u**i * v**j in the order of i, then j
    [
        *(-1.31, 0.031, 1.27, -0.87, 0.198, 2.119, 0.685, -1.372, 0.571),
        *(-0.691, -0.807, 0.459, 0.555, 0.327, -0.113),
        *(0.253, 0.72, 0.045, -0.23, -0.018, -1.25, 0.179, -0.379, 0.561),
        *(-1.174, -0.466, -0.342, 4.604, 0.274, -2.524),
        *(3.934, 1.604, -2.157, -0.158, 0.348, -0.383, -9.54, 7.705, -1.549),
        *(-15.697, 8.55, -2.835, 13.838, -2.944, -4.336),
    ]
).reshape(3, -1)
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
    u = t/n of the run and from the exploitability e of the average, e_0 at the start,

        v = (log10 e + 12) / (log10 e_0 + 12)

    with e in the unit of each player, its largest counterfactual value; theirs is that of the game.
    Here it is a function fitted to the network in the authors' repository (rpSebastian/DDCFR),

        (2.5, -2.5, 2.5) + 2.5 * tanh(polynomial of degree 4 in u and v)

    which differs from it by 0.005, 0.012 and 0.001 (root mean square) in their twelve games. With
    the network itself, the update above gives the exploitability that they publish for Kuhn poker
    in all 1,000 iterations, and on Leduc poker and Liar's dice until rounding errors grow. Late
    results are sensitive: discounts that differ by 0.001 change them by up to a factor of two. A
    choice holds for one iteration in the first half of the run and for five in the second, as
    theirs mostly do. Every choice computes the exploitability of the average, which takes about as
    long as an iteration.
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
        size = float((gains / player_units(arena)).mean())  # players may have different units
        if memory.iteration == 0:
            memory.start_exploitability = size
        progress = min(memory.iteration / self.horizon, 1.0)
        remaining = remaining_decades(size) / remaining_decades(memory.start_exploitability)
        memory.discounts = discounts_at(progress, remaining)
        memory.next_choice = memory.iteration + ITERATIONS_PER_CHOICE[progress >= 0.5]


def remaining_decades(exploitability: float) -> float:
    """Return the decades between an exploitability, in players' units, and 1e-12; at least 1e-3."""
    return max(float(np.log10(max(exploitability, 1e-300))) + ACCURACY_DECADES, 1e-3)


def discounts_at(progress: float, remaining: float) -> Floats:
    """Return alpha, beta and gamma for u = `progress` and v = `remaining`."""
    u, v = progress, remaining
    terms = np.array([u**i * v**j for i in range(DEGREE + 1) for j in range(DEGREE + 1 - i)])
    return np.asarray(MIDDLE + HALF_RANGE * np.tanh(COEFFICIENTS @ terms))
