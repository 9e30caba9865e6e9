"""Neural fictitious self-play."""

from __future__ import annotations

from counterplay.algorithms.deep.common.dqn_response import DQNResponse
from counterplay.algorithms.deep.nfsp.base import NFSPBase
from counterplay.core.settings import settings


@settings(kw_only=True)
class NFSP(NFSPBase):
    """NFSP (Heinrich and Silver, 2016). At t = 1, 2, ...:

        `episodes` episodes, in each of which a player plays, throughout, either by its Q or its
        average policy Pi = softmax of a network
        ring: decisions of the player whose turn it is, their payoffs, that player's next decisions
        reservoir: decisions by Q
        Q  = Q  - lr_t * grad mean of (Q(I, a) - payoff - max over legal b of Q'(I', b))^2
        Pi = Pi - lr_t * grad mean of -log Pi(I, a)

    on minibatches of the ring and of the reservoir, with Q' as Q was. Departures: only the player
    whose turn it is tries things (epsilon), so that nobody learns against errors, and what follows
    something tried is no response and stays out of the reservoir; minibatches are large, since all
    samples of an infoset are one input. Rates fall linearly. Pi carries the guarantee; `counts` (on
    a tree) is what a perfect memory and a perfect fit would make of the same responses, `response`
    is Q's greedy policy, and `gains` says how much of the best responses' gain it finds. On rules
    that are never unrolled ring and reservoir hold observations, an equal part for each player.
    """

    response_prob: float = 0.5
    num_updates: int = 2  # of Q, an iteration
    batch_size: int = 4_096
    epsilon: float = 0.2
    epsilon_end: float = 0.2
    replay_buffer_size: int = 2_000_000
    visit_saturation: float = (
        10.0  # visits in a minibatch from which on more of them hardly count more
    )
    recent_fraction: float = (
        0.03  # the latest part of all decisions, from which minibatches are drawn
    )
    target_update_every: int = 50

    @property
    def learner_response_prob(self) -> float:
        return self.response_prob

    @property
    def responder(self) -> DQNResponse:
        names = (
            "target_update_every",
            "num_updates",
            "visit_saturation",
            "batch_size",
            "epsilon",
            "epsilon_end",
            "replay_buffer_size",
            "recent_fraction",
        )
        return DQNResponse(**self.responder_fields, **{name: getattr(self, name) for name in names})
