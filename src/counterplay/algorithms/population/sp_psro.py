"""Self-Play PSRO: the pools also get a mixed policy that plays the best opponent."""

from __future__ import annotations

from typing import ClassVar

from counterplay.algorithms.population.anytime_psro import AnytimePSROBase
from counterplay.core.settings import settings


@settings()
class SPPSRO(AnytimePSROBase):
    """Self-Play PSRO (McAleer et al., 2022), in the limit of exact play. At t = 2, 3, ...:

        mixture_i, opponent_i = both sides of the game in which player i mixes its pool and the
                                other plays anything, by linear programming
        pool_j = pool_j, a new pure policy of opponent_i, and opponent_i itself

    as `anytime_psro`, but opponent_i joins as one mixed policy too, which the paper learns as the
    time average of a policy that responds to the responder. Exploitability never rises.

    With a learned oracle, such as `dqn`, a learner takes the other's place: see `learned.race`.
    Exploitability may rise then, by what it misses, and nothing ends by itself.
    """

    training_episodes: int = 20_000  # episodes of a learner, an iteration
    num_rounds: int = 8  # of mixture and learners, an iteration
    pure_plans_only: ClassVar[bool] = False
