"""Pipeline PSRO: several levels learn at once, each against all levels below it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from counterplay.algorithms.population.learned_oracles import (
    check_oracle,
    check_oracle_arena,
    is_learned_oracle,
    learner_arrays,
    load_oracle,
    restore_learners,
)
from counterplay.algorithms.population.meta_solvers import nash
from counterplay.algorithms.population.oracles import Oracle, WeightedPolicy
from counterplay.algorithms.population.population import (
    Population,
    add_plans,
    check_zero_sum,
    compute_payoffs,
    find_plan_mismatch,
    initial_plans,
    new_population,
    player_sequences,
    policy_from_mixtures,
    reach_from_probabilities,
)
from counterplay.algorithms.population.psro_loop import check_common_fields, largest_utility
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.parallel import map_calls
from counterplay.core.policy import Policy
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

LEVEL_SEED_STRIDE = 1_000_003  # seeds of levels


@dataclass
class PipelinePopulation(Population):
    """The fixed levels, as pools, and above them the active ones, lowest first."""

    active_plans: list[Floats] = field(default_factory=list)  # by player [levels, S_i] plans

    def find_mismatch(self, arena: SequenceArena) -> str:
        return super().find_mismatch(arena) or (
            find_plan_mismatch(arena, self.active_plans) if self.active_plans else ""
        )


class LevelUpdate(NamedTuple):
    """What one level learned in one iteration."""

    plans: list[Floats]  # by player [S_i]
    gains: Floats  # [P] what a response gains on the levels below
    remaining_gain: (
        Floats  # [P] what there is still to learn; of a learner, what the lesson brought
    )
    learner_arrays: list[Any]  # what learners go on from, as arrays


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

    num_active_levels: int = 3  # active at a time
    step_size: float = 1.0  # how far a level moves to its best response in one iteration
    plateau_gain: float = (
        0.01  # gain, in parts of the largest utility, at which a level has learned
    )
    initial_policy: str = (
        "first"  # the first policies: first, uniform, random, or response to uniform play
    )
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    oracle: str = "exact"  # or a learner: dqn, ppo or sac
    training_episodes: int = 10_000  # episodes of a learner, an iteration
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    required_extra: ClassVar[str] = ""
    distributes_on: ClassVar[tuple[str, ...]] = ("sequences",)

    def __post_init__(self) -> None:
        check_common_fields("p2sro", self)
        name, _ = check_oracle("p2sro", self.oracle)
        if name != "exact" and self.step_size != 1.0:
            raise ConfigError(
                f"p2sro: step_size is {self.step_size}, must be 1 where {name} learns"
            )
        if self.training_episodes < 1:
            raise ConfigError(
                f"p2sro: training_episodes is {self.training_episodes}, must be at least 1"
            )
        if self.num_active_levels < 1:
            raise ConfigError(
                f"p2sro: num_active_levels is {self.num_active_levels}, must be at least 1"
            )
        if not 0.0 < self.step_size <= 1.0:
            raise ConfigError(
                f"p2sro: step_size is {self.step_size}, must be above 0 and at most 1"
            )
        if not 0.0 <= self.plateau_gain < 1.0:
            raise ConfigError(f"p2sro: plateau_gain is {self.plateau_gain}, must be from 0 to 1")

    def init(self, arena: SequenceArena, seed: int = 0) -> PipelinePopulation:
        check_zero_sum("p2sro", arena)
        check_oracle_arena("p2sro", self.oracle, arena)
        return new_population(arena, seed, PipelinePopulation)

    def step(
        self, arena: SequenceArena, memory: PipelinePopulation, iterations: int = 1
    ) -> PipelinePopulation:
        for _ in range(iterations):
            memory.iteration += 1
            if not memory.finished:
                self._advance(arena, memory)
        return memory

    def policies(self, arena: SequenceArena, memory: PipelinePopulation) -> dict[str, Policy]:
        """The fixed levels mixed, which carries the guarantee, and all levels mixed."""
        everything = (
            population_below(arena, memory, self.num_active_levels)
            if memory.active_plans
            else memory
        )
        meta = nash(everything) if memory.active_plans else memory.meta_strategy
        return {
            "mixture": policy_from_mixtures(arena, memory, memory.meta_strategy),
            "with_active": policy_from_mixtures(arena, everything, meta),
        }

    def _advance(self, arena: SequenceArena, memory: PipelinePopulation) -> None:
        if not min(memory.pool_sizes):
            first = initial_plans(arena, self.initial_policy, memory.seed)
            add_plans(arena, memory, first)
            memory.active_plans = [
                np.repeat(plans, self.num_active_levels, axis=0) for plans in first
            ]
            memory.record_meta_strategy(nash(memory))
            return
        oracle = load_oracle("p2sro", self.oracle, self.training_episodes)
        unit = largest_utility(arena, memory)
        known = _split_by_level(memory.learner_arrays, self.num_active_levels)
        each = [
            (arena, replace(memory, learner_arrays=known[k]), k, self.step_size, oracle)
            for k in range(self.num_active_levels)
        ]
        found: list[LevelUpdate] = map_calls(update_level, each)
        if is_learned_oracle(oracle):
            memory.learner_arrays = [array for one in found for array in one.learner_arrays]
            count = self.num_active_levels * arena.num_players
            memory.learner_episodes += count * oracle.iterations * oracle.num_episodes
        elif not found[0].gains.max() > self.tolerance * unit:
            memory.finish("no player gains by a policy outside its pool")
            return
        memory.active_plans = [
            np.array([one.plans[player] for one in found]) for player in range(arena.num_players)
        ]
        if found[0].remaining_gain.max() <= self.plateau_gain * unit:
            self._freeze_lowest_level(arena, memory, found[0].gains, not is_learned_oracle(oracle))

    def _freeze_lowest_level(
        self, arena: SequenceArena, memory: PipelinePopulation, gains: Floats, exact: bool
    ) -> None:
        before = [counts.copy() for counts in memory.counts]
        new = add_plans(arena, memory, [plans[:1] for plans in memory.active_plans])
        meta = nash(memory)
        stuck = exact and not new and self.step_size == 1.0
        if stuck and all(map(np.array_equal, meta, memory.meta_strategy)):
            memory.counts = before
            gain = float(gains.max())
            memory.finish(f"every response is in the pools already, though one gains {gain:.2e}")
            return
        memory.active_plans = [np.vstack([plans[1:], plans[-1:]]) for plans in memory.active_plans]
        known = _split_by_level(memory.learner_arrays, self.num_active_levels)
        memory.learner_arrays = [array for level in [*known[1:], known[-1]] for array in level]
        memory.record_meta_strategy(meta)


def _split_by_level(arrays: list[Any], count: int) -> list[list[Any]]:
    """The arrays of each level, of which all have as many."""
    size = len(arrays) // count
    return [arrays[k * size : (k + 1) * size] for k in range(count)]


def population_below(arena: SequenceArena, memory: PipelinePopulation, level: int) -> Population:
    """The fixed levels and those active ones below a level, with all payoffs."""
    if level == 0:
        return memory
    plans = [
        np.vstack([fixed, active[:level]])
        for fixed, active in zip(memory.plans, memory.active_plans, strict=True)
    ]
    found = replace(memory, plans=plans)
    found.payoffs = compute_payoffs(arena, found, memory.pool_sizes)
    return found


def update_level(
    arena: SequenceArena, memory: PipelinePopulation, level: int, step_size: float, oracle: Oracle
) -> LevelUpdate:
    """What a level learns against all levels below it, from what it knows; changes nothing."""
    known = population_below(arena, memory, level)
    meta = memory.meta_strategy if level == 0 else nash(known)
    policy = policy_from_mixtures(arena, known, meta)
    values = known.meta_game.values(tuple(meta))
    reach = reach_from_probabilities(arena, policy.probabilities)
    players = range(arena.num_players)
    starts = restore_learners(arena, memory, oracle, players)
    plans, responses = [], []
    gains, left = np.zeros(len(players)), np.zeros(len(players))
    for player in players:
        seed = memory.seed + memory.iteration * len(players) + player + level * LEVEL_SEED_STRIDE
        response = oracle.respond(
            arena, player, [WeightedPolicy(1.0, policy)], seed, starts[player]
        )
        best = reach_from_probabilities(arena, response.policy.probabilities)[
            player_sequences(arena, player)
        ]
        old = memory.active_plans[player][level]
        plan = best if step_size == 1.0 else (1.0 - step_size) * old + step_size * best
        plans.append(plan)
        responses.append(response.policy)
        gains[player] = response.value - values[player]
        if step_size < 1.0 or is_learned_oracle(oracle):
            cf_value = np.zeros(reach.size)
            arena.gradient(player, reach, cf_value)
            other = plan if step_size < 1.0 else old
            left[player] = (
                response.value - other @ cf_value[player_sequences(arena, player)] - cf_value[-1]
            )
    return LevelUpdate(plans, gains, left, learner_arrays(oracle, responses))
