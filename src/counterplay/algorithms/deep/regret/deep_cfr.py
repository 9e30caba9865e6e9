"""Deep CFR: networks for regrets, and one for the average policy."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import numpy as np

from counterplay.algorithms.deep.regret import base
from counterplay.algorithms.deep.regret.base import RegretNetState, ReplayRegretNetAlgorithm
from counterplay.core.settings import settings


@settings(kw_only=True)
class DeepCFR(ReplayRegretNetAlgorithm):
    """Deep CFR (Brown, Lerer, Gross and Sandholm, 2019). At t = 1, 2, ..., for each player i:

        `traversals` walks of external sampling; at each of its nodes r(a) = u(a) - policy . u
        V_i    = argmin over networks of the sum over all samples so far of t * |V(I) - r|**2
        policy = regret_matching(V_i(I)); where no output is positive, all on the largest

    and, over all policies s that walks met at the nodes of those who were sampled,

        Pi_i   = argmin over networks of the sum of t * cross entropy of s and softmax(Pi(I))

    `network`, the answer, is Pi; `average`, exact, shows what it loses by being one. Between more
    than two players the walks would weigh s with a third one's reach: then each player's policies
    are met on episodes of their own, in which the others play uniformly.

    How V is fitted is told in `sd_cfr`. Pi goes on from the last iteration's, `average_steps` with
    a rate that falls to zero, on per-infoset sums of what was met: the same objective as that of a
    reservoir, without its bounds. The paper fits a squared error, anew, once, at the end.
    """

    average_hidden_sizes: tuple[int, ...] = (64, 64, 64)
    average_train_steps: int = 50  # of Adam per iteration
    average_learning_rate: float = 1e-3

    distributes_on: ClassVar[tuple[str, ...]] = ("episodes", "rules")

    def init_state(self, tree: Any, rng: np.random.Generator) -> RegretNetState:
        return base.new_regret_net_state(self, tree, rng)

    def iterate(self, tree: Any, t: int, state: RegretNetState, key: jax.Array) -> RegretNetState:
        keep_key, average_key, *keys = jax.random.split(key, 2 + tree.num_players)
        state = state._replace(averages=base.add_to_averages(self, tree, t, state, keep_key))
        for player, own in enumerate(keys):
            walk_key, fit_key = jax.random.split(own)
            base.run_external_sampling(self, tree, state, player, float(t), walk_key)
            state = state._replace(nets=base.fit_regret_net(self, tree, t, state, player, fit_key))
        return state._replace(averages=base.fit_average_net(self, tree, state, average_key))

    def tabulate(self, tree: Any, state: RegretNetState) -> dict[str, Any]:
        return base.put_network_first(base.tabulate_policies(self, tree, state))
