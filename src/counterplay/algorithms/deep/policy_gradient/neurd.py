"""Neural replicator dynamics: advantages as gradients of the logits."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.common.networks import centre_over_legal, safe_log
from counterplay.algorithms.deep.policy_gradient.base import LogitGradientInputs, PolicyGradient
from counterplay.core.settings import NonNegative, settings


@settings(kw_only=True)
class NeuRD(PolicyGradient):
    """NeuRD (Hennes et al., 2020). At t = 1, 2, ..., for all players at once:

        A(I, a) = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        f(I, a) = A(I, a) - tau_t * log policy(a), minus its mean over legal actions,
                  zero where it would push a logit further than `logit_threshold` from the mean,
                  then centred again
        W = W + lr_t * mean over visits of sum over a of f(a) * grad y(a)

    with y the logits. The gradient of QPG has a factor policy(a) in each term; without it, an
    action that is hardly played can recover. With a table in place of W, `counterfactual_weighting`
    and tau 0 this is Hedge at every infoset, and the average converges; without
    `counterfactual_weighting` it does in practice. The temperature acts on the logits too: the
    gradient of an entropy term would vanish with policy(a).
    """

    logit_threshold: NonNegative = 3.0

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        return neurd_logit_gradient(inputs, self.logit_threshold)


def neurd_logit_gradient(inputs: LogitGradientInputs, threshold: float) -> jax.Array:
    """Return centred advantages minus the pull to the magnet [I, A], limited by the threshold.

    The result is centred again after the limit: softmax ignores a change common to all logits, but
    the weights of the network would follow it, and on Leduc the policy collapses.
    """
    pull = inputs.temperature * (safe_log(inputs.policy) - inputs.magnet_log_probs)
    direction = centre_over_legal(inputs.advantage - pull, inputs.legal)
    y = centre_over_legal(inputs.logits, inputs.legal)
    is_outward = jnp.where(direction > 0.0, y > threshold, y < -threshold)
    return centre_over_legal(jnp.where(is_outward, 0.0, direction), inputs.legal)
