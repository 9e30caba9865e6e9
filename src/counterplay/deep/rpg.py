"""Regret policy gradient: self-play that descends the regrets of the present policy."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from counterplay.deep.gradients import Force, Gradients, entropy, slope_of


@dataclass(frozen=True, kw_only=True)
class RPG(Gradients):
    """RPG (Srinivasan and others, 2018). At t = 1, 2, ..., for all players at once:

        q(I, a) = mean, over visits of I, of q(h, a), up to a constant of the infoset
        W = W - lr_t * mean over visits of grad [sum over a of (q(a) - baseline)+ - tau_t * entropy]

    with baseline = sum over b of policy(b) * q(b), the only thing that depends on W. An action
    that is better than the policy thus pulls the baseline up: with two actions this is QPG. Critic,
    entropy and optimiser are as for `qpg`; positive parts are taken of means over visits, since
    those of single samples would be biased.
    """

    def force(self, now: Force) -> jax.Array:
        def objective(policy: jax.Array) -> jax.Array:
            baseline = (policy * now.advantage).sum(-1, keepdims=True)
            regret = jnp.where(now.legal, jnp.maximum(now.advantage - baseline, 0.0), 0.0)
            return now.tau * entropy(policy) - regret.sum(-1)

        return slope_of(objective, now)
