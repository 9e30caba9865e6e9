"""Q policy gradient: self-play along the gradient of each player's expected utility."""

from __future__ import annotations

import jax

from counterplay.algorithms.deep.common.networks import entropy
from counterplay.algorithms.deep.policy_gradient.base import (
    LogitGradientInputs,
    PolicyGradient,
    gradient_wrt_logits,
)
from counterplay.core.settings import settings


@settings(kw_only=True)
class QPG(PolicyGradient):
    """QPG (Srinivasan et al., 2018). At t = 1, 2, ..., for all players at once:

        A(I, a) = mean, over visits of I, of q(h, a) - sum over b of policy(b) * q(h, b)
        W = W + lr_t * mean over visits of grad [sum over a of policy(a) * A(a) + tau_t * entropy]

    q comes from a critic of histories, corrected by the sampled return, and is held constant. The
    paper's critic is a network q(I, a; w) over infosets, uncorrected: `critic="infoset_network"`,
    `correct_with_returns=False`, `critic_train_steps` times an iteration; `critic="infoset"` is a
    table of the same. Errors of such a critic bias the gradient, and the network learns more slowly
    than the corrected critic, so that exploitability ends higher. At a
    constant temperature the last iterate stays at a quantal response equilibrium, without one it
    cycles, so tau_t falls. Adam has no momentum, which causes cycles too. Convergence is expected
    in two-player zero-sum games only; in others each player ascends its own utility.
    """

    def logit_gradient(self, inputs: LogitGradientInputs) -> jax.Array:
        return gradient_wrt_logits(
            lambda policy: (
                (policy * inputs.advantage).sum(-1) + inputs.temperature * entropy(policy)
            ),
            inputs,
        )
