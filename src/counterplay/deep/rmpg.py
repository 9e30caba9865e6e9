"""Regret matching policy gradient: only actions better than the policy push."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from counterplay.deep.gradients import Force, Gradients, entropy, slope_of


@dataclass(frozen=True, kw_only=True)
class RMPG(Gradients):
    """RMPG (Srinivasan and others, 2018). At t = 1, 2, ..., for all players at once:

        A(I, a) = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        W = W + lr_t * mean over visits of grad [sum over a of policy(a) * A(a)+ + tau_t * entropy]

    As `qpg` but for the positive part, taken of the mean over visits. Losing actions are pushed
    down only by the others' rise, so that little moves where one action is slightly best, and noise
    in A does not cancel: the weakest of the three in the paper too.
    """

    def force(self, now: Force) -> jax.Array:
        gain = jnp.maximum(now.advantage, 0.0)
        return slope_of(lambda policy: (policy * gain).sum(-1) + now.tau * entropy(policy), now)
