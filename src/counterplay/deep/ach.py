"""Actor-critic hedge."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from counterplay.deep.gradients import Force, Gradients, entropy, log_of, slope_of
from counterplay.deep.nets import centre
from counterplay.settings import settings


@settings(kw_only=True)
class ACH(Gradients):
    """ACH (Fu and others, 2022). At t = 1, 2, ..., for all players at once:

        A(I, a) = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        c(I, a) = 1 where r(a) < 1 + clip and y(a) < threshold,  if A(a) is positive
                  1 where r(a) > 1 - clip and y(a) > -threshold, if it is negative
        W = W + lr_t * mean over visits of grad [sum over a of c(a) * A(a) * y(a) + tau_t * entropy]

    with r = policy / old policy and y the logits minus their mean over legal actions; `epochs`
    times on the same episodes. The paper divides the sampled action's term by its probability, of
    which the sum over actions is the expectation. Its entropy goes through the softmax and fades
    where an action is hardly played; with `pull`, the default and a departure, the temperature is
    a force on the logits instead, -tau_t * log policy(a), as `neurd` has it.
    """

    lr: float = 4e-3
    threshold: float = 3.0
    clip: float = 0.5
    pull: bool = True

    def force(self, now: Force) -> jax.Array:
        y = centre(now.logits, now.legal)
        ratio = now.policy / jnp.maximum(now.old, 1e-30)
        rising = (ratio < 1.0 + self.clip) & (y < self.threshold)
        falling = (ratio > 1.0 - self.clip) & (y > -self.threshold)
        free = jnp.where(now.advantage >= 0.0, rising, falling)
        force = centre(jnp.where(free, now.advantage, 0.0), now.legal)
        if self.pull:
            return force - now.tau * centre(log_of(now.policy), now.legal)
        return force + slope_of(lambda policy: now.tau * entropy(policy), now)
