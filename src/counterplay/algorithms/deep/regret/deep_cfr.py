"""Deep CFR: networks for regrets, and one for the average policy."""

from __future__ import annotations

from typing import Any, ClassVar

import jax
import numpy as np

from counterplay.algorithms.deep.common.jax_algorithm import split_key
from counterplay.algorithms.deep.regret.base import (
    RegretNetState,
    ReplayRegretNetAlgorithm,
    StateWithAverages,
)
from counterplay.algorithms.deep.regret.config import AverageNetConfig, LossName
from counterplay.algorithms.deep.regret.sampler import Sampler
from counterplay.core.settings import NonNegativeInt, settings


@settings(kw_only=True)
class DeepCFR(AverageNetConfig, ReplayRegretNetAlgorithm):
    """Deep CFR (Brown, Lerer, Gross and Sandholm, 2019). At t = 1, 2, ..., for each player i:

        `num_traversals` traversals of external sampling; at its nodes r(a) = u(a) - policy . u
        V_i    = argmin over networks of the sum over all samples so far of t * |V(I) - r|**2
        policy = regret_matching(V_i(I)); where no output is positive, all on the largest

    and, over the policies s at all visited nodes of players that were sampled,

        Pi_i   = argmin over networks of the sum of t * cross entropy of s and softmax(Pi(I))

    The result is `network`, which is Pi. On a tree, the exact `average` shows the error of Pi. With
    three or more players, traversals would weight s by a third player's reach; there each player's
    policies come from separate episodes in which the others act uniformly.

    V is fitted as in `sd_cfr`. Pi continues from the last iteration, `average_train_steps` steps
    with a learning rate that decays to zero. On a tree it is fitted to sums per infoset, which have
    the same minimiser as a reservoir of unlimited size.

    The paper's listing differs in ways that are options. `warm_start=False` fits V from random
    weights. `reservoir_size` and `average_reservoir_size` keep single samples, of which a full
    reservoir forgets some. `average_loss="squared_error"` fits Pi's probabilities, with weight t,
    by squared error, which cares less than cross entropy about rare actions. `average_at_end`
    trains Pi from random weights in each call of `policies` and never before, so that frequent
    evaluations are expensive, and `average_train_steps` must be large enough for a whole fit (the
    paper: 4,000).
    """

    average_loss: LossName = "cross_entropy"
    # policies per player in a reservoir; 0: on a tree exact sums, on rules `reservoir_size`
    average_reservoir_size: NonNegativeInt = 0
    average_at_end: bool = False  # train Pi from random weights for each call of `policies`

    distributes_on: ClassVar[tuple[str, ...]] = ("episodes", "rules")

    def init_state(self, sampler: Sampler, rng: np.random.Generator) -> RegretNetState:
        return self.new_state(sampler, rng)

    def iterate(
        self, sampler: Sampler, t: int, state: RegretNetState, key: jax.Array
    ) -> RegretNetState:
        average_key, net_key, *player_keys = split_key(key, 2 + sampler.num_players)
        state = state._replace(averages=self.add_to_averages(sampler, t, state, average_key))
        for player, player_key in enumerate(player_keys):
            sample_key, fit_key = split_key(player_key, 2)
            sampler.collect_external(state.nets.params, player, float(t), sample_key)
            state = state._replace(nets=self.fit_regret_net(sampler, t, state, player, fit_key))
        return state._replace(averages=self.fit_average(sampler, state, net_key))

    def tabulate(self, sampler: Sampler, state: StateWithAverages) -> dict[str, Any]:
        """Return the tables of all regret networks, with the average network first."""
        tables = super().tabulate(sampler, state)
        return {"network": tables["network"]} | tables
