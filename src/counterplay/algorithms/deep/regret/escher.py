"""ESCHER: regrets from a critic alone, without importance weights."""

from __future__ import annotations

from typing import ClassVar

import jax

from counterplay.algorithms.deep.regret.config import AverageNetConfig
from counterplay.algorithms.deep.regret.dream import CriticRegretNetAlgorithm, CriticRegretNetState
from counterplay.algorithms.deep.regret.sampler import Sampler, critic_only_scheme
from counterplay.core.settings import PositiveInt, settings


@settings(kw_only=True)
class ESCHER(AverageNetConfig, CriticRegretNetAlgorithm):
    """ESCHER (McAleer, Farina, Lanctot and Sandholm, 2023). At t = 1, 2, ..., for each player i:

        Q(h, a) = expected value after a under the current policies (expected SARSA)
        `num_traversals` episodes: the player acts uniformly, the others follow their policies
        r(b)   = Q_i(h, b) - policy . Q_i(h, .)                   at its decisions
        V_i    = argmin over networks of the sum over all samples so far of t * |V(I) - r|**2
        policy = regret_matching(V_i(I)); where no output is positive, all on the largest
        Pi     = argmin of the sum of t * cross entropy of s and softmax(Pi(I)), as in `deep_cfr`

    The player's sampling policy is fixed, so it weights all regrets of an infoset equally, and no
    sample is divided by a small probability. Errors of Q bias the regrets, so Q is refitted before
    each player's episodes, from all transitions so far with decaying weights. The paper regresses
    on returns of separate episodes instead. With `exact_critic`, the sampling of histories is the
    only noise left.

    On a tree the exact `average` comes first; `network` is Pi. The rest is as in `sd_cfr`, and on
    rules as in `dream`, with a reservoir of policies for Pi, which comes first there.
    """

    num_traversals: PositiveInt = 900

    default_iterations: ClassVar[int] = 200

    def iterate(
        self, sampler: Sampler, t: int, state: CriticRegretNetState, key: jax.Array
    ) -> CriticRegretNetState:
        average_key, net_key, *player_keys = jax.random.split(key, 2 + sampler.num_players)
        state = state._replace(averages=self.add_to_averages(sampler, t, state, average_key))
        sampler.decay_visits(self.critic_sample_decay)
        for player, player_key in enumerate(player_keys):
            critic_key, sample_key, fit_key = jax.random.split(player_key, 3)
            nets = state.nets.params
            critic, values = sampler.fit_critic(self, state.critic, nets, critic_key)
            state = state._replace(critic=critic)
            sampler.collect_outcomes(nets, critic_only_scheme(player, float(t)), values, sample_key)
            state = state._replace(nets=self.fit_regret_net(sampler, t, state, player, fit_key))
        return state._replace(averages=self.fit_average(sampler, state, net_key))
