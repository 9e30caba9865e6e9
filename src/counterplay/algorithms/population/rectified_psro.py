"""Rectified PSRO: each policy in use is improved against the policies that it beats."""

from __future__ import annotations

import numpy as np

from counterplay.algorithms.population.oracles import ExactResponse, WeightedPolicy
from counterplay.algorithms.population.population import (
    Population,
    plan_from_policy,
    policy_from_meta_strategy,
    policy_from_mixtures,
)
from counterplay.algorithms.population.psro_loop import NewPlans, ZeroSumPSRO
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import settings


@settings()
class RectifiedPSRO(ZeroSumPSRO):
    """PSRO_rN (Balduzzi et al., 2019), with exact responses. At t = 2, 3, ..., for both players:

        mixtures  = an equilibrium of the matrix between the pools, of value v to player i
        for each policy a of pool_i with positive weight in the mixture:
            beaten = the other's mixture restricted to u_i(a, .) >= v and normalised
            pool_i = pool_i and a best response to beaten

    The paper considers symmetric games, where v = 0. Policies specialise in opponents they already
    beat and keep their weaknesses, so the method need not find an equilibrium (McAleer et al.,
    2020, have a game of four actions where it does not). Then it ends with all its responses in
    the pools, and `stop_reason` states the remaining NashConv.
    """

    def respond(self, arena: SequenceArena, memory: Population) -> NewPlans:
        """Return a response for every policy in use, to the policies that it beats."""
        values = memory.meta_game.values(tuple(memory.meta_strategy))
        rounding = 1e-9 * np.abs(memory.payoffs).max(initial=0.0)
        policy = policy_from_meta_strategy(arena, memory)
        plans, gains, oracle = [], np.zeros(2), ExactResponse()
        for player in range(2):
            table, other = memory.meta_game.payoff_matrix(player), memory.meta_strategy[1 - player]
            responses = []
            for index in np.flatnonzero(memory.meta_strategy[player] > 0.0):
                beaten = np.where(table[index] >= values[player] - rounding, other, 0.0)
                mixtures = [beaten / beaten.sum()] * 2
                mixtures[player] = memory.meta_strategy[player]
                opponent = policy_from_mixtures(arena, memory, mixtures)
                response = oracle.respond(arena, player, [WeightedPolicy(1.0, opponent)])
                responses.append(plan_from_policy(arena, response.policy, player))
            best = oracle.respond(arena, player, [WeightedPolicy(1.0, policy)])
            gains[player] = best.value - values[player]
            plans.append(np.array(responses))
        return NewPlans(plans, gains)
