"""VR-DeepDCFR+: networks that follow discounted CFR+ on regrets with a critic."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import numpy as np

from counterplay.algorithms.deep.regret import base, discounted
from counterplay.algorithms.deep.regret.base import RegretNetAlgorithm
from counterplay.algorithms.deep.regret.discounted import DiscountedRegretState
from counterplay.algorithms.deep.regret.sarsa_critic import CriticConfig
from counterplay.core.settings import settings


@settings(kw_only=True)
class VRDeepDCFRPlus(CriticConfig, RegretNetAlgorithm):
    """VR-DeepDCFR+ (Xu et al., 2025). At t = 1, 2, ..., with d = x / (x + c), x = (t - 1)**alpha:

        Q(h, a) = expected value after a, if the present policies go on (expected SARSA)

    for each player i in turn `traversals` episodes, in which it samples from
    q = epsilon * uniform + (1 - epsilon) * policy; backwards along each, at all decisions:

        v(b)   = Q_i(h, b), plus (v - Q_i(h, a)) / q(a) for the action a that was taken
        v      = policy . v(.), for the decision before;  r(b) = v(b) - v
        R_i    = argmin over networks of the sum over this iteration's samples of
                 |R(I) - d * max(old R_i(I), 0) - r|**2
        policy = regret_matching(R_i(I)); where no output is positive, all on the largest
        Pi     = argmin of the sum of t**average_power * cross entropy of s and softmax(Pi(I)) over
                 all policies s met where the other player acted

    Samples are not weighed with anybody's reach, so that r is a mean advantage, and of the size of
    the utilities. The mean over an infoset's samples is fitted, which is the same. R is kept in
    units of its own size, which regret matching does not see, so that the network's outputs stay
    near one while regrets grow. The authors' program has c = 1.5; their paper 1. `average`, exact,
    comes first; `network` is Pi. For two players and a sum of zero.

    On rules R is fitted to minibatches of single samples, Pi to a reservoir of policies, and Q as
    in `dream`; there is no `average`.
    """

    num_traversals: int = 2_000
    reservoir_size: int = 0  # policies kept of each player for Pi, on rules; a tree has exact sums
    batch_size: int = base.DEFAULT_BATCH_SIZE  # samples per step, on rules
    train_steps: int = 200
    epsilon: float = 0.6
    alpha: float = 2.0
    discount_constant: float = 1.5
    average_power: float = 2.0
    average_hidden_sizes: tuple[int, ...] = (64, 64, 64)
    average_train_steps: int = 50  # of Adam per iteration
    average_learning_rate: float = 1e-3

    is_predictive: ClassVar[bool] = False

    def actor_params(self, state: DiscountedRegretState) -> Any:
        if not self.is_predictive:
            return state.nets.params
        return discounted.predictive_nets(
            state.nets, state.next_discount * state.regret_scale, state.instantaneous_nets
        )

    def init_state(self, tree: Any, rng: np.random.Generator) -> DiscountedRegretState:
        return discounted.init_state(self, tree, rng)

    def iterate(
        self, tree: Any, t: int, state: DiscountedRegretState, key: jax.Array
    ) -> DiscountedRegretState:
        return discounted.iterate(self, tree, t, state, key, predict=self.is_predictive)

    def tabulate(self, tree: Any, state: DiscountedRegretState) -> dict[str, Any]:
        return base.tabulate_policies(self, tree, state)
