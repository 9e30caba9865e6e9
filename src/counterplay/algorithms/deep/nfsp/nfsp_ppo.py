"""Neural fictitious self-play with responses by proximal policy optimisation."""

from __future__ import annotations

from counterplay.algorithms.deep.common.ppo_response import PPOResponse, PPOState
from counterplay.algorithms.deep.nfsp.base import NFSPBase
from counterplay.core.settings import (
    NonNegative,
    PositiveInt,
    PositiveProbability,
    Probability,
    settings,
)


@settings(kw_only=True)
class NFSPPPO(NFSPBase[PPOState]):
    """NFSP whose responses are learned by PPO on the latest episodes. At t = 1, 2, ...:

        `num_episodes` episodes, in each of which the learning player plays its response, the
        others their average policies Pi, or with probability `anticipatory_param` their responses
        response = PPO's, after `num_epochs` steps on the learning players' decisions
        reservoir: decisions made by responses
        Pi = Pi - lr_t * grad mean of -log Pi(I, a)

    with responses of iteration t weighed by t. Responses are stochastic: their entropy coefficient
    falls geometrically, to a value at which PPO can still change its policy. It refers to utilities
    divided by `utility_scale` times the game's scale: an action that is worse by many times the
    coefficient is never sampled again, and the response no longer follows Pi. With a lower
    coefficient (0.06 falling to 0.008) this happens on liar's dice with 3 sides, and results on
    Kuhn poker depend on the seed. Pi converges to the equilibrium of such soft responses and no
    further. Pi carries the guarantee; the other policies are those of `nfsp`. With
    `anticipatory_param=0` opponents play Pi only: the reservoir holds the learning players'
    decisions alone, and responses do not anticipate each other.
    """

    num_episodes: PositiveInt = 2_048
    anticipatory_param: Probability = 0.1  # 0: opponents play Pi only
    average_power: NonNegative = 1.0
    num_epochs: PositiveInt = 2
    clip_eps: NonNegative = 0.2
    gae_lambda: PositiveProbability = 0.95
    entropy_coef: NonNegative = 0.2
    entropy_coef_end: NonNegative = 0.015
    # divides utilities, in units of the game's scale; 0: a fifth of the largest utility
    utility_scale: NonNegative = 1.0
    visit_saturation: NonNegative = 5.0  # n visits weigh n / (1 + n / this); 0: n

    def __post_init__(self) -> None:
        _ = self.responder  # checks the relation between the entropy coefficients

    @property
    def responder(self) -> PPOResponse:
        return PPOResponse.from_settings(self, iterations=self.num_schedule_iterations)
