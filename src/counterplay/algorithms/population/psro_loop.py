"""The loop that the family shares: responses join the pools, and the pools are mixed anew.

At iteration 1 every pool gets its first policy. At t = 2, 3, ...

    found = responses to the meta-strategy of t - 1, by an oracle
    pools = pools and found; payoffs between all of their policies
    meta  = what a meta-solver makes of the payoffs

A method says which responses it wants and which meta-solver; that is all that tells it from others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterplay.algorithms.population.learned_oracles import (
    is_learned_oracle,
    restore_learners,
    save_learners,
)
from counterplay.algorithms.population.meta_solvers import MetaSolver
from counterplay.algorithms.population.oracles import Oracle, WeightedPolicy
from counterplay.algorithms.population.population import (
    INITIAL_POLICIES,
    Population,
    add_plans,
    initial_plans,
    player_sequences,
    policy_from_mixtures,
    policy_from_plans,
    reach_from_probabilities,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.parallel import map_calls
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError


@dataclass(frozen=True)
class NewPlans:
    """New plans [k_i, S_i] for every player, and what each gains by its best one [P]."""

    plans: list[Floats]
    gains: Floats
    is_exact: bool = True  # whether there is nothing to gain where nothing was found


ResponseFunction = Callable[[Any, Any], NewPlans]


def iterate(
    arena: SequenceArena,
    memory: Any,
    iterations: int,
    initial_policy: str,
    tolerance: float,
    respond: ResponseFunction,
    solve: MetaSolver,
) -> Any:
    """So many iterations, or as many as change anything."""
    for _ in range(iterations):
        memory.iteration += 1
        if memory.finished:
            continue
        if not min(memory.pool_sizes):
            add_plans(arena, memory, initial_plans(arena, initial_policy, memory.seed))
            memory.record_meta_strategy(solve(memory))
            continue
        found = respond(arena, memory)
        if found.is_exact and not found.gains.max() > tolerance * largest_utility(arena, memory):
            memory.finish("no player gains by a policy outside its pool")
            continue
        before = [counts.copy() for counts in memory.counts]
        new = add_plans(arena, memory, found.plans)
        meta = solve(memory)
        if found.is_exact and not new and all(map(np.array_equal, meta, memory.meta_strategy)):
            memory.counts = before
            memory.finish(
                f"every response is in the pools already, though one gains {found.gains.max():.2e}"
            )
            continue
        memory.record_meta_strategy(meta)
    return memory


def largest_utility(arena: SequenceArena, memory: Population) -> float:
    """The size of utilities, by which gains are measured."""
    values = arena.utility if isinstance(arena, TreeArena) else memory.payoffs
    return float(np.abs(values).max(initial=0.0))


def compute_responses(arena: SequenceArena, memory: Population, oracle: Oracle) -> NewPlans:
    """Everybody's response to the mixtures of the others."""
    policy = policy_from_mixtures(arena, memory, memory.meta_strategy)
    values = memory.meta_game.values(tuple(memory.meta_strategy))
    players = range(arena.num_players)
    starts = restore_learners(arena, memory, oracle, players)
    first = memory.seed + memory.iteration * arena.num_players
    others = [WeightedPolicy(1.0, policy)]
    each = [(arena, player, others, first + player, starts[player]) for player in players]
    found = map_calls(oracle.respond, each)
    responses = [one.policy for one in found]
    gains = np.array([one.value for one in found]) - values
    save_learners(memory, oracle, responses, len(players))
    plans = [
        reach_from_probabilities(arena, response.probabilities)[
            None, player_sequences(arena, player)
        ]
        for player, response in enumerate(responses)
    ]
    return NewPlans(plans, gains, not is_learned_oracle(oracle))


def joint_opponents(
    arena: SequenceArena, memory: Population, player: int, joint: Floats
) -> list[WeightedPolicy]:
    """What the others do together, given a table over all policies with the sum 1."""
    weights = joint.sum(axis=player, keepdims=True)
    found = []
    for place in np.argwhere(weights > 0.0):
        plans = [memory.plans[p][k] for p, k in enumerate(place)]
        found.append(WeightedPolicy(float(weights[tuple(place)]), policy_from_plans(arena, plans)))
    return found


def check_common_fields(algorithm_name: str, config: Any) -> None:
    """Refuse a start or a tolerance that makes no sense."""
    if config.initial_policy not in INITIAL_POLICIES:
        must = f"must be one of {', '.join(INITIAL_POLICIES)}"
        raise ConfigError(f"{algorithm_name}: initial_policy is {config.initial_policy!r}, {must}")
    if not 0.0 <= config.tolerance < 1.0:
        raise ConfigError(f"{algorithm_name}: tolerance is {config.tolerance}, must be from 0 to 1")


class MixturePolicies:
    """What every method whose answer is a mixture for each player makes of its memory."""

    def policies(self, arena: SequenceArena, memory: Population) -> dict[str, Policy]:
        """The pools mixed as the meta-strategy says, as one policy."""
        return {"mixture": policy_from_mixtures(arena, memory, memory.meta_strategy)}
