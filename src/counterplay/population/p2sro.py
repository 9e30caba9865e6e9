"""Pipeline PSRO: several levels learn at once, each against all levels below it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np

from counterplay.arena import Floats, SequenceArena
from counterplay.calls import results
from counterplay.errors import ConfigError
from counterplay.policy import Policy
from counterplay.population.loop import check_common, largest_utility
from counterplay.population.meta_solvers import nash
from counterplay.population.oracles import ExactResponse, Oracle, Weighted
from counterplay.population.pools import (
    Population,
    add_plans,
    check_zero_sum,
    misfit,
    mixed_policy,
    new_population,
    payoffs,
    reach_of,
    row,
    start_plans,
)


@dataclass
class Pipeline(Population):
    """The fixed levels, as pools, and above them the active ones, lowest first."""

    active: list[Floats] = field(default_factory=list)  # by player [levels, S_i] plans

    def problem(self, arena: SequenceArena) -> str:
        return super().problem(arena) or (misfit(arena, self.active) if self.active else "")


class Lesson(NamedTuple):
    """What one level learned in one iteration."""

    plans: list[Floats]  # by player [S_i]
    gains: Floats  # [P] of a best response, before it
    left: Floats  # [P] and after it


@dataclass(frozen=True)
class P2SRO:
    """P2SRO, pipeline PSRO (McAleer, Lanier, Fox and Baldi, 2020), in step.

    At t = 2, 3, ..., with the levels as they were at t - 1, for each active level k and player:

        mixtures = an equilibrium of the matrix between all levels below k, fixed and active
        plan_k   = (1 - rate) * plan_k + rate * a best response to the other's mixture

    Then the lowest active level becomes fixed, if neither player would gain more than `plateau` by
    more of that, and a new level starts on top. It always faces fixed opponents, which keeps the
    guarantee of the double oracle; the others start early. Levels know nothing of each other during
    an iteration: they are units of work for different machines.

    A `rate` below 1 stands for learners that improve bit by bit: then more levels need fewer
    iterations. With exact responses, rate = 1, the fixed levels are those of `psro`, however many
    are active; with one active level they are the same to the bit.
    """

    levels: int = 3  # active at a time
    rate: float = 1.0  # how far a level moves to its best response in one iteration
    plateau: float = 0.01  # gain, in parts of the largest utility, at which a level has learned
    start: str = "first"  # the first policies: first, uniform, random, or response to uniform play
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    needs: ClassVar[str] = ""
    spreads: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_common("p2sro", self)
        if self.levels < 1:
            raise ConfigError(f"p2sro: levels is {self.levels}, must be at least 1")
        if not 0.0 < self.rate <= 1.0:
            raise ConfigError(f"p2sro: rate is {self.rate}, must be above 0 and at most 1")
        if not 0.0 <= self.plateau < 1.0:
            raise ConfigError(f"p2sro: plateau is {self.plateau}, must be from 0 to 1")

    def init(self, arena: SequenceArena, seed: int = 0) -> Pipeline:
        check_zero_sum("p2sro", arena)
        return new_population(arena, seed, Pipeline)

    def step(self, arena: SequenceArena, memory: Pipeline, iterations: int = 1) -> Pipeline:
        for _ in range(iterations):
            memory.iteration += 1
            if not memory.finished:
                self._advance(arena, memory)
        return memory

    def policies(self, arena: SequenceArena, memory: Pipeline) -> dict[str, Policy]:
        """The fixed levels mixed, which carries the guarantee, and all levels mixed."""
        everything = below(arena, memory, self.levels) if memory.active else memory
        meta = nash(everything) if memory.active else memory.meta
        return {
            "mixture": mixed_policy(arena, memory, memory.meta),
            "with_active": mixed_policy(arena, everything, meta),
        }

    def _advance(self, arena: SequenceArena, memory: Pipeline) -> None:
        if not min(memory.shape):
            first = start_plans(arena, self.start, memory.seed)
            add_plans(arena, memory, first)
            memory.active = [np.repeat(plans, self.levels, axis=0) for plans in first]
            memory.note(nash(memory))
            return
        oracle, unit = ExactResponse(), largest_utility(arena, memory)
        each = [(arena, memory, k, self.rate, oracle) for k in range(self.levels)]
        learned: list[Lesson] = results(lesson, each)
        if not learned[0].gains.max() > self.tolerance * unit:
            memory.end("no player gains by a policy outside its pool")
            return
        memory.active = [
            np.array([one.plans[player] for one in learned]) for player in range(arena.num_players)
        ]
        if learned[0].left.max() <= self.plateau * unit:
            self._fix_lowest(arena, memory, float(learned[0].gains.max()))

    def _fix_lowest(self, arena: SequenceArena, memory: Pipeline, gain: float) -> None:
        before = [counts.copy() for counts in memory.counts]
        new = add_plans(arena, memory, [plans[:1] for plans in memory.active])
        meta = nash(memory)
        if not new and all(map(np.array_equal, meta, memory.meta)) and self.rate == 1.0:
            memory.counts = before
            memory.end(f"every response is in the pools already, though one gains {gain:.2e}")
            return
        memory.active = [np.vstack([plans[1:], plans[-1:]]) for plans in memory.active]
        memory.note(meta)


def below(arena: SequenceArena, memory: Pipeline, level: int) -> Population:
    """The fixed levels and those active ones below a level, with all payoffs."""
    if level == 0:
        return memory
    plans = [
        np.vstack([fixed, active[:level]])
        for fixed, active in zip(memory.plans, memory.active, strict=True)
    ]
    found = replace(memory, plans=plans)
    found.payoffs = payoffs(arena, found, memory.shape)
    return found


def lesson(
    arena: SequenceArena, memory: Pipeline, level: int, rate: float, oracle: Oracle
) -> Lesson:
    """What a level learns against all levels below it; changes nothing."""
    known = below(arena, memory, level)
    meta = memory.meta if level == 0 else nash(known)
    policy = mixed_policy(arena, known, meta)
    values = known.form.values(tuple(meta))
    plans, gains, left = [], np.zeros(arena.num_players), np.zeros(arena.num_players)
    for player in range(arena.num_players):
        response = oracle.respond(arena, player, [Weighted(1.0, policy)])
        best = reach_of(arena, response.policy.probabilities)[row(arena, player)]
        old = memory.active[player][level]
        plan = best if rate == 1.0 else (1.0 - rate) * old + rate * best
        plans.append(plan)
        gains[player] = response.value - values[player]
        if rate < 1.0:
            reach = reach_of(arena, policy.probabilities)
            cf_value = np.zeros(reach.size)
            arena.gradient(player, reach, cf_value)
            left[player] = response.value - plan @ cf_value[row(arena, player)] - cf_value[-1]
    return Lesson(plans, gains, left)
