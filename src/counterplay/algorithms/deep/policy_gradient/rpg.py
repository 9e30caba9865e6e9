"""Regret policy gradient: self-play that descends the regrets of the present policy."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.policy_gradient.base import (
    LogitGradientInputs,
    PolicyGradient,
    entropy,
    gradient_wrt_logits,
)
from counterplay.core.settings import settings


@settings(kw_only=True)
class RPG(PolicyGradient):
    """RPG (Srinivasan and others, 2018). At t = 1, 2, ..., for all players at once:

        q(I, a) = mean, over visits of I, of q(h, a), up to a constant of the infoset
        W = W - lr_t * mean over visits of grad [sum over a of (q(a) - baseline)+ - tau_t * entropy]

    with baseline = sum over b of policy(b) * q(b), the only thing that depends on W. An action
    that is better than the policy thus pulls the baseline up: this is QPG times the number of such
    actions, the same with two. Critic, entropy and optimiser are as for `qpg`. The number of
    positive parts depends on the noise that is multiplied with it, which would favour actions
    without any, such as folding; so it is counted in one half of the episodes for the regrets of
    the other, each half in turn.
    """

    num_episodes: int = 500
    stratified: bool = False
    schedule_iterations: int = 20_000
    learning_rate: float = 2e-3
    learning_rate_power: float = 1.0
    ema_decay: float = 0.999

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        number = jnp.where(inputs.legal, inputs.beats_policy, 0.0).sum(
            -1, keepdims=True
        )  # [2, I, 1]
        gain = (number * inputs.half_batch_advantage).sum(0)
        return gradient_wrt_logits(
            lambda policy: (policy * gain).sum(-1) + inputs.temperature * entropy(policy), inputs
        )
