"""Magnetic mirror descent with networks."""

from __future__ import annotations

import jax

from counterplay.algorithms.deep.policy_gradient.base import (
    LogitGradientInputs,
    gradient_wrt_logits,
    safe_log,
)
from counterplay.algorithms.deep.policy_gradient.magnet import MagnetPolicyGradient
from counterplay.core.settings import settings


@settings(kw_only=True)
class DeepMMD(MagnetPolicyGradient):
    """MMD with networks (Sokota and others, 2023). At t = 1, 2, ..., for all players at once:

        A(I, a) = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        W = W + lr_t * mean over visits of grad [sum over a of policy(a) * A(a)
                - tau_t * KL(policy, magnet) - kl_cost * KL(policy, old policy)]

    `epochs` times on the same episodes, sampled with the old policy. The first of these steps knows
    no difference between the two policies: with one epoch, the default, and a uniform magnet this
    is `qpg`. More of them go on along advantages that have passed, as momentum does, and `kl_cost`
    must hold them back. The magnet is uniform while tau falls, or follows: a copy every `stage`
    iterations (NashPG), or an exponential average of the weights (EMAgnet). The tabular form is
    `mmd`. Everything here is for the last iterate, which converges for two players and zero sum;
    the exact average and the smoothed weights stand beside it.
    """

    kl_coef: float = 0.05

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        old = safe_log(inputs.old_policy)

        def objective(policy: jax.Array) -> jax.Array:
            log = safe_log(policy)
            pulled = (
                inputs.advantage
                - inputs.temperature * (log - inputs.magnet_log_probs)
                - self.kl_coef * (log - old)
            )
            return (policy * pulled).sum(-1)

        return gradient_wrt_logits(objective, inputs)
