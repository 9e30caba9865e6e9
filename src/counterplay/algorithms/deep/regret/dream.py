"""DREAM: regret networks from single episodes, with a critic that takes out noise."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from counterplay.algorithms.deep.common.averages import AverageState
from counterplay.algorithms.deep.common.training import TrainState
from counterplay.algorithms.deep.regret import base, sarsa_critic
from counterplay.algorithms.deep.regret.base import ReplayRegretNetAlgorithm
from counterplay.algorithms.deep.regret.samplers import SamplingScheme
from counterplay.algorithms.deep.regret.sarsa_critic import CriticConfig
from counterplay.core.settings import settings


class CriticRegretNetState(NamedTuple):
    """What an iteration changes."""

    nets: TrainState  # V of each player
    critic: TrainState  # Q
    sampler: Any  # `samplers.TreeSampler`, or on rules `samplers.RulesSampler`
    averages: AverageState


@settings(kw_only=True)
class DREAM(CriticConfig, ReplayRegretNetAlgorithm):
    """DREAM (Steinberger, Lerer and Brown, 2020). At t = 1, 2, ..., with the critic refitted:

        Q(h, a) = expected value after a, if the present policies go on (expected SARSA)

    for each player i in turn `traversals` episodes, in which it samples from
    q = epsilon * uniform + (1 - epsilon) * policy; backwards along each, at all decisions:

        v(b)   = Q_i(h, b), plus (v - Q_i(h, a)) / q(a) for the action a that was taken
        v      = policy . v(.), for the decision before;  r(b) = v(b) - v
        V_i    = argmin over networks of the sum over all samples of w * |V(I) - r|**2
        w      = t / (product of q over its actions before)
        policy = regret_matching(V_i(I)); where no output is positive, all on the largest

    The mean of r with weights w is right whatever Q says. Q sees what all players see and gives a
    value to each of them, also for more than two. `average`, exact, and `ensemble` are those of
    `sd_cfr`, as is the way V is fitted. Q goes on from the last iteration's; transitions are kept
    as counts that fade, and all are bootstrapped anew, in rounds, with the present policies. On
    rules the latest `critic_memory` are kept, fade alike, and those drawn are bootstrapped; V is
    fitted to a reservoir, and there is no `average`.
    """

    num_traversals: int = 900
    epsilon: float = 0.5

    def init_state(self, tree: Any, rng: np.random.Generator) -> CriticRegretNetState:
        nets, walks, averages = base.new_regret_net_state(self, tree, rng, track_visits=True)
        return CriticRegretNetState(nets, sarsa_critic.new_critic(self, tree, rng), walks, averages)

    def iterate(
        self, tree: Any, t: int, state: CriticRegretNetState, key: jax.Array
    ) -> CriticRegretNetState:
        keep_key, critic_key, *keys = jax.random.split(key, 2 + tree.num_players)
        state = state._replace(averages=base.add_to_averages(self, tree, t, state, keep_key))
        state, guess = sarsa_critic.update_critic(self, tree, state, critic_key)
        state.sampler.visits[:] *= self.critic_sample_decay
        for player, own in enumerate(keys):
            walk_key, fit_key = jax.random.split(own)
            if self.exact_critic:  # the others' policies have changed since
                guess = sarsa_critic.exact_step_values(
                    tree, state.sampler.policy[: tree.num_sequences]
                )
            scheme = SamplingScheme(
                player, self.epsilon, reach_power=1.0, regret_weight=float(t), average_weight=0.0
            )
            base.run_outcome_sampling(self, tree, state, scheme, guess, walk_key)
            state = state._replace(nets=base.fit_regret_net(self, tree, t, state, player, fit_key))
        return state

    def tabulate(self, tree: Any, state: CriticRegretNetState) -> dict[str, Any]:
        return base.tabulate_policies(self, tree, state)
