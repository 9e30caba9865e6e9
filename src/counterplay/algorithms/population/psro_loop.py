"""The loop of policy-space response oracles (PSRO), shared by the population methods.

At iteration 1 every pool gets its first policy. At t = 2, 3, ...

    responses     = an oracle's responses to the meta-strategy of iteration t - 1
    pools         = pools with the responses added
    payoffs       = values of all joint policies of the pools
    meta_strategy = meta_solver(payoffs)

A method consists of its responses and its meta-solver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np

from counterplay.algorithms.population.learned_oracles import (
    is_learned_oracle,
    restore_learners,
    save_learners,
)
from counterplay.algorithms.population.meta_solvers import MetaSolver, nash
from counterplay.algorithms.population.oracles import Oracle, Response, WeightedPolicy
from counterplay.algorithms.population.population import (
    InitialPolicy,
    Population,
    RelativeGain,
    add_plans,
    check_zero_sum,
    initial_plans,
    new_population,
    plan_from_policy,
    policy_from_meta_strategy,
    policy_from_plans,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints, SequenceArena
from counterplay.core.evaluation import judge
from counterplay.core.parallel import map_calls
from counterplay.core.policy import Policy
from counterplay.core.settings import settings
from counterplay.registry import get_registry_name

NO_GAIN = "no player gains by a policy outside its pool"
EQUILIBRIUM_TOLERANCE = 1e-9  # NashConv of an equilibrium, in units of the largest utility

ArenaT = TypeVar("ArenaT", bound=SequenceArena)


@dataclass(frozen=True)
class NewPlans:
    """The responses of one iteration."""

    plans: list[Floats]  # by player [k_i, S_i]
    gains: Floats  # [P] gain of each player by its best response
    is_exact: bool = True  # whether larger gains are impossible, so that gains of 0 end the loop


@dataclass(frozen=True)
class PSROLoop(Generic[ArenaT]):
    """The loop of one method on arenas of one kind."""

    initial_policy: str
    tolerance: float  # smaller gains, in units of the largest utility, end the loop
    respond: Callable[[ArenaT, Population], NewPlans]
    solve: MetaSolver
    end_reason: str = NO_GAIN  # what gains of 0 mean
    # the policy whose NashConv is stated at the end; None if the method finds no Nash equilibria
    final_policy: Callable[[ArenaT, Population], Policy] | None = policy_from_meta_strategy

    def iterate(self, arena: ArenaT, memory: Population, iterations: int) -> Population:
        """Run iterations, until the pools and the meta-strategy stop changing."""
        for _ in memory.begin_iterations(iterations):
            if not min(memory.pool_sizes):
                add_plans(arena, memory, initial_plans(arena, self.initial_policy, memory.seed))
                memory.record_meta_strategy(self.solve(memory))
                continue
            new = self.respond(arena, memory)
            gain = float(new.gains.max())
            if new.is_exact and not gain > self.tolerance * largest_utility(arena, memory):
                self._finish(arena, memory, self.end_reason)
                continue
            old_counts = [counts.copy() for counts in memory.counts]
            is_new = add_plans(arena, memory, new.plans)
            if not update_meta_strategy(memory, self.solve, is_new or not new.is_exact, old_counts):
                self._finish(arena, memory, describe_stuck(gain))
        return memory

    def _finish(self, arena: ArenaT, memory: Population, reason: str) -> None:
        """End the loop, and state the NashConv if the result is not a Nash equilibrium."""
        if self.final_policy is not None:
            gap = judge(arena, self.final_policy(arena, memory)).nash_conv
            scale = arena.num_players * largest_utility(arena, memory)
            if gap > max(self.tolerance, EQUILIBRIUM_TOLERANCE) * scale:
                reason = f"{reason}; this is not a Nash equilibrium, NashConv is {gap:.2e}"
        memory.finish(reason)


def update_meta_strategy(
    memory: Population, solve: MetaSolver, may_continue: bool, old_counts: list[Ints]
) -> bool:
    """Solve the meta-game, and record its solution unless nothing has changed.

    Args:
        may_continue: whether to record the solution even if it equals the last one.
        old_counts: the counts before this iteration, restored if nothing has changed.

    Returns:
        Whether the solution was recorded.
    """
    meta_strategy = solve(memory)
    if not may_continue and all(map(np.array_equal, meta_strategy, memory.meta_strategy)):
        memory.counts = old_counts
        return False
    memory.record_meta_strategy(meta_strategy)
    return True


def describe_stuck(gain: float) -> str:
    """Return the reason of an end at which best responses gain but are in the pools already."""
    return f"every response is in the pools already, though a best response gains {gain:.2e}"


def largest_utility(arena: SequenceArena, memory: Population) -> float:
    """Return the largest absolute utility, the unit of tolerances; of payoffs without a tree."""
    values = arena.utility if isinstance(arena, TreeArena) else memory.payoffs
    return float(np.abs(values).max(initial=0.0))


def compute_responses(arena: SequenceArena, memory: Population, oracle: Oracle) -> NewPlans:
    """Return every player's response to the mixtures of the others."""
    policy = policy_from_meta_strategy(arena, memory)
    values = memory.meta_game.values(tuple(memory.meta_strategy))
    players = range(arena.num_players)
    learners = restore_learners(arena, memory, oracle, players)
    first_seed = memory.seed + memory.iteration * arena.num_players
    opponents = [WeightedPolicy(1.0, policy)]
    calls = [(arena, p, opponents, first_seed + p, learners[p]) for p in players]
    responses: list[Response] = map_calls(oracle.respond, calls)
    save_learners(memory, oracle, [response.policy for response in responses], len(players))
    plans = [
        plan_from_policy(arena, response.policy, player)[None]
        for player, response in enumerate(responses)
    ]
    gains = np.array([response.value for response in responses]) - values
    return NewPlans(plans, gains, not is_learned_oracle(oracle))


