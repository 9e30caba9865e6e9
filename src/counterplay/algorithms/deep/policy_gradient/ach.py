"""Actor-critic hedge."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.common.networks import centre_over_legal
from counterplay.algorithms.deep.policy_gradient.base import (
    LogitGradientInputs,
    PolicyGradient,
    entropy,
    gradient_wrt_logits,
    safe_log,
)
from counterplay.core.settings import settings


@settings(kw_only=True)
class ACH(PolicyGradient):
    """ACH (Fu and others, 2022). At t = 1, 2, ..., for all players at once:

        A(I, a) = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        c(I, a) = 1 where r(a) < 1 + clip and y(a) < threshold,  if A(a) is positive
                  1 where r(a) > 1 - clip and y(a) > -threshold, if it is negative
        W = W + lr_t * mean over visits of grad [sum over a of c(a) * A(a) * y(a) + tau_t * entropy]

    with r = policy / old policy and y the logits minus their mean over legal actions; `epochs`
    times on the same episodes. The paper divides the sampled action's term by its probability, of
    which the sum over actions is the expectation. Its entropy goes through the softmax and fades
    where an action is hardly played; with `pull`, the default and a departure, the temperature is
    a force on the logits instead, -tau_t * log policy(a), as `neurd` has it.
    """

    learning_rate: float = 4e-3
    logit_threshold: float = 3.0
    clip_eps: float = 0.5
    regularise_logits: bool = True

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        y = centre_over_legal(inputs.logits, inputs.legal)
        ratio = inputs.policy / jnp.maximum(inputs.old_policy, 1e-30)
        rising = (ratio < 1.0 + self.clip_eps) & (y < self.logit_threshold)
        falling = (ratio > 1.0 - self.clip_eps) & (y > -self.logit_threshold)
        free = jnp.where(inputs.advantage >= 0.0, rising, falling)
        force = centre_over_legal(jnp.where(free, inputs.advantage, 0.0), inputs.legal)
        if self.regularise_logits:
            return force - inputs.temperature * centre_over_legal(
                safe_log(inputs.policy), inputs.legal
            )
        return force + gradient_wrt_logits(
            lambda policy: inputs.temperature * entropy(policy), inputs
        )
