"""Self-Play PSRO: Anytime PSRO whose pools also get the opponents' mixed policies."""

from __future__ import annotations

from typing import ClassVar

from counterplay.algorithms.population.anytime_psro import AnytimePSROBase
from counterplay.core.settings import PositiveInt, settings


@settings()
class SPPSRO(AnytimePSROBase):
    """Self-Play PSRO (McAleer et al., 2022), in the limit of exact play. At t = 2, 3, ...:

        mixture_i, opponent_i = the solution of the game in which player i mixes its pool and the
                                other player plays any policy, by linear programming
        pool_j = pool_j, a new pure policy of opponent_i, and opponent_i itself

    This is `anytime_psro` in which the mixed policy opponent_i joins the pool too. The paper learns
    it as the time average of a policy that responds to the responder. Exploitability never rises.

    With a learned oracle, such as `dqn`, a learner stands in for the opponent: see
    `learned_oracles.learn_least_exploitable_mixture`. Its errors can make exploitability rise, and
    the method does not end by itself.
    """

    training_episodes: PositiveInt = 20_000  # of each learner per iteration
    num_rounds: PositiveInt = 8  # of solving the mixture and training the learner, per iteration
    pure_plans_only: ClassVar[bool] = False