def joint_opponents(
    arena: SequenceArena, memory: Population, player: int, joint: Floats
) -> list[WeightedPolicy]:
    """Return the joint policies of the others, weighted by a distribution [n_0, ..., n_{P-1}]."""
    weights = joint.sum(axis=player, keepdims=True)
    opponents = []
    for indices in np.argwhere(weights > 0.0):
        plans = [memory.plans[p][k] for p, k in enumerate(indices)]
        weight = float(weights[tuple(indices)])
        opponents.append(WeightedPolicy(weight, policy_from_plans(arena, plans)))
    return opponents


@settings()
class ZeroSumMethod:
    """Parameters and the returned policy of methods for two-player zero-sum games."""

    initial_policy: InitialPolicy = "first"  # first, uniform, random, or response (to uniform play)
    tolerance: RelativeGain = 1e-9  # it ends at gains up to this, in units of the largest utility
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    required_extra: ClassVar[str] = ""

    def policies(self, arena: SequenceArena, memory: Population) -> dict[str, Policy]:
        """Return the mixture of the pools as one policy."""
        return {"mixture": policy_from_meta_strategy(arena, memory)}


@settings()
class ZeroSumPSRO(ZeroSumMethod):
    """Base of methods that run the loop with the meta-solver `nash` and their own `respond`."""

    def init(self, arena: SequenceArena, seed: int = 0) -> Population:
        check_zero_sum(get_registry_name(self), arena)
        return new_population(arena, seed, Population)

    def step(self, arena: SequenceArena, memory: Population, iterations: int = 1) -> Population:
        loop = PSROLoop(self.initial_policy, self.tolerance, self.respond, nash)
        return loop.iterate(arena, memory, iterations)

    def respond(self, arena: SequenceArena, memory: Population) -> NewPlans:
        """Return new plans for both pools."""
        raise NotImplementedError
