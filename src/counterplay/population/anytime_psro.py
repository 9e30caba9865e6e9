"""Anytime PSRO: the pools are mixed so that nobody, inside or outside, gains much."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from counterplay.arena import Floats, SequenceArena
from counterplay.population.least_exploitable import least_exploitable, pure_plans
from counterplay.population.loop import Mixing, check_common, largest_utility
from counterplay.population.pools import (
    Population,
    add_plans,
    check_zero_sum,
    misfit,
    new_population,
    same_plan,
    start_plans,
)


@dataclass
class Opposed(Population):
    """Pools, and what each player does best against the other's pool."""

    opponents: list[Floats] = field(default_factory=list)  # by player [S_i] a plan

    def problem(self, arena: SequenceArena) -> str:
        plans = [plan.reshape(1, -1) for plan in self.opponents]
        return super().problem(arena) or (misfit(arena, plans) if plans else "")


@dataclass(frozen=True)
class AnytimePSRO(Mixing):
    """Anytime PSRO (McAleer et al., 2022), in the limit of exact play. At t = 2, 3, ...:

        mixture_i, opponent_i = both sides of the game in which player i mixes its pool and the
                                other plays anything, by linear programming
        pool_j = pool_j and the pure policy of opponent_i, of largest weight, that is not there yet

    The paper lets a no-regret learner over the pool and a responder learn against each other; that
    is what they converge to. Pools only grow, so exploitability never rises. Every pure policy of
    opponent_i is a best response to mixture_i; taking any best response can stall, since a tied one
    may be in the pool already. If all of opponent_i is there, for both players, the mixtures are an
    equilibrium: the value of the matrix between the pools is then the same seen from both sides.
    """

    start: str = "first"  # the first policies: first, uniform, random, or response to uniform play
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    needs: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_common("anytime_psro", self)

    def init(self, arena: SequenceArena, seed: int = 0) -> Opposed:
        check_zero_sum("anytime_psro", arena)
        return new_population(arena, seed, Opposed)

    def step(self, arena: SequenceArena, memory: Opposed, iterations: int = 1) -> Opposed:
        for _ in range(iterations):
            memory.iteration += 1
            if not memory.finished:
                advance(arena, memory, self.start, self.tolerance, alone=True)
        return memory


def advance(
    arena: SequenceArena, memory: Opposed, start: str, tolerance: float, alone: bool
) -> None:
    """One iteration; `alone` leaves out the opponent's whole plan, which SP-PSRO adds as well."""
    if not min(memory.shape):
        add_plans(arena, memory, start_plans(arena, start, memory.seed))
    else:
        found = [_new_plans(arena, memory, player, alone) for player in range(2)]
        if not add_plans(arena, memory, found):
            memory.end("all that the best opponents play is in the pools")
            return
    least = [least_exploitable(arena, player, memory.plans[player]) for player in range(2)]
    memory.note([part.mixture for part in least])
    memory.opponents = [part.opponent for part in reversed(least)]
    gap = least[0].value + least[1].value
    if not gap > tolerance * largest_utility(arena, memory):
        memory.end("no player gains by a policy outside its pool")


def _new_plans(arena: SequenceArena, memory: Opposed, player: int, alone: bool) -> Floats:
    """What the player adds: it was the other's opponent."""
    whole = memory.opponents[player]
    weights, pure = pure_plans(arena, player, whole)
    order = np.argsort(-weights, kind="stable")
    new = [pure[k] for k in order if same_plan(memory.plans[player], pure[k]) is None][:1]
    if not alone and len(weights) > 1:
        new.append(whole)
    return np.array(new).reshape(len(new), whole.size)
