"""Neural replicator dynamics: networks whose logits follow advantages, not their softmax."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from counterplay.deep.gradients import Force, Gradients, log_of
from counterplay.deep.nets import centre
from counterplay.settings import settings


@settings(kw_only=True)
class NeuRD(Gradients):
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

    threshold: float = 3.0

    def force(self, now: Force) -> jax.Array:
        return neurd_force(now, self.threshold)


def neurd_force(now: Force, threshold: float) -> jax.Array:
    """Advantages and the pull to the magnet [I, A], but no further than the threshold.

    Centred again in the end: softmax ignores what all logits have in common, but the network's
    weights would follow it, and on Leduc the policy collapses.
    """
    pull = now.tau * (log_of(now.policy) - now.magnet)
    force = centre(now.advantage - pull, now.legal)
    y = centre(now.logits, now.legal)
    outward = jnp.where(force > 0.0, y > threshold, y < -threshold)
    return centre(jnp.where(outward, 0.0, force), now.legal)
