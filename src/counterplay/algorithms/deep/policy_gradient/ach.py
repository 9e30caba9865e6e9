"""Actor-critic hedge: clipped advantages as gradients of the logits."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.common.networks import centre_over_legal, entropy, safe_log
from counterplay.algorithms.deep.policy_gradient.base import (
    LogitGradientInputs,
    PolicyGradient,
    gradient_wrt_logits,
)
from counterplay.core.settings import NonNegative, settings


@settings(kw_only=True)
class ACH(PolicyGradient):
    """ACH (Fu et al., 2022). At t = 1, 2, ..., for all players at once:

        A(I, a) = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        c(I, a) = 1 where r(a) < 1 + clip_eps and y(a) < logit_threshold,  if A(a) >= 0
                  1 where r(a) > 1 - clip_eps and y(a) > -logit_threshold, if A(a) < 0
        W = W + lr_t * mean over visits of grad [sum over a of c(a) * A(a) * y(a) + tau_t * entropy]

    with r = policy / old policy and y the logits minus their mean over legal actions; `num_epochs`
    times on the same episodes. The paper divides the sampled action's term by its probability, of
    which the sum over actions is the expectation. Its entropy is differentiated through the
    softmax, so that its gradient vanishes where an action is hardly played. With
    `regularise_logits`, the default and a departure from the paper, the temperature acts on the
    logits directly by -tau_t * log policy(a), as in `neurd`.
    """

    learning_rate: NonNegative = 4e-3
    logit_threshold: NonNegative = 3.0
    clip_eps: NonNegative = 0.5
    regularise_logits: bool = True

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        y = centre_over_legal(inputs.logits, inputs.legal)
        ratio = inputs.policy / jnp.maximum(inputs.old_policy, 1e-30)
        rising = (ratio < 1.0 + self.clip_eps) & (y < self.logit_threshold)
        falling = (ratio > 1.0 - self.clip_eps) & (y > -self.logit_threshold)
        is_free = jnp.where(inputs.advantage >= 0.0, rising, falling)
        direction = centre_over_legal(jnp.where(is_free, inputs.advantage, 0.0), inputs.legal)
        if self.regularise_logits:
            log = centre_over_legal(safe_log(inputs.policy), inputs.legal)
            return direction - inputs.temperature * log
        return direction + gradient_wrt_logits(
            lambda policy: inputs.temperature * entropy(policy), inputs
        )
