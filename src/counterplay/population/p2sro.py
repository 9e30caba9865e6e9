"""Pipeline PSRO: several levels learn at once, each against all levels below it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from counterplay.arena import Floats, SequenceArena
from counterplay.calls import results
from counterplay.errors import ConfigError
from counterplay.policy import Policy
from counterplay.population.learned import (
    arrays_of,
    check_arena,
    check_oracle,
    is_learned,
    learners,
    load_oracle,
)
from counterplay.population.loop import check_common, largest_utility
from counterplay.population.meta_solvers import nash
from counterplay.population.oracles import Oracle, Weighted
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
from counterplay.settings import settings

APART = 1_000_003  # seeds of levels


@dataclass
class Pipeline(Population):
    """The fixed levels, as pools, and above them the active ones, lowest first."""

    active: list[Floats] = field(default_factory=list)  # by player [levels, S_i] plans

    def problem(self, arena: SequenceArena) -> str:
        return super().problem(arena) or (misfit(arena, self.active) if self.active else "")


class Lesson(NamedTuple):
    """What one level learned in one iteration."""

    plans: list[Floats]  # by player [S_i]
    gains: Floats  # [P] what a response gains on the levels below
    left: Floats  # [P] what there is still to learn; of a learner, what the lesson brought
    learned: list[Any]  # what learners go on from, as arrays


@settings()
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

    With a learned oracle, such as `dqn`, every level has a learner for each player, which goes on
    for `training` episodes an iteration; plan_k is what it plays then. A level becomes fixed when
    an iteration has brought neither of its learners more than `plateau`, and the learners of a new
    one begin as copies of those below. Nothing ends by itself.
    """

    levels: int = 3  # active at a time
    rate: float = 1.0  # how far a level moves to its best response in one iteration
    plateau: float = 0.01  # gain, in parts of the largest utility, at which a level has learned
    start: str = "first"  # the first policies: first, uniform, random, or response to uniform play
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    oracle: str = "exact"  # or a learner: dqn, ppo or sac
    training: int = 10_000  # episodes of a learner, an iteration
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    needs: ClassVar[str] = ""
    spreads: ClassVar[tuple[str, ...]] = ("sequences",)

    def __post_init__(self) -> None:
        check_common("p2sro", self)
        name, _ = check_oracle("p2sro", self.oracle)
        if name != "exact" and self.rate != 1.0:
            raise ConfigError(f"p2sro: rate is {self.rate}, must be 1 where {name} learns")
        if self.training < 1:
            raise ConfigError(f"p2sro: training is {self.training}, must be at least 1")
        if self.levels < 1:
            raise ConfigError(f"p2sro: levels is {self.levels}, must be at least 1")
        if not 0.0 < self.rate <= 1.0:
            raise ConfigError(f"p2sro: rate is {self.rate}, must be above 0 and at most 1")
        if not 0.0 <= self.plateau < 1.0:
            raise ConfigError(f"p2sro: plateau is {self.plateau}, must be from 0 to 1")

    def init(self, arena: SequenceArena, seed: int = 0) -> Pipeline:
        check_zero_sum("p2sro", arena)
        check_arena("p2sro", self.oracle, arena)
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
        oracle = load_oracle("p2sro", self.oracle, self.training)
        unit = largest_utility(arena, memory)
        known = _shares(memory.learned, self.levels)
        each = [
            (arena, replace(memory, learned=known[k]), k, self.rate, oracle)
            for k in range(self.levels)
        ]
        found: list[Lesson] = results(lesson, each)
        if is_learned(oracle):
            memory.learned = [array for one in found for array in one.learned]
            count = self.levels * arena.num_players
            memory.episodes += count * oracle.iterations * oracle.episodes
        elif not found[0].gains.max() > self.tolerance * unit:
            memory.end("no player gains by a policy outside its pool")
            return
        memory.active = [
            np.array([one.plans[player] for one in found]) for player in range(arena.num_players)
        ]
        if found[0].left.max() <= self.plateau * unit:
            self._fix_lowest(arena, memory, found[0].gains, not is_learned(oracle))

    def _fix_lowest(
        self, arena: SequenceArena, memory: Pipeline, gains: Floats, exact: bool
    ) -> None:
        before = [counts.copy() for counts in memory.counts]
        new = add_plans(arena, memory, [plans[:1] for plans in memory.active])
        meta = nash(memory)
        stuck = exact and not new and self.rate == 1.0
        if stuck and all(map(np.array_equal, meta, memory.meta)):
            memory.counts = before
            gain = float(gains.max())
            memory.end(f"every response is in the pools already, though one gains {gain:.2e}")
            return
        memory.active = [np.vstack([plans[1:], plans[-1:]]) for plans in memory.active]
        known = _shares(memory.learned, self.levels)
        memory.learned = [array for level in [*known[1:], known[-1]] for array in level]
        memory.note(meta)


def _shares(arrays: list[Any], count: int) -> list[list[Any]]:
    """The arrays of each level, of which all have as many."""
    size = len(arrays) // count
    return [arrays[k * size : (k + 1) * size] for k in range(count)]


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
    """What a level learns against all levels below it, from what it knows; changes nothing."""
    known = below(arena, memory, level)
    meta = memory.meta if level == 0 else nash(known)
    policy = mixed_policy(arena, known, meta)
    values = known.form.values(tuple(meta))
    reach = reach_of(arena, policy.probabilities)
    players = range(arena.num_players)
    starts = learners(arena, memory, oracle, players)
    plans, responses = [], []
    gains, left = np.zeros(len(players)), np.zeros(len(players))
    for player in players:
        seed = memory.seed + memory.iteration * len(players) + player + level * APART
        response = oracle.respond(arena, player, [Weighted(1.0, policy)], seed, starts[player])
        best = reach_of(arena, response.policy.probabilities)[row(arena, player)]
        old = memory.active[player][level]
        plan = best if rate == 1.0 else (1.0 - rate) * old + rate * best
        plans.append(plan)
        responses.append(response.policy)
        gains[player] = response.value - values[player]
        if rate < 1.0 or is_learned(oracle):
            cf_value = np.zeros(reach.size)
            arena.gradient(player, reach, cf_value)
            other = plan if rate < 1.0 else old
            left[player] = response.value - other @ cf_value[row(arena, player)] - cf_value[-1]
    return Lesson(plans, gains, left, arrays_of(oracle, responses))
