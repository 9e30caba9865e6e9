"""A deep algorithm of one's own: networks that follow Hedge on sampled regrets.

    python examples/own_deep_algorithm.py

It says what it starts from, what an iteration changes and which policies it has; compiling,
running, resuming and judging come with `Averaging`, and so does the average policy.
"""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

import counterplay as cp
from counterplay.deep import averages, values
from counterplay.deep.averages import Averages, Averaging
from counterplay.deep.episodes import exploring, sample
from counterplay.deep.fitting import Trained, descend, in_training
from counterplay.deep.nets import apply_net, centre, new_nets, one_of, with_one


class State(NamedTuple):
    nets: Trained  # one network a player
    averages: Averages


@dataclass(frozen=True, kw_only=True)
class TinyHedge(Averaging):
    """Logits = W(I). At every iteration, for each player: W(I) += rate * (sampled regrets at I)."""

    units: tuple[int, ...] = (32,)
    episodes: int = 64
    rate: float = 0.3
    threshold: float = 2.0  # centred logits are not pushed further than this
    epsilon: float = 0.3

    def start(self, graph, rng):
        nets = new_nets(
            rng, graph.num_players, (graph.num_features, *self.units, graph.max_actions)
        )
        kept = averages.no_averages(self, graph, rng, nets, self.reservoir_size)
        return State(in_training(optax.sgd(self.rate), nets), kept)

    def iteration(self, graph, t, state, key):
        table = averages.policies_of(state.nets.params, graph)  # [I, A] of all infosets
        kept = averages.remember(
            self, state.averages, graph, t, state.nets.params, lambda: table, key
        )
        turn = partial(self.turn, graph, table, key)
        return State(jax.lax.fori_loop(0, graph.num_players, turn, state.nets), kept)

    def turn(self, graph, table, key, player, nets):
        def behaviour(now):  # everybody plays its network, this player explores
            policy = table[now.infoset]
            return policy, exploring(policy, now, player, self.epsilon)

        episodes = sample(graph, behaviour, jax.random.fold_in(key, player), self.episodes)
        nothing = jnp.zeros(episodes.policy.shape)  # no baseline
        utility = episodes.utility[:, player]
        regret = values.baseline_regrets(episodes, player, utility, nothing).regret
        y = centre(jnp.log(jnp.maximum(episodes.policy, 1e-30)), episodes.legal)
        outward = jnp.where(regret > 0, y > self.threshold, y < -self.threshold)
        force = centre(jnp.where(outward, 0.0, regret), episodes.legal)
        seen = graph.observation[graph.view[player, episodes.decision]]

        def loss(net):  # uphill along the regrets, at this player's decisions only
            logits = apply_net(net, seen.reshape(-1, graph.num_features)).reshape(force.shape)
            return -jnp.where((episodes.player == player)[..., None], force * logits, 0.0).mean()

        trained = one_of(nets, player)
        trained = descend(optax.sgd(self.rate), trained, jax.grad(loss)(trained.params))
        return with_one(nets, player, trained)

    def tables(self, graph, state):
        kept = averages.average_tables(self, state.averages, graph)
        return kept | {"current": averages.policies_of(state.nets.params, graph)}


if __name__ == "__main__":
    tree = cp.build_tree(cp.load_game("kuhn_poker"))
    result = cp.solve(tree, TinyHedge(), iterations=5000)
    for record in result.records[::3]:
        print(f"{record.iteration:6}  {record.exploitability:.4f}")
