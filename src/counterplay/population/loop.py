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

from counterplay.arena import Floats, SequenceArena
from counterplay.calls import results
from counterplay.errors import ConfigError
from counterplay.policy import Policy
from counterplay.population.learned import is_learned, keep, learners
from counterplay.population.meta_solvers import Solver
from counterplay.population.oracles import Oracle, Weighted
from counterplay.population.pools import (
    STARTS,
    Population,
    add_plans,
    mixed_policy,
    plan_policy,
    reach_of,
    row,
    start_plans,
)
from counterplay.tree import Tree


@dataclass(frozen=True)
class NewPlans:
    """New plans [k_i, S_i] for every player, and what each gains by its best one [P]."""

    plans: list[Floats]
    gains: Floats
    exact: bool = True  # whether there is nothing to gain where nothing was found


Respond = Callable[[Any, Any], NewPlans]


def iterate(
    arena: SequenceArena,
    memory: Any,
    iterations: int,
    start: str,
    tolerance: float,
    respond: Respond,
    solve: Solver,
) -> Any:
    """So many iterations, or as many as change anything."""
    for _ in range(iterations):
        memory.iteration += 1
        if memory.finished:
            continue
        if not min(memory.shape):
            add_plans(arena, memory, start_plans(arena, start, memory.seed))
            memory.note(solve(memory))
            continue
        found = respond(arena, memory)
        if found.exact and not found.gains.max() > tolerance * largest_utility(arena, memory):
            memory.end("no player gains by a policy outside its pool")
            continue
        before = [counts.copy() for counts in memory.counts]
        new = add_plans(arena, memory, found.plans)
        meta = solve(memory)
        if found.exact and not new and all(map(np.array_equal, meta, memory.meta)):
            memory.counts = before
            memory.end(
                f"every response is in the pools already, though one gains {found.gains.max():.2e}"
            )
            continue
        memory.note(meta)
    return memory


def largest_utility(arena: SequenceArena, memory: Population) -> float:
    """The size of utilities, by which gains are measured."""
    values = arena.utility if isinstance(arena, Tree) else memory.payoffs
    return float(np.abs(values).max(initial=0.0))


def best_responses(arena: SequenceArena, memory: Population, oracle: Oracle) -> NewPlans:
    """Everybody's response to the mixtures of the others."""
    policy = mixed_policy(arena, memory, memory.meta)
    values = memory.form.values(tuple(memory.meta))
    players = range(arena.num_players)
    starts = learners(arena, memory, oracle, players)
    first = memory.seed + memory.iteration * arena.num_players
    others = [Weighted(1.0, policy)]
    each = [(arena, player, others, first + player, starts[player]) for player in players]
    found = results(oracle.respond, each)
    responses = [one.policy for one in found]
    gains = np.array([one.value for one in found]) - values
    keep(memory, oracle, responses, len(players))
    plans = [
        reach_of(arena, response.probabilities)[None, row(arena, player)]
        for player, response in enumerate(responses)
    ]
    return NewPlans(plans, gains, not is_learned(oracle))


def joint_opponents(
    arena: SequenceArena, memory: Population, player: int, joint: Floats
) -> list[Weighted]:
    """What the others do together, given a table over all policies with the sum 1."""
    weights = joint.sum(axis=player, keepdims=True)
    found = []
    for place in np.argwhere(weights > 0.0):
        plans = [memory.plans[p][k] for p, k in enumerate(place)]
        found.append(Weighted(float(weights[tuple(place)]), plan_policy(arena, plans)))
    return found


def check_common(name: str, method: Any) -> None:
    """Refuse a start or a tolerance that makes no sense."""
    if method.start not in STARTS:
        raise ConfigError(f"{name}: start is {method.start!r}, must be one of {', '.join(STARTS)}")
    if not 0.0 <= method.tolerance < 1.0:
        raise ConfigError(f"{name}: tolerance is {method.tolerance}, must be from 0 to 1")


class Mixing:
    """What every method whose answer is a mixture for each player makes of its memory."""

    def policies(self, arena: SequenceArena, memory: Population) -> dict[str, Policy]:
        """The pools mixed as the meta-strategy says, as one policy."""
        return {"mixture": mixed_policy(arena, memory, memory.meta)}
