"""Regret policy gradient: self-play that minimises the positive regrets of the policy."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.common.networks import entropy
from counterplay.algorithms.deep.policy_gradient.base import (
    LogitGradientInputs,
    PolicyGradient,
    gradient_wrt_logits,
)
from counterplay.core.settings import DiscountFactor, NonNegative, PositiveInt, settings


@settings(kw_only=True)
class RPG(PolicyGradient):
    """RPG (Srinivasan et al., 2018). At t = 1, 2, ..., for all players at once:

        q(I, a) = mean, over visits of I, of q(h, a), up to a constant of the infoset
        W = W - lr_t * mean over visits of grad [sum over a of (q(a) - baseline)+ - tau_t * entropy]

    with baseline = sum over b of policy(b) * q(b), the only term that depends on W. Each action
    that is better than the policy raises the baseline: this is QPG times the number of such
    actions, and equal to it with two actions. Critic, entropy and optimiser are as for `qpg`. The
    number of positive parts depends on the noise that it multiplies, which would favour actions
    without noise, such as folding; so it is counted in one half of the episodes for the regrets of
    the other half, and the other way round. With `split_batch=False` the same regrets are counted
    and multiplied, as printed, which is right for a critic that sampled returns do not correct.
    """

    num_episodes: PositiveInt = 500
    stratified: bool = False
    learning_rate: NonNegative = 2e-3
    learning_rate_power: NonNegative = 1.0
    ema_decay: DiscountFactor = 0.999
    split_batch: bool = True  # count positive parts in one half of the episodes for the other half

    default_iterations: ClassVar[int] = 20_000

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        if not self.split_batch:
            return gradient_wrt_logits(
                lambda policy: (
                    inputs.temperature * entropy(policy)
                    - positive_regret(policy, inputs.advantage, inputs.legal)
                ),
                inputs,
            )
        is_better = jnp.where(inputs.legal, inputs.beats_policy, 0.0)
        num_better = is_better.sum(-1, keepdims=True)  # [2, I, 1]
        gain = (num_better * inputs.half_batch_advantage).sum(0)
        return gradient_wrt_logits(
            lambda policy: (policy * gain).sum(-1) + inputs.temperature * entropy(policy), inputs
        )


def positive_regret(policy: jax.Array, action_value: jax.Array, legal: jax.Array) -> jax.Array:
    """Return the sum [I] over legal actions of the positive parts of q(a) - policy . q."""
    regret = action_value - (policy * action_value).sum(-1, keepdims=True)
    return jnp.where(legal, jnp.maximum(regret, 0.0), 0.0).sum(-1)
