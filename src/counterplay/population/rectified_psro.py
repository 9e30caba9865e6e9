"""Rectified PSRO: each policy that matters is improved against those it beats."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterplay.arena import SequenceArena
from counterplay.population.loop import Mixing, NewPlans, check_common, iterate
from counterplay.population.meta_solvers import nash
from counterplay.population.oracles import ExactResponse, Weighted
from counterplay.population.pools import (
    Population,
    check_zero_sum,
    mixed_policy,
    new_population,
    reach_of,
    row,
)
from counterplay.settings import settings


@settings()
class RectifiedPSRO(Mixing):
    """PSRO_rN (Balduzzi et al., 2019), with exact responses. At t = 2, 3, ..., for both players:

        mixtures  = an equilibrium of the matrix between the pools, of value v to player i
        for each policy a of pool_i that the mixture plays:
            beaten = the other's mixture, only where u_i(a, .) >= v, scaled to sum 1
            pool_i = pool_i and a best response to beaten

    The paper has symmetric games, where v = 0. Policies specialise in what they are good at, and
    weaknesses are left alone: it need not find an equilibrium (McAleer et al., 2020, have a game of
    four actions in which it does not), and then ends with all its responses in the pools.
    """

    start: str = "first"  # the first policies: first, uniform, random, or response to uniform play
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    needs: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_common("rectified_psro", self)

    def init(self, arena: SequenceArena, seed: int = 0) -> Population:
        check_zero_sum("rectified_psro", arena)
        return new_population(arena, seed)

    def step(self, arena: SequenceArena, memory: Population, iterations: int = 1) -> Population:
        return iterate(arena, memory, iterations, self.start, self.tolerance, self.respond, nash)

    def respond(self, arena: SequenceArena, memory: Population) -> NewPlans:
        """A response for every policy that is played, to those it beats."""
        values = memory.form.values(tuple(memory.meta))
        room = 1e-9 * np.abs(memory.payoffs).max(initial=0.0)
        plans, gains, oracle = [], np.zeros(2), ExactResponse()
        for player in range(2):
            table, other = memory.form.table(player), memory.meta[1 - player]
            found = []
            for own in np.flatnonzero(memory.meta[player] > 0.0):
                beaten = np.where(table[own] >= values[player] - room, other, 0.0)
                mixtures = [beaten / beaten.sum()] * 2
                mixtures[player] = memory.meta[player]
                policy = mixed_policy(arena, memory, mixtures)
                response = oracle.respond(arena, player, [Weighted(1.0, policy)])
                found.append(reach_of(arena, response.policy.probabilities)[row(arena, player)])
            policy = mixed_policy(arena, memory, memory.meta)
            best = oracle.respond(arena, player, [Weighted(1.0, policy)])
            gains[player] = best.value - values[player]
            plans.append(np.array(found))
        return NewPlans(plans, gains)
