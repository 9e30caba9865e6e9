"""Neural fictitious self-play."""

from __future__ import annotations

from counterplay.algorithms.deep.common.dqn_response import DQNResponse, DQNState
from counterplay.algorithms.deep.nfsp.base import ReplayNFSP
from counterplay.core.settings import (
    NonNegative,
    PositiveInt,
    PositiveProbability,
    Probability,
    settings,
)


@settings(kw_only=True)
class NFSP(ReplayNFSP[DQNState]):
    """NFSP (Heinrich and Silver, 2016). At t = 1, 2, ...:

        `num_episodes` episodes, in each of which a player plays, throughout, either by its Q or by
        its average policy Pi = softmax of a network
        ring buffer: decisions of the learning player, with payoffs and next own infosets
        reservoir: decisions made by Q
        Q  = Q  - lr_t * grad mean of (Q(I, a) - payoff - max over legal b of Q'(I', b))^2
        Pi = Pi - lr_t * grad mean of -log Pi(I, a)

    on minibatches of the ring buffer and of the reservoir, with Q' an earlier Q, renewed after
    every `target_update_every` steps of Q. Departures from the paper: only the learning player
    explores (epsilon), so that no player learns against random actions, and decisions after an
    exploring action stay out of the reservoir; minibatches are large, since all samples of an
    infoset are one input. With `all_players_learn` the data flow is the paper's: in every episode
    all players respond with probability `anticipatory_param`, explore and fill their ring buffers,
    and the reservoir holds exploring actions too. Responses are then learned against, and averaged
    with, random actions. Learning rates fall linearly. Pi carries the guarantee. `counts` (on a
    tree) is the exact average of the same responses, `response` is the greedy policy of Q, and
    `gains` compares its gain with that of best responses. On rules, ring buffer and reservoir store
    observations, in equal parts for each player.
    """

    epsilon_end: Probability = 0.2
    replay_buffer_size: PositiveInt = 2_000_000
    visit_saturation: NonNegative = 10.0  # a pair sampled n times weighs n / (n + this)
    recent_fraction: PositiveProbability = 0.03  # latest share of all decisions to sample from
    target_update_every: PositiveInt = 50

    @property
    def responder(self) -> DQNResponse:
        return DQNResponse.from_settings(self, iterations=self.num_schedule_iterations)
