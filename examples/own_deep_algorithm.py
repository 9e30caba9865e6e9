"""A deep algorithm in one file: networks that follow Hedge on sampled regrets.

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
from counterplay.algorithms.deep.common import averages, returns
from counterplay.algorithms.deep.common.averages import AverageConfig, AverageState
from counterplay.algorithms.deep.common.episodes import mix_exploration, sample_episodes
from counterplay.algorithms.deep.common.networks import (
    apply_net,
    centre_over_legal,
    new_nets,
    replace_player,
    select_player,
)
from counterplay.algorithms.deep.common.training import (
    TrainState,
    apply_gradient,
    init_train_states,
)


class State(NamedTuple):
    nets: TrainState  # one network a player
    averages: AverageState


@dataclass(frozen=True, kw_only=True)
class TinyHedge(AverageConfig):
    """Logits = W(I). At every iteration, for each player: W(I) += rate * (sampled regrets at I)."""

    units: tuple[int, ...] = (32,)
    episodes: int = 64
    rate: float = 0.3
    threshold: float = 2.0  # centred logits are not pushed further than this
    epsilon: float = 0.3

    def init_state(self, graph, rng):
        nets = new_nets(
            rng, graph.num_players, (graph.num_features, *self.units, graph.max_actions)
        )
        kept = averages.new_average_state(self, graph, rng, nets, self.reservoir_size)
        return State(init_train_states(optax.sgd(self.rate), nets), kept)

    def iterate(self, graph, t, state, key):
        table = averages.infoset_policies(state.nets.params, graph)  # [I, A] of all infosets
        kept = averages.add_policies(
            self, state.averages, graph, t, state.nets.params, lambda: table, key
        )
        turn = partial(self.turn, graph, table, key)
        return State(jax.lax.fori_loop(0, graph.num_players, turn, state.nets), kept)

    def turn(self, graph, table, key, player, nets):
        def behaviour(now):  # all play their networks, this player explores
            policy = table[now.infoset]
            return policy, mix_exploration(policy, now, player, self.epsilon)

        episodes = sample_episodes(graph, behaviour, jax.random.fold_in(key, player), self.episodes)
        nothing = jnp.zeros(episodes.policy.shape)  # no baseline
        utility = episodes.utility[:, player]
        regret = returns.baseline_regrets(episodes, player, utility, nothing).regret
        y = centre_over_legal(jnp.log(jnp.maximum(episodes.policy, 1e-30)), episodes.legal)
        outward = jnp.where(regret > 0, y > self.threshold, y < -self.threshold)
        force = centre_over_legal(jnp.where(outward, 0.0, regret), episodes.legal)
        seen = graph.observation[graph.observation_row[player, episodes.decision]]

        def loss(net):  # uphill along the regrets, at this player's decisions only
            logits = apply_net(net, seen.reshape(-1, graph.num_features)).reshape(force.shape)
            return -jnp.where((episodes.player == player)[..., None], force * logits, 0.0).mean()

        trained = select_player(nets, player)
        trained = apply_gradient(optax.sgd(self.rate), trained, jax.grad(loss)(trained.params))
        return replace_player(nets, player, trained)

    def tabulate(self, graph, state):
        kept = averages.tabulate_averages(self, state.averages, graph)
        return kept | {"current": averages.infoset_policies(state.nets.params, graph)}


if __name__ == "__main__":
    tree = cp.build_tree(cp.load_game("kuhn_poker"))
    result = cp.solve(tree, TinyHedge(), iterations=5000)
    for record in result.records[::3]:
        print(f"{record.iteration:6}  {record.exploitability:.4f}")
