"""DREAM: regret networks from single episodes, with a critic that takes out noise."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from counterplay.deep import critics, regrets
from counterplay.deep.averages import Averages
from counterplay.deep.critics import Criticised
from counterplay.deep.fitting import Trained
from counterplay.deep.regrets import Replaying
from counterplay.deep.traversals import Scheme
from counterplay.settings import settings


class State(NamedTuple):
    """What an iteration changes."""

    nets: Trained  # V of each player
    critic: Trained  # Q
    walks: Any  # `traversals.Walks`, or on rules `rule_walks.RuleWalks`
    averages: Averages


@settings(kw_only=True)
class DREAM(Criticised, Replaying):
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

    traversals: int = 900
    epsilon: float = 0.5

    def start(self, tree: Any, rng: np.random.Generator) -> State:
        nets, walks, averages = regrets.new_nets_and_walks(self, tree, rng, visits=True)
        return State(nets, critics.new_critic(self, tree, rng), walks, averages)

    def iteration(self, tree: Any, t: int, state: State, key: jax.Array) -> State:
        keep_key, critic_key, *keys = jax.random.split(key, 2 + tree.num_players)
        state = state._replace(averages=regrets.remember(self, tree, t, state, keep_key))
        state, guess = critics.refitted(self, tree, state, critic_key)
        state.walks.visits[:] *= self.critic_decay
        for player, own in enumerate(keys):
            walk_key, fit_key = jax.random.split(own)
            if self.oracle:  # the others' policies have changed since
                guess = critics.exact_values(tree, state.walks.policy[: tree.num_sequences])
            scheme = Scheme(player, self.epsilon, power=1.0, weight=float(t), average=0.0)
            regrets.outcomes(self, tree, state, scheme, guess, walk_key)
            state = state._replace(nets=regrets.refit(self, tree, t, state, player, fit_key))
        return state

    def tables(self, tree: Any, state: State) -> dict[str, Any]:
        return regrets.answers(self, tree, state)
