"""Anytime PSRO: the pools are mixed to be least exploitable by any policy of the whole game."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from counterplay.algorithms.population.learned_oracles import (
    check_oracle,
    check_oracle_arena,
    learn_least_exploitable_mixture,
    load_learned_oracle,
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
from counterplay.algorithms.population.psro_loop import NO_GAIN, ZeroSumMethod, largest_utility
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.settings import PositiveInt, settings
from counterplay.registry import get_registry_name


@dataclass
class AnytimePopulation(Population):
    """Pools, and for each player a best plan against the least exploitable mixture of the other."""

    opponent_plans: list[Floats] = field(default_factory=list)  # by player [S_i]

    def find_mismatch(self, arena: SequenceArena) -> str:
        plans = [plan.reshape(1, -1) for plan in self.opponent_plans]
        return super().find_mismatch(arena) or (find_plan_mismatch(arena, plans) if plans else "")


@settings()
class AnytimePSROBase(ZeroSumMethod):
    """Parameters and iterations of Anytime PSRO and Self-Play PSRO."""

    oracle: str = "exact"  # or a learner: dqn, ppo or sac
    training_episodes: PositiveInt = 40_000  # of each learner per iteration
    num_rounds: PositiveInt = 10  # of solving the mixture and training the learner, per iteration
    pure_plans_only: ClassVar[bool] = True  # whether the opponent's mixed plan is left out

    def __post_init__(self) -> None:
        check_oracle(get_registry_name(self), self.oracle)

    def init(self, arena: SequenceArena, seed: int = 0) -> AnytimePopulation:
        check_zero_sum(get_registry_name(self), arena)
        check_oracle_arena(get_registry_name(self), self.oracle, arena)
        return new_population(arena, seed, AnytimePopulation)

    def step(
        self, arena: SequenceArena, memory: AnytimePopulation, iterations: int = 1
    ) -> AnytimePopulation:
        for _ in memory.begin_iterations(iterations):
            if self.oracle == "exact":
                self._iterate_exactly(arena, memory)
            elif isinstance(arena, TreeArena):
                self._iterate_with_learners(arena, memory)
        return memory

    def _iterate_exactly(self, arena: SequenceArena, memory: AnytimePopulation) -> None:
        """Add the plans of the last opponents, and solve for the least exploitable mixtures."""
        if not min(memory.pool_sizes):
            add_plans(arena, memory, initial_plans(arena, self.initial_policy, memory.seed))
        else:
            new_plans = [self._select_new_plans(arena, memory, player) for player in range(2)]
            if not add_plans(arena, memory, new_plans):
                memory.finish("all that the best opponents play is in the pools")
                return
        solutions = [
            solve_least_exploitable_mixture(arena, player, memory.plans[player])
            for player in range(2)
        ]
        memory.record_meta_strategy([solution.mixture for solution in solutions])
        memory.opponent_plans = [solution.opponent for solution in reversed(solutions)]
        gap = solutions[0].value + solutions[1].value
        if not gap > self.tolerance * largest_utility(arena, memory):
            memory.finish(NO_GAIN)

    def _select_new_plans(
        self, arena: SequenceArena, memory: AnytimePopulation, player: int
    ) -> Floats:
        """Return the plans [k, S_i] that the player adds, taken from its plan as an opponent."""
        opponent_plan = memory.opponent_plans[player]
        weights, pure = decompose_plan(arena, player, opponent_plan)
        order = np.argsort(-weights, kind="stable")
        new = [pure[k] for k in order if find_plan(memory.plans[player], pure[k]) is None][:1]
        if not self.pure_plans_only and len(weights) > 1:
            new.append(opponent_plan)
        return np.array(new).reshape(len(new), opponent_plan.size)

    def _iterate_with_learners(self, tree: TreeArena, memory: AnytimePopulation) -> None:
        """Train a learner against each pool, and add the plans that the learners found."""
        if not min(memory.pool_sizes):
            add_plans(tree, memory, initial_plans(tree, self.initial_policy, memory.seed))
            memory.record_meta_strategy([np.ones(1), np.ones(1)])
            return
        oracle = load_learned_oracle(get_registry_name(self), self.oracle, self.training_episodes)
        learners = restore_learners(tree, memory, oracle, (1, 0))
        results = [
            learn_least_exploitable_mixture(
                tree,
                player,
                memory,
                oracle,
                self.num_rounds,
                memory.seed + (2 * memory.iteration + player) * self.num_rounds,
                learners[player],
            )
            for player in range(2)
        ]
        save_learners(memory, oracle, [result.learner for result in results], 2)
        new_plans = [
            [result.plan] if self.pure_plans_only else [result.plan, result.opponent]
            for result in reversed(results)
        ]
        add_plans(tree, memory, [np.array(plans) for plans in new_plans])
        mixtures = [np.zeros(count) for count in memory.pool_sizes]
        for mixture, result in zip(mixtures, results, strict=True):
            mixture[: result.mixture.size] = result.mixture
        memory.record_meta_strategy(mixtures)


@settings()
class AnytimePSRO(AnytimePSROBase):
    """Anytime PSRO (McAleer et al., 2022), in the limit of exact play. At t = 2, 3, ...:

        mixture_i, opponent_i = the solution of the game in which player i mixes its pool and the
                                other player plays any policy, by linear programming
        pool_j = pool_j and the pure policy of largest weight in opponent_i that it lacks

    In the paper a no-regret learner over the pool and a learned best response train against each
    other; they converge to this solution. Pools only grow, so exploitability never rises. Every
    pure policy of opponent_i is a best response to mixture_i. An arbitrary best response could be a
    tied one that the pool has already, and the method would stall. If the pools contain all of both
    opponents, the mixtures are an equilibrium, because the value of the matrix between the pools is
    then the same for both players.

    With a learned oracle, such as `dqn`, a learner stands in for the opponent: see
    `learned_oracles.learn_least_exploitable_mixture`. Its errors can make exploitability rise, and
    the method does not end by itself.
    """
