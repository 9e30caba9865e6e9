"""Neural replicator dynamics: networks whose logits follow advantages, not their softmax."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.common.networks import centre_over_legal
from counterplay.algorithms.deep.policy_gradient.base import (
    LogitGradientInputs,
    PolicyGradient,
    safe_log,
)
from counterplay.core.settings import settings


@settings(kw_only=True)
class NeuRD(PolicyGradient):
    """NeuRD (Hennes, Morrill, Omidshafiei and others, 2020). At t = 1, 2, ..., for all players:

        A(I, a) = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        f(I, a) = A(I, a) - tau_t * log policy(a), minus its mean over legal actions,
                  zero where it would push a logit further than `threshold` from the mean,
                  minus the mean of what is left
        W = W + lr_t * mean over visits of sum over a of f(a) * grad y(a)

    with y the logits. The gradient of QPG has a factor policy(a) in front of each term; without it
    an action that is hardly played can come back. With a table in place of W, `counterfactual` and
    tau 0 this is Hedge at every infoset, and the average converges; without `counterfactual` it
    does in practice. The pull towards uniform play is a force on the logits too: entropy in
    the loss would fade with policy(a).
    """

    logit_threshold: float = 3.0

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        return neurd_logit_gradient(inputs, self.logit_threshold)


def neurd_logit_gradient(inputs: LogitGradientInputs, threshold: float) -> jax.Array:
    """Advantages and the pull to the magnet [I, A], but no further than the threshold.

    Centred again in the end: softmax ignores what all logits have in common, but the network's
    weights would follow it, and on Leduc the policy collapses.
    """
    pull = inputs.temperature * (safe_log(inputs.policy) - inputs.magnet_log_probs)
    force = centre_over_legal(inputs.advantage - pull, inputs.legal)
    y = centre_over_legal(inputs.logits, inputs.legal)
    outward = jnp.where(force > 0.0, y > threshold, y < -threshold)
    return centre_over_legal(jnp.where(outward, 0.0, force), inputs.legal)
