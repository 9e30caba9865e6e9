"""ESCHER: regrets from a critic alone, without importance weights."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from counterplay.deep import critics, regrets
from counterplay.deep.critics import Criticised
from counterplay.deep.dream import State
from counterplay.deep.regrets import Replaying
from counterplay.deep.traversals import believing
from counterplay.settings import settings


@settings(kw_only=True)
class ESCHER(Criticised, Replaying):
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

    traversals: int = 900
    average_units: tuple[int, ...] = (64, 64, 64)
    average_steps: int = 50  # of Adam per iteration
    average_lr: float = 1e-3

    def start(self, tree: Any, rng: np.random.Generator) -> State:
        nets, walks, averages = regrets.new_nets_and_walks(self, tree, rng, visits=True)
        return State(nets, critics.new_critic(self, tree, rng), walks, averages)

    def iteration(self, tree: Any, t: int, state: State, key: jax.Array) -> State:
        keep_key, average_key, *keys = jax.random.split(key, 2 + tree.num_players)
        state = state._replace(averages=regrets.remember(self, tree, t, state, keep_key))
        state.walks.visits[:] *= self.critic_decay
        for player, own in enumerate(keys):
            critic_key, walk_key, fit_key = jax.random.split(own, 3)
            state, guess = critics.refitted(self, tree, state, critic_key)
            scheme = believing(player, float(t))
            regrets.outcomes(self, tree, state, scheme, guess, walk_key)
            state = state._replace(nets=regrets.refit(self, tree, t, state, player, fit_key))
        return state._replace(averages=regrets.refit_average(self, tree, state, average_key))

    def tables(self, tree: Any, state: State) -> dict[str, Any]:
        return regrets.answers(self, tree, state)
