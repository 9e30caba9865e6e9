"""Neural fictitious self-play with responses by soft actor-critic."""

from __future__ import annotations

from counterplay.algorithms.deep.common.sac_response import SACResponse, SACState
from counterplay.algorithms.deep.nfsp.base import ReplayNFSP
from counterplay.core.settings import (
    NonNegative,
    PositiveInt,
    PositiveProbability,
    Probability,
    settings,
)


@settings(kw_only=True)
class NFSPSAC(ReplayNFSP[SACState]):
    """NFSP whose responses are learned by discrete SAC. At t = 1, 2, ...:

        `num_episodes` episodes, as in `nfsp`
        ring buffer: decisions of the learning player, with payoffs and next own infosets
        response = SAC's, with two critics, after `num_updates` steps on minibatches of the ring
        reservoir: decisions made by responses
        Pi = Pi - lr_t * grad mean of -log Pi(I, a)

    with responses of iteration t weighed by t. At a constant temperature the average would converge
    to a regularised equilibrium, so the temperature falls to zero. Pi carries the guarantee; the
    other policies are those of `nfsp`. `learn_temperature` and `reverse_divergence` are SAC's own
    losses (see `SACResponse`), whose responses stay quantal: the average is then more exploitable.
    A learned temperature holds the entropy at `target_entropy` of that of uniform play.
    """

    average_power: NonNegative = 1.0
    replay_buffer_size: PositiveInt = 2_000_000
    visit_saturation: NonNegative = 10.0  # a pair sampled n times weighs n / (n + this)
    recent_fraction: PositiveProbability = 0.03  # latest share of all decisions to sample from
    target_update_rate: PositiveProbability = 0.05
    temperature: NonNegative = 0.2
    reverse_divergence: bool = False  # SAC's own loss of the policy
    learn_temperature: bool = False  # SAC's loss of the temperature, which otherwise falls to zero
    target_entropy: Probability = 0.5  # share of log(number of actions), if it is learned

    @property
    def responder(self) -> SACResponse:
        return SACResponse.from_settings(self, iterations=self.num_schedule_iterations)
