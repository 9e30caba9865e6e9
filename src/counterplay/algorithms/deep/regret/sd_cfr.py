"""SD-CFR: Deep CFR without an average network."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import numpy as np

from counterplay.algorithms.deep.regret import base
from counterplay.algorithms.deep.regret.base import RegretNetState, ReplayRegretNetAlgorithm
from counterplay.core.settings import settings


@settings(kw_only=True)
class SDCFR(ReplayRegretNetAlgorithm):
    """Single Deep CFR (Steinberger, 2019). At t = 1, 2, ..., for each player i in turn:

        `traversals` walks of external sampling; at each of its nodes r(a) = u(a) - policy . u
        V_i    = argmin over networks of the sum over all samples so far of t * |V(I) - r|**2
        policy = regret_matching(V_i(I)); where no output is positive, all on the largest

    There is no average network. `average` is exact: the iterates' tables, weighed with t and the
    player's own reach. `ensemble` is what can be played: draw a past network in proportion to its
    t at the start of an episode and keep to it; at most `past_networks` are kept, a uniform sample
    of all.

    All walks of an iteration share the policies, so that chance is spread over them evenly, each
    deal as often as it is likely (`even`): unbiased, and with less noise than drawing it for every
    walk. What the player's different actions lead to has the same luck. The paper draws anew.

    The sum is over what the walks remember: per infoset, its weight and weighted mean, which is the
    same objective without a memory's bounds; with `reservoir_size` a reservoir, and minibatches.
    Outputs of illegal actions have no part in it, targets are divided by their root mean square,
    the rate falls to zero within each fit. The paper fits anew from random weights; `warm` goes on
    from the last network, with the samples of all iterations all the same.
    """

    distributes_on: ClassVar[tuple[str, ...]] = ("episodes", "rules")

    def init_state(self, tree: Any, rng: np.random.Generator) -> RegretNetState:
        return base.new_regret_net_state(self, tree, rng)

    def iterate(self, tree: Any, t: int, state: RegretNetState, key: jax.Array) -> RegretNetState:
        keep_key, *keys = jax.random.split(key, 1 + tree.num_players)
        state = state._replace(averages=base.add_to_averages(self, tree, t, state, keep_key))
        for player, own in enumerate(keys):
            walk_key, fit_key = jax.random.split(own)
            base.run_external_sampling(self, tree, state, player, float(t), walk_key)
            state = state._replace(nets=base.fit_regret_net(self, tree, t, state, player, fit_key))
        return state

    def tabulate(self, tree: Any, state: RegretNetState) -> dict[str, Any]:
        return base.tabulate_policies(self, tree, state)
