"""DREAM: regret networks from single episodes, with a critic as control variate."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np

from counterplay.algorithms.deep.common.averages import AverageState
from counterplay.algorithms.deep.common.critics import CriticConfig
from counterplay.algorithms.deep.common.jax_algorithm import split_key
from counterplay.algorithms.deep.common.training import TrainState
from counterplay.algorithms.deep.regret.base import ReplayRegretNetAlgorithm
from counterplay.algorithms.deep.regret.sampler import Sampler, SamplingScheme
from counterplay.core.settings import PositiveInt, PositiveProbability, settings


class CriticRegretNetState(NamedTuple):
    """The state of an algorithm with a critic."""

    nets: TrainState  # [P] V of each player
    critic: TrainState  # Q
    sampler: Any  # arrays of the sampler
    averages: AverageState


@settings(kw_only=True)
class CriticRegretNetAlgorithm(CriticConfig, ReplayRegretNetAlgorithm):
    """Base of algorithms with a critic whose networks are fitted to all iterations."""

    def init_state(self, sampler: Sampler, rng: np.random.Generator) -> CriticRegretNetState:
        nets, arrays, averages = self.new_state(sampler, rng)
        return CriticRegretNetState(nets, sampler.new_critic(self, rng), arrays, averages)


@settings(kw_only=True)
class DREAM(CriticRegretNetAlgorithm):
    """DREAM (Steinberger, Lerer and Brown, 2020). At t = 1, 2, ..., with the critic refitted:

        Q(h, a) = expected value after a under the current policies (expected SARSA)

    for each player i in turn, `num_traversals` episodes, in which it samples from
    q = epsilon * uniform + (1 - epsilon) * policy; backwards along each, at all decisions:

        v(b)   = Q_i(h, b), plus (v - Q_i(h, a)) / q(a) for the action a that was taken
        v      = policy . v(.), for the decision before;  r(b) = v(b) - v
        V_i    = argmin over networks of the sum over all samples of w * |V(I) - r|**2
        w      = t / (product of q over its actions before)
        policy = regret_matching(V_i(I)); where no output is positive, all on the largest

    The mean of r with weights w is unbiased for any Q. Q sees the observations of all players and
    has an output for each of them, also with more than two players. It continues from the last
    iteration's network. On a tree, transitions are counts per node that decay, and targets are
    computed for all of them; on rules, the latest `critic_buffer_size` decisions are stored with
    decaying weights, and targets are computed for sampled ones. V, `average` and `ensemble` are
    those of `sd_cfr`; on rules V is fitted to a reservoir, and there is no `average`.
    """

    num_traversals: PositiveInt = 900
    epsilon: PositiveProbability = 0.5

    default_iterations: ClassVar[int] = 200

    def iterate(
        self, sampler: Sampler, t: int, state: CriticRegretNetState, key: jax.Array
    ) -> CriticRegretNetState:
        average_key, critic_key, *player_keys = split_key(key, 2 + sampler.num_players)
        state = state._replace(averages=self.add_to_averages(sampler, t, state, average_key))
        critic, values = sampler.fit_critic(self, state.critic, state.nets.params, critic_key)
        state = state._replace(critic=critic)
        sampler.decay_visits(self.critic_sample_decay)
        for player, player_key in enumerate(player_keys):
            sample_key, fit_key = split_key(player_key, 2)
            if self.exact_critic and player:  # exact for the policies of this moment
                _, values = sampler.fit_critic(self, critic, state.nets.params, critic_key)
            scheme = SamplingScheme(
                player, self.epsilon, reach_power=1.0, regret_weight=float(t), average_weight=0.0
            )
            sampler.collect_outcomes(state.nets.params, scheme, values, sample_key)
            state = state._replace(nets=self.fit_regret_net(sampler, t, state, player, fit_key))
        return state
