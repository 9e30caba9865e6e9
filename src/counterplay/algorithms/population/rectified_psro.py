"""Rectified PSRO: each policy that matters is improved against those it beats."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterplay.algorithms.population.meta_solvers import nash
from counterplay.algorithms.population.oracles import ExactResponse, WeightedPolicy
from counterplay.algorithms.population.population import (
    Population,
    check_zero_sum,
    new_population,
    player_sequences,
    policy_from_mixtures,
    reach_from_probabilities,
)
from counterplay.algorithms.population.psro_loop import (
    MixturePolicies,
    NewPlans,
    check_common_fields,
    iterate,
)
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import settings


@settings()
class RectifiedPSRO(MixturePolicies):
    """PSRO_rN (Balduzzi et al., 2019), with exact responses. At t = 2, 3, ..., for both players:

        mixtures  = an equilibrium of the matrix between the pools, of value v to player i
        for each policy a of pool_i that the mixture plays:
            beaten = the other's mixture, only where u_i(a, .) >= v, scaled to sum 1
            pool_i = pool_i and a best response to beaten

    The paper has symmetric games, where v = 0. Policies specialise in what they are good at, and
    weaknesses are left alone: it need not find an equilibrium (McAleer et al., 2020, have a game of
    four actions in which it does not), and then ends with all its responses in the pools.
    """

    initial_policy: str = (
        "first"  # the first policies: first, uniform, random, or response to uniform play
    )
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    required_extra: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_common_fields("rectified_psro", self)

    def init(self, arena: SequenceArena, seed: int = 0) -> Population:
        check_zero_sum("rectified_psro", arena)
        return new_population(arena, seed)

    def step(self, arena: SequenceArena, memory: Population, iterations: int = 1) -> Population:
        return iterate(
            arena, memory, iterations, self.initial_policy, self.tolerance, self.respond, nash
        )

    def respond(self, arena: SequenceArena, memory: Population) -> NewPlans:
        """A response for every policy that is played, to those it beats."""
        values = memory.meta_game.values(tuple(memory.meta_strategy))
        room = 1e-9 * np.abs(memory.payoffs).max(initial=0.0)
        plans, gains, oracle = [], np.zeros(2), ExactResponse()
        for player in range(2):
            table, other = memory.meta_game.payoff_matrix(player), memory.meta_strategy[1 - player]
            found = []
            for own in np.flatnonzero(memory.meta_strategy[player] > 0.0):
                beaten = np.where(table[own] >= values[player] - room, other, 0.0)
                mixtures = [beaten / beaten.sum()] * 2
                mixtures[player] = memory.meta_strategy[player]
                policy = policy_from_mixtures(arena, memory, mixtures)
                response = oracle.respond(arena, player, [WeightedPolicy(1.0, policy)])
                found.append(
                    reach_from_probabilities(arena, response.policy.probabilities)[
                        player_sequences(arena, player)
                    ]
                )
            policy = policy_from_mixtures(arena, memory, memory.meta_strategy)
            best = oracle.respond(arena, player, [WeightedPolicy(1.0, policy)])
            gains[player] = best.value - values[player]
            plans.append(np.array(found))
        return NewPlans(plans, gains)
