"""Neural fictitious self-play with responses by soft actor-critic."""

from __future__ import annotations

from counterplay.deep.fictitious import Fictitious
from counterplay.deep.sac_response import SACResponse
from counterplay.settings import settings


@settings(kw_only=True)
class NFSPSAC(Fictitious):
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

    horizon: int = 30_000
    average_power: float = 1.0
    practice: float = 0.5
    updates: int = 2
    batch: int = 4_096
    epsilon: float = 0.2
    ring_size: int = 2_000_000
    even: float = 10.0  # visits in a minibatch from which on more of them hardly count more
    window: float = 0.03  # the latest part of all decisions, from which minibatches are drawn
    follow: float = 0.05
    tau: float = 0.2

    @property
    def chance_to_respond(self) -> float:
        return self.practice

    @property
    def responder(self) -> SACResponse:
        names = ("updates", "batch", "epsilon", "ring_size", "even", "window", "follow", "tau")
        return SACResponse(**self.common, **{name: getattr(self, name) for name in names})
