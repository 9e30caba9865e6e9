"""Magnetic mirror descent with networks."""

from __future__ import annotations

import jax

from counterplay.algorithms.deep.common.networks import safe_log
from counterplay.algorithms.deep.policy_gradient.base import (
    LogitGradientInputs,
    gradient_wrt_logits,
)
from counterplay.algorithms.deep.policy_gradient.magnet import MagnetPolicyGradient
from counterplay.core.settings import NonNegative, settings


@settings(kw_only=True)
class DeepMMD(MagnetPolicyGradient):
    """MMD with networks (Sokota et al., 2023). At t = 1, 2, ..., for all players at once:

        A(I, a) = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        W = W + lr_t * mean over visits of grad [sum over a of policy(a) * A(a)
                - tau_t * KL(policy, magnet) - kl_coef * KL(policy, old policy)]

    `num_epochs` times on the same episodes, sampled with the old policy. In the first of these
    steps both policies are equal: with one epoch, the default, and a uniform magnet this is `qpg`.
    Later epochs follow advantages of an earlier policy, as momentum does, and `kl_coef` limits
    them. The magnet is uniform while tau_t falls, or follows the policy: a copy every
    `magnet_update_every` iterations (NashPG), or an exponential average of the weights (EMAgnet).
    The tabular form is `mmd`. The settings suit the last iterate, which converges in two-player
    zero-sum games; the exact average policy and the averaged weights are returned too.
    """

    kl_coef: NonNegative = 0.011

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        old = safe_log(inputs.old_policy)

        def objective(policy: jax.Array) -> jax.Array:
            log = safe_log(policy)
            regularised = (
                inputs.advantage
                - inputs.temperature * (log - inputs.magnet_log_probs)
                - self.kl_coef * (log - old)
            )
            return (policy * regularised).sum(-1)

        return gradient_wrt_logits(objective, inputs)
