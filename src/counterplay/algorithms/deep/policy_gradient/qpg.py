"""Q policy gradient: self-play along the gradient of everybody's expected utility."""

from __future__ import annotations

import jax

from counterplay.algorithms.deep.policy_gradient.base import (
    LogitGradientInputs,
    PolicyGradient,
    entropy,
    gradient_wrt_logits,
)
from counterplay.core.settings import settings


@settings(kw_only=True)
class QPG(PolicyGradient):
    """QPG (Srinivasan and others, 2018). At t = 1, 2, ..., for all players at once:

        A(I, a) = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        W = W + lr_t * mean over visits of grad [sum over a of policy(a) * A(a) + tau_t * entropy]

    q comes from a critic over histories, corrected by the sampled return, and counts as constant:
    the paper's critic is a network over infosets (`critic="infoset"` is that as a table). The
    entropy falls away with tau_t; at a constant tau the last iterate stays at a quantal response
    equilibrium, without one it cycles. Adam has no momentum, for the same reason. What is
    guaranteed, if anything, is for two players and zero sum: others each climb their own utility.
    """

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        return gradient_wrt_logits(
            lambda policy: (
                (policy * inputs.advantage).sum(-1) + inputs.temperature * entropy(policy)
            ),
            inputs,
        )
