"""Networks that hold discounted sums of regrets: each fit adds one iteration's to the last ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.deep import critics, regrets, rule_episodes, traversals
from counterplay.deep.averages import Averages
from counterplay.deep.batches import graph_of_rows, room_for
from counterplay.deep.device import compiled
from counterplay.deep.fitting import Trained, annealed, squared_error
from counterplay.deep.graph import Graph, graph_of
from counterplay.deep.nets import Net, Predicting, apply_net, one_of, regret_matching, with_one
from counterplay.deep.on_rules import is_two_player_zero_sum, rules_on
from counterplay.deep.regrets import direction
from counterplay.deep.rule_episodes import OwnRegrets
from counterplay.deep.traversals import Scheme
from counterplay.errors import ConfigError
from counterplay.tree import Floats, Ints, Tree


class State(NamedTuple):
    """What an iteration changes."""

    nets: Trained  # [P] R in units of `scale`
    scale: jax.Array  # [P]
    kept: jax.Array  # [P] what part of R the next iteration leaves, where that is predicted
    latest: Trained  # [P] r, in units of the largest utility
    critic: Trained  # Q
    walks: Any  # `traversals.Walks`, or on rules `rule_walks.RuleWalks`
    averages: Averages


def start(choices: Any, arena: Any, rng: np.random.Generator) -> State:
    """Before the first iteration."""
    if not is_two_player_zero_sum(arena):
        raise ConfigError(f"{choices.name} needs a two-player zero-sum game; {arena.spec} is none")
    walks: Any
    if not isinstance(arena, Tree):
        walks = regrets.walks_on_rules(choices, arena, regrets=False)
    elif choices.reservoir_size:
        raise ConfigError(f"{choices.name}: reservoir_size is for rules; a tree has exact sums")
    else:
        walks = traversals.no_walks(arena, visits=True)
    nets, latest = (regrets.new_regret_nets(choices, arena, rng) for _ in range(2))
    critic = critics.new_critic(choices, arena, rng)
    past = predicting(nets, jnp.ones(2), latest) if choices.predicts else nets.params
    kept = regrets.new_averages(choices, arena, rng, past)
    return State(nets, jnp.ones(2), jnp.ones(2), latest, critic, walks, kept)


def predicting(nets: Trained, size: jax.Array, latest: Trained) -> Predicting:
    """Every player's networks of sums, in units of `size` [P], and of the latest, as one."""
    *deep, (weights, biases) = nets.params
    last = weights * size[:, None, None], biases * size[:, None]
    return Predicting([*deep, last], latest.params)


def discount(choices: Any, t: int) -> float:
    """What is left of the sums when iteration t adds to them."""
    x = float(t - 1) ** choices.alpha
    return x / (x + choices.c) if t > 1 else 0.0


def iteration(
    choices: Any, tree: Any, t: int, state: State, key: jax.Array, predict: bool
) -> State:
    """Every player's turn, with the policies before it remembered and their average fitted."""
    keep_key, average_key, *keys = jax.random.split(key, 2 + tree.num_players)
    state = state._replace(averages=regrets.remember(choices, tree, t, state, keep_key))
    for player, own in enumerate(keys):
        state = turn(choices, tree, t, state, player, own, predict)
    return state._replace(averages=regrets.refit_average(choices, tree, state, average_key))


def turn(
    choices: Any, tree: Any, t: int, state: State, player: int, key: jax.Array, predict: bool
) -> State:
    """One player's part of an iteration."""
    critic_key, walk_key, fit_key = jax.random.split(key, 3)
    state, guess = critics.refitted(choices, tree, state, critic_key)
    walks = state.walks
    walks.visits[:] *= choices.critic_decay ** (1.0 / tree.num_players)
    average = float(t) ** choices.average_power
    scheme = Scheme(player, choices.epsilon, power=0.0, weight=1.0, average=average)
    if not isinstance(tree, Tree):
        rules, nets = rules_on(tree), choices.speaking(state)
        found = rule_episodes.play(choices, rules, walks, nets, scheme, guess, walk_key)
        fresh = padded(found, rules.largest_utility)
        return learned(choices, t, state, player, fresh, fit_key, predict)[0]
    traversals.outcomes(choices, tree, walks, scheme, guess, walk_key)
    mean, weight = traversals.means(tree, walks.replay[player])
    traversals.forget(walks.replay[player])
    return fit(choices, tree, t, state, player, mean, weight, fit_key, predict)


class Fresh(NamedTuple):
    """What one iteration found out, at N rows of a graph."""

    graph: Graph
    row: Ints  # [N]
    regret: Any  # [N, A] in units of the largest utility
    weight: Any  # [N]


def padded(found: OwnRegrets, unit: float) -> Fresh:
    """The regrets of single decisions, with rows that count nothing: every size is compiled for."""
    count = len(found.weight)
    size = room_for(count)

    def more(rows: Any, otherwise: Any) -> Any:
        pad = [(0, size - count)] + [(0, 0)] * (rows.ndim - 1)
        return np.pad(rows, pad, constant_values=otherwise)

    graph = graph_of_rows(more(found.observation, 0.0)[None], more(found.legal, True), 1)
    row = np.arange(size, dtype=np.int32)
    return Fresh(graph, row, more(found.regret / unit, 0.0), more(found.weight, 0.0))


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
    fresh = Fresh(graph_of(tree), row, target, count)
    state, table = learned(choices, t, state, player, fresh, key, predict)
    traversals.set_policy(tree, state.walks, player, table)
    return state


def learned(
    choices: Any, t: int, state: State, player: int, fresh: Fresh, key: jax.Array, predict: bool
) -> tuple[State, Any]:
    """The state with the player's networks fitted, and their policy [N, A] at the rows."""
    factors = discount(choices, t), discount(choices, t + 1) if predict else 1.0
    before = state.nets, state.scale, state.latest
    given = before, player, *fresh[1:], factors, regrets.steps_at(choices, t), key
    nets, scale, latest, table = _fit()(choices, predict, fresh.graph, *given)
    kept = state.kept.at[player].set(factors[1])
    return state._replace(nets=nets, scale=scale, kept=kept, latest=latest), table


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
        filled = (weight > 0.0).sum()

        def towards(trained: Trained, target: jax.Array, key: jax.Array) -> Trained:
            data = x, target, weight, legal

            def draw(key: jax.Array) -> Any:
                if not graph.is_batch or row.size <= choices.batch:
                    return data
                chosen = jax.random.randint(key, (choices.batch,), 0, filled)
                return jax.tree.map(lambda part: part[chosen], data)

            def loss(net: Net, some: Any) -> jax.Array:
                x, target, weight, legal = some
                return squared_error(apply_net(net, x), target, weight, legal)

            return annealed(direction(choices), choices.lr, loss, trained, draw, key, steps)

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
