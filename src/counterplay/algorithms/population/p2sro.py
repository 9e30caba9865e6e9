"""Pipeline PSRO: several levels improve in parallel, each against all levels below it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

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
    InitialPolicy,
    LearnerArrays,
    Population,
    RelativeGain,
    add_plans,
    check_zero_sum,
    compute_payoffs,
    find_plan_mismatch,
    initial_plans,
    new_population,
    plan_from_policy,
    player_sequences,
    policy_from_meta_strategy,
    policy_from_mixtures,
    reach_from_probabilities,
)
from counterplay.algorithms.population.psro_loop import (
    NO_GAIN,
    describe_stuck,
    largest_utility,
    update_meta_strategy,
)
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.parallel import map_calls
from counterplay.core.policy import Policy
from counterplay.core.settings import PositiveInt, PositiveProbability, settings
from counterplay.errors import ConfigError

LEVEL_SEED_STRIDE = 1_000_003  # distance between the seeds of two levels


@dataclass
class PipelinePopulation(Population):
    """The fixed levels, as pools, and the active levels above them, lowest first."""

    active_plans: list[Floats] = field(default_factory=list)  # by player [levels, S_i]

    def find_mismatch(self, arena: SequenceArena) -> str:
        return super().find_mismatch(arena) or (
            find_plan_mismatch(arena, self.active_plans) if self.active_plans else ""
        )


class LevelUpdate(NamedTuple):
    """The new state of a level after one iteration."""

    plans: list[Floats]  # by player [S_i]
    gains: Floats  # [P] gain of the response over the mixture of the levels below
    # [P] gain that a best response still has over the new plan; of a learner, the improvement of
    # its plan by this iteration
    remaining_gain: Floats
    learner_arrays: LearnerArrays  # states of the learners


@settings()
class P2SRO:
    """P2SRO, pipeline PSRO (McAleer, Lanier, Fox and Baldi, 2020), with synchronous levels.

    At t = 2, 3, ..., with the levels of iteration t - 1, for each active level k and player:

        mixtures = an equilibrium of the matrix between all levels below k, fixed and active
        plan_k   = (1 - step_size) * plan_k + step_size * a best response to the other's mixture

    Then the lowest active level becomes fixed if neither player can gain more than `plateau_gain`
    on it, and a new level starts at the top. The lowest active level always faces fixed opponents,
    which keeps the guarantee of the double oracle; the levels above it have a head start when their
    turn comes. Levels are independent within an iteration and can run on different machines.

    A `step_size` below 1 models learners that improve gradually; then more levels need fewer
    iterations. With exact responses and step_size = 1 the fixed levels are those of `psro` for any
    number of active levels, bit for bit.

    With a learned oracle, such as `dqn`, every level has a learner for each player, which plays
    `training_episodes` more per iteration; plan_k is its policy. A level becomes fixed when an
    iteration has improved neither of its learners by more than `plateau_gain`, and the learners of
    a new level start as copies of those below. The method does not end by itself then.
    """

    num_active_levels: PositiveInt = 3
    step_size: PositiveProbability = 1.0  # of a level towards its best response
    plateau_gain: RelativeGain = 0.01  # a level with smaller gains becomes fixed
    initial_policy: InitialPolicy = "first"  # first, uniform, random, or response (to uniform play)
    tolerance: RelativeGain = 1e-9  # it ends at gains up to this, in units of the largest utility
    oracle: str = "exact"  # or a learner: dqn, ppo or sac
    training_episodes: PositiveInt = 10_000  # of each learner per iteration
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    required_extra: ClassVar[str] = ""
    distributes_on: ClassVar[tuple[str, ...]] = ("sequences",)

    def __post_init__(self) -> None:
        name, _ = check_oracle("p2sro", self.oracle)
        if name != "exact" and self.step_size != 1.0:
            raise ConfigError(
                f"p2sro: step_size is {self.step_size}, must be 1 with the learned oracle {name}"
            )

    def init(self, arena: SequenceArena, seed: int = 0) -> PipelinePopulation:
        check_zero_sum("p2sro", arena)
        check_oracle_arena("p2sro", self.oracle, arena)
        return new_population(arena, seed, PipelinePopulation)

    def step(
        self, arena: SequenceArena, memory: PipelinePopulation, iterations: int = 1
    ) -> PipelinePopulation:
        for _ in memory.begin_iterations(iterations):
            self._iterate(arena, memory)
        return memory

    def policies(self, arena: SequenceArena, memory: PipelinePopulation) -> dict[str, Policy]:
        """Return the mixture of the fixed levels, which has the guarantee, and that of all."""
        all_levels: Population = memory
        mixtures = memory.meta_strategy
        if memory.active_plans:
            all_levels = population_below(arena, memory, self.num_active_levels)
            mixtures = nash(all_levels)
        return {
            "mixture": policy_from_meta_strategy(arena, memory),
            "with_active": policy_from_mixtures(arena, all_levels, mixtures),
        }

    def _iterate(self, arena: SequenceArena, memory: PipelinePopulation) -> None:
        if not min(memory.pool_sizes):
            first = initial_plans(arena, self.initial_policy, memory.seed)
            add_plans(arena, memory, first)
            memory.active_plans = [
                np.repeat(plans, self.num_active_levels, axis=0) for plans in first
            ]
            memory.record_meta_strategy(nash(memory))
            return
        oracle = load_oracle("p2sro", self.oracle, self.training_episodes)
        scale = largest_utility(arena, memory)
        arrays = _split_by_level(memory.learner_arrays, self.num_active_levels)
        calls = [
            (arena, replace(memory, learner_arrays=arrays[k]), k, self.step_size, oracle)
            for k in range(self.num_active_levels)
        ]
        updates: list[LevelUpdate] = map_calls(update_level, calls)
        if is_learned_oracle(oracle):
            memory.learner_arrays = [array for level in updates for array in level.learner_arrays]
            count = self.num_active_levels * arena.num_players
            memory.learner_episodes += count * oracle.iterations * oracle.num_episodes
        elif not updates[0].gains.max() > self.tolerance * scale:
            memory.finish(NO_GAIN)
            return
        memory.active_plans = [
            np.array([level.plans[player] for level in updates])
            for player in range(arena.num_players)
        ]
        if updates[0].remaining_gain.max() <= self.plateau_gain * scale:
            may_continue = is_learned_oracle(oracle) or self.step_size < 1.0
            self._freeze_lowest_level(arena, memory, float(updates[0].gains.max()), may_continue)

    def _freeze_lowest_level(
        self, arena: SequenceArena, memory: PipelinePopulation, gain: float, may_continue: bool
    ) -> None:
        """Move the lowest active level to the fixed ones, and start a new level at the top."""
        old_counts = [counts.copy() for counts in memory.counts]
        is_new = add_plans(arena, memory, [plans[:1] for plans in memory.active_plans])
        if not update_meta_strategy(memory, nash, is_new or may_continue, old_counts):
            memory.finish(describe_stuck(gain))
            return
        memory.active_plans = [np.vstack([plans[1:], plans[-1:]]) for plans in memory.active_plans]
        levels = _split_by_level(memory.learner_arrays, self.num_active_levels)
        memory.learner_arrays = [array for level in [*levels[1:], levels[-1]] for array in level]


def _split_by_level(arrays: LearnerArrays, num_levels: int) -> list[LearnerArrays]:
    """Return the arrays of each level; all levels have equally many."""
    size = len(arrays) // num_levels
    return [arrays[k * size : (k + 1) * size] for k in range(num_levels)]


def population_below(arena: SequenceArena, memory: PipelinePopulation, level: int) -> Population:
    """Return the fixed levels and the active levels below a level, with all payoffs."""
    if level == 0:
        return memory
    plans = [
        np.vstack([fixed, active[:level]])
        for fixed, active in zip(memory.plans, memory.active_plans, strict=True)
    ]
    below = replace(memory, plans=plans)
    below.payoffs = compute_payoffs(arena, below, memory.pool_sizes)
    return below


def update_level(
    arena: SequenceArena, memory: PipelinePopulation, level: int, step_size: float, oracle: Oracle
) -> LevelUpdate:
    """Return the update of a level against all levels below it; the memory is not changed."""
    below = population_below(arena, memory, level)
    mixtures = memory.meta_strategy if level == 0 else nash(below)
    policy = policy_from_mixtures(arena, below, mixtures)
    values = below.meta_game.values(tuple(mixtures))
    reach = reach_from_probabilities(arena, policy.probabilities)
    players = range(arena.num_players)
    learners = restore_learners(arena, memory, oracle, players)
    plans, responses = [], []
    gains, remaining_gain = np.zeros(len(players)), np.zeros(len(players))
    for player in players:
        seed = memory.seed + memory.iteration * len(players) + player + level * LEVEL_SEED_STRIDE
        response = oracle.respond(
            arena, player, [WeightedPolicy(1.0, policy)], seed, learners[player]
        )
        best = plan_from_policy(arena, response.policy, player)
        old = memory.active_plans[player][level]
        plan = best if step_size == 1.0 else (1.0 - step_size) * old + step_size * best
        plans.append(plan)
        responses.append(response.policy)
        gains[player] = response.value - values[player]
        if step_size < 1.0 or is_learned_oracle(oracle):
            cf_value = np.zeros(reach.size)
            arena.gradient(player, reach, cf_value)
            compared = plan if step_size < 1.0 else old
            remaining_gain[player] = (
                response.value - compared @ cf_value[player_sequences(arena, player)] - cf_value[-1]
            )
    return LevelUpdate(plans, gains, remaining_gain, learner_arrays(oracle, responses))
