"""Magnetic mirror descent with networks."""

from __future__ import annotations

import jax

from counterplay.deep.gradients import Force, log_of, slope_of
from counterplay.deep.magnets import Magnetic
from counterplay.settings import settings


@settings(kw_only=True)
class DeepMMD(Magnetic):
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

    kl_cost: float = 0.05

    def force(self, now: Force) -> jax.Array:
        old = log_of(now.old)

        def objective(policy: jax.Array) -> jax.Array:
            log = log_of(policy)
            pulled = now.advantage - now.tau * (log - now.magnet) - self.kl_cost * (log - old)
            return (policy * pulled).sum(-1)

        return slope_of(objective, now)
