"""Joint PSRO: correlated equilibria of any number of players."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from counterplay.algorithms.population.joint_policy import JointPolicy, split_by_recommendation
from counterplay.algorithms.population.meta_solvers import (
    COARSE_CORRELATED_SOLVERS,
    CORRELATED_SOLVERS,
    check_meta_solver,
)
from counterplay.algorithms.population.oracles import ExactResponse
from counterplay.algorithms.population.population import (
    Population,
    new_population,
    player_sequences,
    reach_from_probabilities,
)
from counterplay.algorithms.population.psro_loop import (
    NewPlans,
    check_common_fields,
    iterate,
    joint_opponents,
)
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

JOINT_SOLVERS = COARSE_CORRELATED_SOLVERS | CORRELATED_SOLVERS


@settings()
class JPSRO:
    """JPSRO (Marris et al., 2021), with exact responses. At t = 2, 3, ..., for all players:

        joint  = meta_solver(payoffs between the pools), a table over everybody's policies
        pool_i = pool_i and a best response to the others' part of joint       (mgcce, mwcce)
                 pool_i and the best response, of largest gain, to the others' part of joint
                        given one of the policies that it recommends to i      (mgce, mwce)

    Its answer is a device that draws a joint policy and tells everybody its own. It ends at a
    coarse correlated equilibrium, or a correlated one, of the normal form: its exploitability is
    what players gain on average by not following, before or after they hear their policy.
    Duplicates are counted in the Gini impurity. For two players or more and any utilities.
    """

    meta_solver: str = "mgcce"
    initial_policy: str = "uniform"  # the first policies: first, uniform, random, or response
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    required_extra: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_meta_solver("jpsro", self.meta_solver, JOINT_SOLVERS)
        check_common_fields("jpsro", self)

    def init(self, arena: SequenceArena, seed: int = 0) -> Population:
        if arena.num_players < 2:
            raise ConfigError(
                f"jpsro correlates players, and {arena.spec} has one; take cfr_plus or xfp"
            )
        return new_population(arena, seed)

    def step(self, arena: SequenceArena, memory: Population, iterations: int = 1) -> Population:
        solve = JOINT_SOLVERS[self.meta_solver]
        return iterate(
            arena, memory, iterations, self.initial_policy, self.tolerance, self.respond, solve
        )

    def policies(self, arena: SequenceArena, memory: Population) -> dict[str, Any]:
        """The device, and what remains of it when everybody draws its own part alone."""
        joint = (
            memory.meta_strategy[0] if memory.meta_strategy else np.zeros((0,) * arena.num_players)
        )
        kept = replace(memory, plans=list(memory.plans))  # pools are never changed in place
        found = JointPolicy(arena, kept, joint, self.meta_solver in COARSE_CORRELATED_SOLVERS)
        return {"joint": found, "separate": found.marginal_policy}

    def respond(self, arena: SequenceArena, memory: Population) -> NewPlans:
        """A response to everything a player may know of the device."""
        joint, oracle = memory.meta_strategy[0], ExactResponse()
        plans, gains = [], np.zeros(arena.num_players)
        for player in range(arena.num_players):
            found, most = np.zeros(0), -np.inf
            for part in split_by_recommendation(
                joint, player, self.meta_solver in COARSE_CORRELATED_SOLVERS
            ):
                weight = float(part.sum())
                others = joint_opponents(arena, memory, player, part / weight)
                response = oracle.respond(arena, player, others)
                value = float((memory.payoffs[player] * part).sum())
                gain = weight * response.value - value
                gains[player] += max(gain, 0.0)
                if gain > most:
                    most, found = (
                        gain,
                        reach_from_probabilities(arena, response.policy.probabilities),
                    )
            plans.append(found[None, player_sequences(arena, player)])
        return NewPlans(plans, gains)
