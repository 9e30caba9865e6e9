"""Neural fictitious self-play with responses by soft actor-critic."""

from __future__ import annotations

from counterplay.algorithms.deep.common.sac_response import SACResponse
from counterplay.algorithms.deep.nfsp.base import NFSPBase
from counterplay.core.settings import settings


@settings(kw_only=True)
class NFSPSAC(NFSPBase):
    """NFSP whose responses are learned by discrete SAC. At t = 1, 2, ...:

        `episodes` episodes, as in `nfsp`
        ring: decisions of the player whose turn it is, their payoffs, that player's next decisions
        response = SAC's, with twin critics, after `updates` steps on minibatches of the ring
        reservoir: decisions of responses
        Pi = Pi - lr_t * grad mean of -log Pi(I, a)

    with responses of iteration t weighed by t. At a constant temperature the average would go to a
    regularised equilibrium, so that tau falls to zero. Pi carries the guarantee, the other policies
    are those of `nfsp`.
    """

    schedule_iterations: int = 30_000
    average_power: float = 1.0
    response_prob: float = 0.5
    num_updates: int = 2
    batch_size: int = 4_096
    epsilon: float = 0.2
    replay_buffer_size: int = 2_000_000
    visit_saturation: float = (
        10.0  # visits in a minibatch from which on more of them hardly count more
    )
    recent_fraction: float = (
        0.03  # the latest part of all decisions, from which minibatches are drawn
    )
    target_update_rate: float = 0.05
    temperature: float = 0.2

    @property
    def learner_response_prob(self) -> float:
        return self.response_prob

    @property
    def responder(self) -> SACResponse:
        names = (
            "num_updates",
            "batch_size",
            "epsilon",
            "replay_buffer_size",
            "visit_saturation",
            "recent_fraction",
            "target_update_rate",
            "temperature",
        )
        return SACResponse(**self.responder_fields, **{name: getattr(self, name) for name in names})
