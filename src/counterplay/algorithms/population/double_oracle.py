"""The double oracle algorithm."""

from __future__ import annotations

from counterplay.algorithms.population.oracles import ExactResponse
from counterplay.algorithms.population.population import Population
from counterplay.algorithms.population.psro_loop import NewPlans, ZeroSumPSRO, compute_responses
from counterplay.core.arena import SequenceArena
from counterplay.core.settings import settings


@settings()
class DoubleOracle(ZeroSumPSRO):
    """The double oracle (McMahan, Gordon and Blum, 2003). At t = 2, 3, ..., for both players:

        mixtures = an equilibrium of the matrix between the pools, by linear programming
        pool_i   = pool_i and a best response to the other's mixture

    It ends at an exact equilibrium of a two-player zero-sum game, after at most as many iterations
    as there are pure policies; exploitability may rise on the way. If the matrix has several
    equilibria, the choice between them changes the iterations but not the end.
    """

    def respond(self, arena: SequenceArena, memory: Population) -> NewPlans:
        """Return best responses to the mixtures."""
        return compute_responses(arena, memory, ExactResponse())
