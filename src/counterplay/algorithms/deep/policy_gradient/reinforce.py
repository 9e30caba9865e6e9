"""REINFORCE in self-play: the policy gradient of sampled returns, without a critic."""

from __future__ import annotations

from typing import ClassVar

import optax

from counterplay.algorithms.deep.policy_gradient.base import CriticName
from counterplay.algorithms.deep.policy_gradient.qpg import QPG
from counterplay.core.settings import DiscountFactor, NonNegative, settings


@settings(kw_only=True)
class REINFORCE(QPG):
    """REINFORCE (Williams, 1992) in self-play. At t = 1, 2, ..., for all players at once:

        W = W + lr_t * mean over episodes of [sum over its decisions of grad log policy(a)] * u

    with u the player's utility of the episode, by plain gradient ascent. This is `qpg` with no
    critic: the gradient has the same expectation and far more noise. Any `critic` is a baseline
    that removes noise, and `temperature` adds an entropy bonus. Players that ascend their own
    utilities cycle, so that neither the last iterate nor its plain average is bound to converge;
    the method is here as the base line that the others improve on.
    """

    stratified: bool = False
    critic: CriticName = "none"
    learning_rate: NonNegative = 0.5
    learning_rate_end: NonNegative = 0.0
    learning_rate_power: NonNegative = 1.0
    temperature: NonNegative = 0.0
    temperature_end: NonNegative = 0.0
    visit_saturation: NonNegative = 0.0
    ema_decay: DiscountFactor = 0.0

    mean_over_episodes: ClassVar[bool] = True

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """Plain gradient descent."""
        rate = optax.scale_by_learning_rate(self.learning_rate_schedule)
        return optax.chain(*self.update_limits, rate)
