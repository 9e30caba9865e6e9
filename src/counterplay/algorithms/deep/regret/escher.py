"""ESCHER: regrets from a critic alone, without importance weights."""

from __future__ import annotations

from typing import ClassVar

import jax

from counterplay.algorithms.deep.common.jax_algorithm import split_key
from counterplay.algorithms.deep.regret.config import AverageNetConfig
from counterplay.algorithms.deep.regret.dream import CriticRegretNetAlgorithm, CriticRegretNetState
from counterplay.algorithms.deep.regret.sampler import Sampler, uniform_scheme
from counterplay.core.settings import PositiveInt, settings


@settings(kw_only=True)
class ESCHER(AverageNetConfig, CriticRegretNetAlgorithm):
    """ESCHER (McAleer, Farina, Lanctot and Sandholm, 2023). At t = 1, 2, ..., for each player i:

        Q(h, a) = expected value after a under the current policies (expected SARSA)
        `num_traversals` episodes: the player acts uniformly, the others follow their policies
        v(b)   = Q_i(h, b), plus (v - Q_i(h, a)) / q(a) for the action a that was taken, where q is
                 its sampling probability and v the value after it, backwards from the end
        v      = policy . v(.), for the decision before;  r(b) = v(b) - v at the player's decisions
        V_i    = argmin over networks of the sum over all samples so far of t * |V(I) - r|**2
        policy = regret_matching(V_i(I)); where no output is positive, all on the largest
        Pi     = argmin of the sum of t * cross entropy of s and softmax(Pi(I)), as in `deep_cfr`

    The player's sampling policy is fixed, so it weights all regrets of an infoset equally, and no
    sample is divided by a small reach. In the paper v(b) is Q_i(h, b) alone, which is
    `correct_critic=False`: errors of Q then bias the regrets. Sampled returns correct them here,
    as in `dream`, so that the mean of r is unbiased for any Q. Q is refitted before each player's
    episodes, from all transitions so far with decaying weights. The paper regresses on returns of
    separate episodes instead. With `exact_critic`, the sampling of histories is the only noise
    left if nothing is corrected.

    On a tree the exact `average` comes first; `network` is Pi. The rest is as in `sd_cfr`, and on
    rules as in `dream`, with a reservoir of policies for Pi, which comes first there.
    """

    num_traversals: PositiveInt = 900
    correct_critic: bool = True  # False: regrets of the critic alone, as in the paper

    default_iterations: ClassVar[int] = 200

    def iterate(
        self, sampler: Sampler, t: int, state: CriticRegretNetState, key: jax.Array
    ) -> CriticRegretNetState:
        average_key, net_key, *player_keys = split_key(key, 2 + sampler.num_players)
        state = state._replace(averages=self.add_to_averages(sampler, t, state, average_key))
        sampler.decay_visits(self.critic_sample_decay)
        for player, player_key in enumerate(player_keys):
            critic_key, sample_key, fit_key = split_key(player_key, 3)
            nets = state.nets.params
            critic, values = sampler.fit_critic(self, state.critic, nets, critic_key)
            state = state._replace(critic=critic)
            scheme = uniform_scheme(player, float(t), self.correct_critic)
            sampler.collect_outcomes(nets, scheme, values, sample_key)
            state = state._replace(nets=self.fit_regret_net(sampler, t, state, player, fit_key))
        return state._replace(averages=self.fit_average(sampler, state, net_key))
