"""Deep CFR: networks for regrets, and one for the average policy."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import numpy as np

from counterplay.deep import regrets
from counterplay.deep.regrets import Nets, Replaying
from counterplay.settings import settings


@settings(kw_only=True)
class DeepCFR(Replaying):
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

    average_units: tuple[int, ...] = (64, 64, 64)
    average_steps: int = 50  # of Adam per iteration
    average_lr: float = 1e-3

    spreads: ClassVar[tuple[str, ...]] = ("episodes", "rules")

    def start(self, tree: Any, rng: np.random.Generator) -> Nets:
        return regrets.new_nets_and_walks(self, tree, rng)

    def iteration(self, tree: Any, t: int, state: Nets, key: jax.Array) -> Nets:
        keep_key, average_key, *keys = jax.random.split(key, 2 + tree.num_players)
        state = state._replace(averages=regrets.remember(self, tree, t, state, keep_key))
        for player, own in enumerate(keys):
            walk_key, fit_key = jax.random.split(own)
            regrets.external(self, tree, state, player, float(t), walk_key)
            state = state._replace(nets=regrets.refit(self, tree, t, state, player, fit_key))
        return state._replace(averages=regrets.refit_average(self, tree, state, average_key))

    def tables(self, tree: Any, state: Nets) -> dict[str, Any]:
        return regrets.network_first(regrets.answers(self, tree, state))
