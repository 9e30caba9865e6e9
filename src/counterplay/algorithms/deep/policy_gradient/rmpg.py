"""Regret matching policy gradient: ascent along positive advantages only."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.common.networks import entropy
from counterplay.algorithms.deep.policy_gradient.base import (
    LogitGradientInputs,
    PolicyGradient,
    gradient_wrt_logits,
)
from counterplay.core.settings import NonNegative, settings


@settings(kw_only=True)
class RMPG(PolicyGradient):
    """RMPG (Srinivasan et al., 2018). At t = 1, 2, ..., for all players at once:

        A(I, a) = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        W = W + lr_t * mean over visits of grad [sum over a of policy(a) * A(a)+ + tau_t * entropy]

    The same as `qpg` except for the positive part. The positive part of a noisy mean is biased
    upwards, and pulls towards uniform play; so the sign of A comes from one half of the episodes
    and its size from the other half, and the other way round. With `split_batch=False` both come
    from all episodes, as printed, which is right for a critic that sampled returns do not correct.
    The probability of bad actions falls only because that of others rises, so that little changes
    where one action is slightly best: RMPG is the weakest of the three in the paper too, and any
    temperature costs it more, of the order of tau instead of exp(-A / tau).
    """

    temperature: NonNegative = 0.022
    temperature_end: NonNegative = 0.0022
    split_batch: bool = True  # take the sign of A from one half of the episodes for the other half

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        gain = jnp.maximum(inputs.advantage, 0.0)
        if self.split_batch:
            gain = (inputs.half_batch_advantage * inputs.beats_policy).sum(0)
        return gradient_wrt_logits(
            lambda policy: (policy * gain).sum(-1) + inputs.temperature * entropy(policy), inputs
        )
