"""SD-CFR: Deep CFR without an average network."""

from __future__ import annotations

from typing import ClassVar

import jax
import numpy as np

from counterplay.algorithms.deep.common.jax_algorithm import split_key
from counterplay.algorithms.deep.regret.base import RegretNetState, ReplayRegretNetAlgorithm
from counterplay.algorithms.deep.regret.sampler import Sampler
from counterplay.core.settings import settings


@settings(kw_only=True)
class SDCFR(ReplayRegretNetAlgorithm):
    """Single Deep CFR (Steinberger, 2019). At t = 1, 2, ..., for each player i in turn:

        `num_traversals` traversals of external sampling; at its nodes r(a) = u(a) - policy . u
        V_i    = argmin over networks of the sum over all samples so far of t * |V(I) - r|**2
        policy = regret_matching(V_i(I)); where no output is positive, all on the largest

    There is no average network. `average` is the exact average of all iterates, weighted by t and
    the player's own reach; it needs a tree. `ensemble` can be played on large games: draw a past
    network in proportion to its t at the start of an episode and play it to the end. At most
    `ensemble_size` networks are kept, a uniform sample of all.

    Departures from the paper:

    - With `stratified_chance`, the traversals of an iteration, which share their policies, see
      every chance outcome in proportion to its probability. This is unbiased and has less variance
      than independent sampling. All actions of a traverser's node see the same chance outcomes.
    - The samples of an infoset are stored as one weighted mean, which has the same minimiser as
      all samples and no capacity. `reservoir_size` selects a reservoir and minibatches instead.
    - The loss ignores outputs of illegal actions, targets are divided by their root mean square,
      and the learning rate decays to zero within each fit.
    - A fit starts from the last network; the paper starts from random weights (`warm_start`).
    """

    distributes_on: ClassVar[tuple[str, ...]] = ("episodes", "rules")

    def init_state(self, sampler: Sampler, rng: np.random.Generator) -> RegretNetState:
        return self.new_state(sampler, rng)

    def iterate(
        self, sampler: Sampler, t: int, state: RegretNetState, key: jax.Array
    ) -> RegretNetState:
        average_key, *player_keys = split_key(key, 1 + sampler.num_players)
        state = state._replace(averages=self.add_to_averages(sampler, t, state, average_key))
        for player, player_key in enumerate(player_keys):
            sample_key, fit_key = split_key(player_key, 2)
            sampler.collect_external(state.nets.params, player, float(t), sample_key)
            state = state._replace(nets=self.fit_regret_net(sampler, t, state, player, fit_key))
        return state
