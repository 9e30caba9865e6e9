"""Regret matching policy gradient: only actions better than the policy push."""

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
class RMPG(PolicyGradient):
    """RMPG (Srinivasan and others, 2018). At t = 1, 2, ..., for all players at once:

        A(I, a) = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        W = W + lr_t * mean over visits of grad [sum over a of policy(a) * A(a)+ + tau_t * entropy]

    As `qpg` but for the positive part. That of a noisy mean is too large wherever its noise is, and
    pulls to uniform play; so which A are positive is asked of one half of the episodes and their
    sizes of the other, each half in turn. Losing actions are pushed down only by the others' rise,
    so that little moves where one action is slightly best: the weakest of the three in the paper
    too, and any temperature costs it more, of the order of tau instead of exp(-A / tau).
    """

    temperature: float = 0.1
    temperature_end: float = 0.01

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        gain = (inputs.half_batch_advantage * inputs.beats_policy).sum(0)
        return gradient_wrt_logits(
            lambda policy: (policy * gain).sum(-1) + inputs.temperature * entropy(policy), inputs
        )
