"""Proximal policy optimisation in self-play."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.policy_gradient.base import (
    LogitGradientInputs,
    gradient_wrt_logits,
    safe_log,
)
from counterplay.algorithms.deep.policy_gradient.magnet import MagnetPolicyGradient
from counterplay.core.settings import settings


@settings(kw_only=True)
class PPO(MagnetPolicyGradient):
    """PPO (Schulman and others, 2017) in self-play. At t = 1, 2, ..., for all players at once:

        A(I, a) = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        W = W + lr_t * mean over visits of grad [sum over a of old(a) * min(r(a) * A(a),
                r(a) within 1 - clip and 1 + clip, times A(a)) - tau_t * KL(policy, magnet)]

    with r = policy / old, `epochs` times on the same episodes, sampled with the old policy. The
    usual PPO sees the sampled action only; here the critic speaks for all of them, and the sample
    corrects it; `critic="value"` with a `trace` below 1 is the usual GAE. Every player has values
    of its own, so that no sign has to change with the seat. With one epoch the clip never binds,
    and with a uniform magnet this is `qpg`. On Leduc a clip of 0.2 made the last iterate swing.
    """

    num_epochs: int = 2
    learning_rate: float = 2e-3
    clip_eps: float = 0.05

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        played = jnp.where(inputs.legal, inputs.old_policy, 1.0)

        def objective(policy: jax.Array) -> jax.Array:
            ratio = policy / played
            held = jnp.clip(ratio, 1.0 - self.clip_eps, 1.0 + self.clip_eps)
            gain = inputs.old_policy * jnp.minimum(
                ratio * inputs.advantage, held * inputs.advantage
            )
            return (
                gain - inputs.temperature * policy * (safe_log(policy) - inputs.magnet_log_probs)
            ).sum(-1)

        return gradient_wrt_logits(objective, inputs)
