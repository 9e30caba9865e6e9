"""Anytime PSRO: the pools are mixed so that nobody, inside or outside, gains much."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from counterplay.arena import Floats, SequenceArena
from counterplay.errors import ConfigError
from counterplay.population.learned import (
    check_arena,
    check_oracle,
    keep,
    learners,
    load_oracle,
    race,
)
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
from counterplay.registry import spec_name
from counterplay.settings import settings
from counterplay.tree import Tree


@dataclass
class Opposed(Population):
    """Pools, and what each player does best against the other's pool."""

    opponents: list[Floats] = field(default_factory=list)  # by player [S_i] a plan

    def problem(self, arena: SequenceArena) -> str:
        plans = [plan.reshape(1, -1) for plan in self.opponents]
        return super().problem(arena) or (misfit(arena, plans) if plans else "")


@settings()
class Opposing(Mixing):
    """The choices of both methods in which pools meet an opponent from outside."""

    start: str = "first"  # the first policies: first, uniform, random, or response to uniform play
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    oracle: str = "exact"  # or a learner: dqn, ppo or sac
    training: int = 40_000  # episodes of a learner, an iteration
    turns: int = 10  # of mixture and learners, an iteration
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    needs: ClassVar[str] = ""
    alone: ClassVar[bool] = True  # the opponent's whole plan does not join

    def __post_init__(self) -> None:
        name = spec_name(self)
        check_common(name, self)
        check_oracle(name, self.oracle)
        for one in ("training", "turns"):
            if getattr(self, one) < 1:
                raise ConfigError(f"{name}: {one} is {getattr(self, one)}, must be at least 1")

    def init(self, arena: SequenceArena, seed: int = 0) -> Opposed:
        check_zero_sum(spec_name(self), arena)
        check_arena(spec_name(self), self.oracle, arena)
        return new_population(arena, seed, Opposed)

    def step(self, arena: SequenceArena, memory: Opposed, iterations: int = 1) -> Opposed:
        for _ in range(iterations):
            memory.iteration += 1
            if memory.finished:
                continue
            if self.oracle == "exact":
                advance(arena, memory, self.start, self.tolerance, self.alone)
            elif isinstance(arena, Tree):
                learn(arena, memory, self, self.alone)
        return memory


@settings()
class AnytimePSRO(Opposing):
    """Anytime PSRO (McAleer et al., 2022), in the limit of exact play. At t = 2, 3, ...:

        mixture_i, opponent_i = both sides of the game in which player i mixes its pool and the
                                other plays anything, by linear programming
        pool_j = pool_j and the pure policy of opponent_i, of largest weight, that is not there yet

    The paper lets a no-regret learner over the pool and a responder learn against each other; that
    is what they converge to. Pools only grow, so exploitability never rises. Every pure policy of
    opponent_i is a best response to mixture_i; taking any best response can stall, since a tied one
    may be in the pool already. If all of opponent_i is there, for both players, the mixtures are an
    equilibrium: the value of the matrix between the pools is then the same seen from both sides.

    With a learned oracle, such as `dqn`, a learner takes the other's place: see `learned.race`.
    Exploitability may rise then, by what it misses, and nothing ends by itself.
    """


def learn(tree: Tree, memory: Opposed, method: Any, alone: bool) -> None:
    """One iteration with learners: a race over each pool, and all that they learned joins."""
    if not min(memory.shape):
        add_plans(tree, memory, start_plans(tree, method.start, memory.seed))
        memory.note([np.ones(1), np.ones(1)])
        return
    oracle = load_oracle("anytime_psro", method.oracle, method.training)
    starts = learners(tree, memory, oracle, (1, 0))
    races = [
        race(
            tree,
            player,
            memory,
            oracle,
            method.turns,
            memory.seed + (2 * memory.iteration + player) * method.turns,
            starts[player],
        )
        for player in range(2)
    ]
    keep(memory, oracle, [one.learner for one in races], 2)
    found = [[one.plan] if alone else [one.plan, one.opponent] for one in reversed(races)]
    add_plans(tree, memory, [np.array(plans) for plans in found])
    mixtures = [np.zeros(count) for count in memory.shape]
    for mixture, one in zip(mixtures, races, strict=True):
        mixture[: one.mixture.size] = one.mixture
    memory.note(mixtures)


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
