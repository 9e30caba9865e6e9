"""Proximal policy optimisation in self-play."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.common.networks import safe_log
from counterplay.algorithms.deep.policy_gradient.base import (
    LogitGradientInputs,
    gradient_wrt_logits,
)
from counterplay.algorithms.deep.policy_gradient.magnet import MagnetPolicyGradient
from counterplay.core.settings import NonNegative, PositiveInt, settings


@settings(kw_only=True)
class PPO(MagnetPolicyGradient):
    """PPO (Schulman et al., 2017) in self-play. At t = 1, 2, ..., for all players at once:

        A(I, a) = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        W = W + lr_t * mean over visits of grad [sum over a of old(a) * min(r(a) * A(a),
                clip(r(a), 1 - clip_eps, 1 + clip_eps) * A(a)) - tau_t * KL(policy, magnet)]

    with r = policy / old, `num_epochs` times on the same episodes, sampled with the old policy. The
    usual PPO uses the advantage of the sampled action only; here the critic values all actions, and
    the sampled return corrects it. `critic="value"` with `gae_lambda` below 1 is the usual GAE.
    Each player has its own values, so that no sign changes between seats. With one epoch the clip
    never binds, and with a uniform magnet this is `qpg`. On Leduc a clip of 0.2 made the last
    iterate oscillate. The clip does not limit a single step: at rarely visited infosets the policy
    can move from one action to another, and the root's with it, since they share weights. On
    Goofspiel with 3 cards PPO so ends at wrong pure policies, where it samples no deviation any
    more; `max_update_rms` limits steps, at the cost of slower learning.
    """

    num_epochs: PositiveInt = 2
    learning_rate: NonNegative = 5e-3
    clip_eps: NonNegative = 0.05

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        old_policy = jnp.where(inputs.legal, inputs.old_policy, 1.0)

        def objective(policy: jax.Array) -> jax.Array:
            ratio = policy / old_policy
            clipped = jnp.clip(ratio, 1.0 - self.clip_eps, 1.0 + self.clip_eps)
            gain = inputs.old_policy * jnp.minimum(
                ratio * inputs.advantage, clipped * inputs.advantage
            )
            return (
                gain - inputs.temperature * policy * (safe_log(policy) - inputs.magnet_log_probs)
            ).sum(-1)

        return gradient_wrt_logits(objective, inputs)
