"""Self-Play PSRO: the pools also get a mixed policy that plays the best opponent."""

from __future__ import annotations

from typing import ClassVar

from counterplay.population.anytime_psro import Opposing
from counterplay.settings import settings


@settings()
class SPPSRO(Opposing):
    """Self-Play PSRO (McAleer et al., 2022), in the limit of exact play. At t = 2, 3, ...:

        mixture_i, opponent_i = both sides of the game in which player i mixes its pool and the
                                other plays anything, by linear programming
        pool_j = pool_j, a new pure policy of opponent_i, and opponent_i itself

    as `anytime_psro`, but opponent_i joins as one mixed policy too, which the paper learns as the
    time average of a policy that responds to the responder. Exploitability never rises.

    With a learned oracle, such as `dqn`, a learner takes the other's place: see `learned.race`.
    Exploitability may rise then, by what it misses, and nothing ends by itself.
    """

    training: int = 20_000  # episodes of a learner, an iteration
    turns: int = 8  # of mixture and learners, an iteration
    alone: ClassVar[bool] = False
