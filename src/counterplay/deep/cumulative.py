"""Networks that hold discounted sums of regrets: each fit adds one iteration's to the last ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.deep import critics, regrets, traversals
from counterplay.deep.averages import Averages
from counterplay.deep.device import compiled
from counterplay.deep.fitting import Trained, annealed, squared_error
from counterplay.deep.graph import Graph, graph_of
from counterplay.deep.nets import Net, apply_net, one_of, regret_matching, with_one
from counterplay.deep.regrets import direction
from counterplay.deep.traversals import Walks
from counterplay.errors import ConfigError
from counterplay.tree import Floats, Tree


class State(NamedTuple):
    """What an iteration changes."""

    nets: Trained  # [P] R in units of `scale`
    scale: jax.Array  # [P]
    latest: Trained  # [P] r, in units of the largest utility
    critic: Trained  # Q
    walks: Walks
    averages: Averages


def start(choices: Any, tree: Tree, rng: np.random.Generator) -> State:
    """Before the first iteration."""
    if tree.num_players != 2 or not tree.zero_sum:
        raise ConfigError(f"{choices.name} needs a two-player zero-sum game; {tree.spec} is none")
    nets = regrets.new_regret_nets(choices, tree, rng)
    return State(
        nets=nets,
        scale=jnp.ones(tree.num_players),
        latest=regrets.new_regret_nets(choices, tree, rng),
        critic=critics.new_critic(choices, tree, rng),
        walks=traversals.no_walks(tree, visits=True),
        averages=regrets.new_averages(choices, tree, rng, nets),
    )


def discount(choices: Any, t: int) -> float:
    """What is left of the sums when iteration t adds to them."""
    x = float(t - 1) ** choices.alpha
    return x / (x + choices.c) if t > 1 else 0.0


def iteration(
    choices: Any, tree: Tree, t: int, state: State, key: jax.Array, predict: bool
) -> State:
    """Every player's turn, with the policies before it remembered and their average fitted."""
    keep_key, average_key, *keys = jax.random.split(key, 2 + tree.num_players)
    state = state._replace(averages=regrets.remember(choices, tree, t, state, keep_key))
    for player, own in enumerate(keys):
        state = turn(choices, tree, t, state, player, own, predict)
    return state._replace(averages=regrets.refit_average(choices, tree, state, average_key))


def turn(
    choices: Any, tree: Tree, t: int, state: State, player: int, key: jax.Array, predict: bool
) -> State:
    """One player's part of an iteration."""
    critic_key, walk_key, fit_key = jax.random.split(key, 3)
    walks = state.walks
    critic, guess = critics.criticise(choices, tree, walks, state.critic, critic_key)
    walks.visits[:] *= choices.critic_decay ** (1.0 / tree.num_players)
    scheme, weights = (choices.epsilon, 0.0), (1.0, float(t) ** choices.average_power)
    traversals.outcomes(choices, tree, walks, player, scheme, weights, guess, walk_key)
    mean, weight = traversals.means(tree, walks.replay[player])
    traversals.forget(walks.replay[player])
    return fit(
        choices, tree, t, state._replace(critic=critic), player, mean, weight, fit_key, predict
    )


def fit(
    choices: Any,
    tree: Tree,
    t: int,
    state: State,
    player: int,
    mean: Floats,
    weight: Floats,
    key: jax.Array,
    predict: bool,
) -> State:
    """Both networks fitted to mean regrets [S] of infosets met so often [I]; sets the policy."""
    row, exists = (part[player] for part in traversals.rows_of(tree))
    target = traversals.dense(tree, mean / np.abs(tree.utility).max())[row]
    count = np.where(exists, weight[row], 0.0).astype(np.float32)
    factors = discount(choices, t), discount(choices, t + 1) if predict else 1.0
    steps = regrets.steps_at(choices, t)
    nets, scale, latest, table = _fit()(
        choices, predict, graph_of(tree), state[:3], player, row, target, count, factors, steps, key
    )
    traversals.set_policy(tree, state.walks, player, table)
    return state._replace(nets=nets, scale=scale, latest=latest)


@lru_cache
def _fit() -> Callable[..., tuple[Trained, jax.Array, Trained, jax.Array]]:
    @partial(compiled, static_argnums=(0, 1))
    def run(
        choices: Any,
        predict: bool,
        graph: Graph,
        before: tuple[Trained, jax.Array, Trained],
        player: jax.Array,
        row: jax.Array,
        regret: jax.Array,
        weight: jax.Array,
        factors: tuple[jax.Array, jax.Array],
        steps: jax.Array,
        key: jax.Array,
    ) -> tuple[Trained, jax.Array, Trained, jax.Array]:
        nets, scale, latest = before
        x, legal = graph.observation[graph.own_view[row]], graph.legal[row]
        now, after = factors

        def towards(trained: Trained, target: jax.Array, key: jax.Array) -> Trained:
            def loss(net: Net, _: Any) -> jax.Array:
                return squared_error(apply_net(net, x), target, weight, legal)

            optimiser = direction(choices)
            return annealed(optimiser, choices.lr, loss, trained, lambda key: None, key, steps)

        trained = one_of(nets, player)
        frozen = scale[player] * apply_net(trained.params, x)
        target = now * jnp.maximum(frozen, 0.0) + regret
        count = jnp.where(legal, weight[:, None], 0.0)
        size = jnp.sqrt((count * target**2).sum() / count.sum().clip(1e-30)).clip(1e-6)
        first, second = jax.random.split(key)
        rescaled = [
            *trained.params[:-1],
            jax.tree.map(lambda w: w * scale[player] / size, trained.params[-1]),
        ]
        trained = towards(trained._replace(params=rescaled), target / size, first)
        said = size * apply_net(trained.params, x)
        if predict:
            guess = towards(one_of(latest, player), regret, second)
            said = after * jnp.maximum(said, 0.0) + apply_net(guess.params, x)
            latest = with_one(latest, player, guess)
        return (
            with_one(nets, player, trained),
            scale.at[player].set(size),
            latest,
            regret_matching(said, legal),
        )

    return run
