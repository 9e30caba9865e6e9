"""ESCHER: regrets from a critic alone, without importance weights."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from counterplay.algorithms.deep.regret import base, sarsa_critic
from counterplay.algorithms.deep.regret.base import ReplayRegretNetAlgorithm
from counterplay.algorithms.deep.regret.dream import CriticRegretNetState
from counterplay.algorithms.deep.regret.samplers import critic_only_scheme
from counterplay.algorithms.deep.regret.sarsa_critic import CriticConfig
from counterplay.core.settings import settings


@settings(kw_only=True)
class ESCHER(CriticConfig, ReplayRegretNetAlgorithm):
    """ESCHER (McAleer, Farina, Lanctot and Sandholm, 2023). At t = 1, 2, ..., for each player i:

        Q(h, a) = expected value after a, if the present policies go on (expected SARSA)
        `traversals` episodes, in which it acts uniformly and the others follow their policies
        r(b)   = Q_i(h, b) - policy . Q_i(h, .)                   at its decisions
        V_i    = argmin over networks of the sum over all samples so far of t * |V(I) - r|**2
        policy = regret_matching(V_i(I)); where no output is positive, all on the largest
        Pi     = argmin of the sum of t * cross entropy of s and softmax(Pi(I)), as in `deep_cfr`

    Since the player's own sampling never changes, it weighs all regrets of an infoset alike, and
    nothing is divided by small probabilities. But Q is believed: what it gets wrong biases the
    regrets. So it is refitted before every player's episodes, on transitions met so far, kept as
    counts that fade. The paper regresses on returns of separate episodes instead. With `oracle` the
    only noise left is whose turn it was to be dealt what.

    `average` is exact and comes first; `network` is Pi; the rest is as in `sd_cfr`, and on rules as
    in `dream`, with a reservoir of policies for Pi, which then comes first.
    """

    num_traversals: int = 900
    average_hidden_sizes: tuple[int, ...] = (64, 64, 64)
    average_train_steps: int = 50  # of Adam per iteration
    average_learning_rate: float = 1e-3

    def init_state(self, tree: Any, rng: np.random.Generator) -> CriticRegretNetState:
        nets, walks, averages = base.new_regret_net_state(self, tree, rng, track_visits=True)
        return CriticRegretNetState(nets, sarsa_critic.new_critic(self, tree, rng), walks, averages)

    def iterate(
        self, tree: Any, t: int, state: CriticRegretNetState, key: jax.Array
    ) -> CriticRegretNetState:
        keep_key, average_key, *keys = jax.random.split(key, 2 + tree.num_players)
        state = state._replace(averages=base.add_to_averages(self, tree, t, state, keep_key))
        state.sampler.visits[:] *= self.critic_sample_decay
        for player, own in enumerate(keys):
            critic_key, walk_key, fit_key = jax.random.split(own, 3)
            state, guess = sarsa_critic.update_critic(self, tree, state, critic_key)
            scheme = critic_only_scheme(player, float(t))
            base.run_outcome_sampling(self, tree, state, scheme, guess, walk_key)
            state = state._replace(nets=base.fit_regret_net(self, tree, t, state, player, fit_key))
        return state._replace(averages=base.fit_average_net(self, tree, state, average_key))

    def tabulate(self, tree: Any, state: CriticRegretNetState) -> dict[str, Any]:
        return base.tabulate_policies(self, tree, state)
