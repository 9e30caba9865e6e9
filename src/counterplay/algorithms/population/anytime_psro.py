"""Anytime PSRO: the pools are mixed so that nobody, inside or outside, gains much."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from counterplay.algorithms.population.learned_oracles import (
    check_oracle,
    check_oracle_arena,
    learn_least_exploitable_mixture,
    load_oracle,
    restore_learners,
    save_learners,
)
from counterplay.algorithms.population.least_exploitable import (
    decompose_plan,
    solve_least_exploitable_mixture,
)
from counterplay.algorithms.population.population import (
    Population,
    add_plans,
    check_zero_sum,
    find_plan,
    find_plan_mismatch,
    initial_plans,
    new_population,
)
from counterplay.algorithms.population.psro_loop import (
    MixturePolicies,
    check_common_fields,
    largest_utility,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.registry import get_registry_name


@dataclass
class AnytimePopulation(Population):
    """Pools, and what each player does best against the other's pool."""

    opponent_plans: list[Floats] = field(default_factory=list)  # by player [S_i] a plan

    def find_mismatch(self, arena: SequenceArena) -> str:
        plans = [plan.reshape(1, -1) for plan in self.opponent_plans]
        return super().find_mismatch(arena) or (find_plan_mismatch(arena, plans) if plans else "")


@settings()
class AnytimePSROBase(MixturePolicies):
    """The choices of both methods in which pools meet an opponent from outside."""

    initial_policy: str = (
        "first"  # the first policies: first, uniform, random, or response to uniform play
    )
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    oracle: str = "exact"  # or a learner: dqn, ppo or sac
    training_episodes: int = 40_000  # episodes of a learner, an iteration
    num_rounds: int = 10  # of mixture and learners, an iteration
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    required_extra: ClassVar[str] = ""
    pure_plans_only: ClassVar[bool] = True  # the opponent's whole plan does not join

    def __post_init__(self) -> None:
        name = get_registry_name(self)
        check_common_fields(name, self)
        check_oracle(name, self.oracle)
        for one in ("training_episodes", "num_rounds"):
            if getattr(self, one) < 1:
                raise ConfigError(f"{name}: {one} is {getattr(self, one)}, must be at least 1")

    def init(self, arena: SequenceArena, seed: int = 0) -> AnytimePopulation:
        check_zero_sum(get_registry_name(self), arena)
        check_oracle_arena(get_registry_name(self), self.oracle, arena)
        return new_population(arena, seed, AnytimePopulation)

    def step(
        self, arena: SequenceArena, memory: AnytimePopulation, iterations: int = 1
    ) -> AnytimePopulation:
        for _ in range(iterations):
            memory.iteration += 1
            if memory.finished:
                continue
            if self.oracle == "exact":
                iterate_exactly(
                    arena, memory, self.initial_policy, self.tolerance, self.pure_plans_only
                )
            elif isinstance(arena, TreeArena):
                iterate_with_learners(arena, memory, self, self.pure_plans_only)
        return memory


@settings()
class AnytimePSRO(AnytimePSROBase):
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


def iterate_with_learners(
    tree: TreeArena, memory: AnytimePopulation, config: Any, pure_plans_only: bool
) -> None:
    """One iteration with learners: a race over each pool, and all that they learned joins."""
    if not min(memory.pool_sizes):
        add_plans(tree, memory, initial_plans(tree, config.initial_policy, memory.seed))
        memory.record_meta_strategy([np.ones(1), np.ones(1)])
        return
    oracle = load_oracle("anytime_psro", config.oracle, config.training_episodes)
    starts = restore_learners(tree, memory, oracle, (1, 0))
    races = [
        learn_least_exploitable_mixture(
            tree,
            player,
            memory,
            oracle,
            config.num_rounds,
            memory.seed + (2 * memory.iteration + player) * config.num_rounds,
            starts[player],
        )
        for player in range(2)
    ]
    save_learners(memory, oracle, [one.learner for one in races], 2)
    found = [[one.plan] if pure_plans_only else [one.plan, one.opponent] for one in reversed(races)]
    add_plans(tree, memory, [np.array(plans) for plans in found])
    mixtures = [np.zeros(count) for count in memory.pool_sizes]
    for mixture, one in zip(mixtures, races, strict=True):
        mixture[: one.mixture.size] = one.mixture
    memory.record_meta_strategy(mixtures)


def iterate_exactly(
    arena: SequenceArena,
    memory: AnytimePopulation,
    initial_policy: str,
    tolerance: float,
    pure_plans_only: bool,
) -> None:
    """One iteration; `alone` leaves out the opponent's whole plan, which SP-PSRO adds as well."""
    if not min(memory.pool_sizes):
        add_plans(arena, memory, initial_plans(arena, initial_policy, memory.seed))
    else:
        found = [_select_new_plans(arena, memory, player, pure_plans_only) for player in range(2)]
        if not add_plans(arena, memory, found):
            memory.finish("all that the best opponents play is in the pools")
            return
    least = [
        solve_least_exploitable_mixture(arena, player, memory.plans[player]) for player in range(2)
    ]
    memory.record_meta_strategy([part.mixture for part in least])
    memory.opponent_plans = [part.opponent for part in reversed(least)]
    gap = least[0].value + least[1].value
    if not gap > tolerance * largest_utility(arena, memory):
        memory.finish("no player gains by a policy outside its pool")


def _select_new_plans(
    arena: SequenceArena, memory: AnytimePopulation, player: int, pure_plans_only: bool
) -> Floats:
    """What the player adds: it was the other's opponent."""
    whole = memory.opponent_plans[player]
    weights, pure = decompose_plan(arena, player, whole)
    order = np.argsort(-weights, kind="stable")
    new = [pure[k] for k in order if find_plan(memory.plans[player], pure[k]) is None][:1]
    if not pure_plans_only and len(weights) > 1:
        new.append(whole)
    return np.array(new).reshape(len(new), whole.size)
