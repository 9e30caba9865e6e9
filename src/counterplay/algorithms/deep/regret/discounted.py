"""Networks that hold discounted sums of regrets: each fit adds one iteration's to the last ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common.averages import AverageState
from counterplay.algorithms.deep.common.graph import Graph, graph_from_tree
from counterplay.algorithms.deep.common.jax_algorithm import persistent_jit
from counterplay.algorithms.deep.common.networks import (
    Net,
    PredictiveNets,
    apply_net,
    regret_matching,
    replace_player,
    select_player,
)
from counterplay.algorithms.deep.common.rollouts import graph_from_rows, round_up_size
from counterplay.algorithms.deep.common.training import (
    TrainState,
    fit_with_cosine_decay,
    mean_squared_error,
)
from counterplay.algorithms.deep.common.tree_or_rules import env_from_arena, is_two_player_zero_sum
from counterplay.algorithms.deep.regret import base, samplers, sarsa_critic
from counterplay.algorithms.deep.regret.base import gradient_transform
from counterplay.algorithms.deep.regret.samplers import EpisodeRegrets, SamplingScheme
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints
from counterplay.errors import ConfigError


class DiscountedRegretState(NamedTuple):
    """What an iteration changes."""

    nets: TrainState  # [P] R in units of `scale`
    regret_scale: jax.Array  # [P]
    next_discount: (
        jax.Array
    )  # [P] what part of R the next iteration leaves, where that is predicted
    instantaneous_nets: TrainState  # [P] r, in units of the largest utility
    critic: TrainState  # Q
    sampler: Any  # `samplers.TreeSampler`, or on rules `samplers.RulesSampler`
    averages: AverageState


def init_state(config: Any, arena: Any, rng: np.random.Generator) -> DiscountedRegretState:
    """Before the first iteration."""
    if not is_two_player_zero_sum(arena):
        raise ConfigError(f"{config.name} needs a two-player zero-sum game; {arena.spec} is none")
    walks: Any
    if not isinstance(arena, TreeArena):
        walks = base.new_rules_sampler(config, arena, keep_regrets=False)
    elif config.reservoir_size:
        raise ConfigError(f"{config.name}: reservoir_size is for rules; a tree has exact sums")
    else:
        walks = samplers.new_tree_sampler_state(arena, track_visits=True)
    nets, latest = (base.new_regret_nets(config, arena, rng) for _ in range(2))
    critic = sarsa_critic.new_critic(config, arena, rng)
    past = predictive_nets(nets, jnp.ones(2), latest) if config.is_predictive else nets.params
    kept = base.new_uniform_average_state(config, arena, rng, past)
    return DiscountedRegretState(nets, jnp.ones(2), jnp.ones(2), latest, critic, walks, kept)


def predictive_nets(
    cumulative_nets: TrainState, regret_scale: jax.Array, instantaneous_nets: TrainState
) -> PredictiveNets:
    """Every player's networks of sums, in units of `size` [P], and of the latest, as one."""
    *deep, (weights, biases) = cumulative_nets.params
    last = weights * regret_scale[:, None, None], biases * regret_scale[:, None]
    return PredictiveNets([*deep, last], instantaneous_nets.params)


def discount(config: Any, t: int) -> float:
    """What is left of the sums when iteration t adds to them."""
    x = float(t - 1) ** config.alpha
    return x / (x + config.discount_constant) if t > 1 else 0.0


def iterate(
    config: Any, tree: Any, t: int, state: DiscountedRegretState, key: jax.Array, predict: bool
) -> DiscountedRegretState:
    """Every player's turn, with the policies before it remembered and their average fitted."""
    keep_key, average_key, *keys = jax.random.split(key, 2 + tree.num_players)
    state = state._replace(averages=base.add_to_averages(config, tree, t, state, keep_key))
    for player, own in enumerate(keys):
        state = iterate_player(config, tree, t, state, player, own, predict)
    return state._replace(averages=base.fit_average_net(config, tree, state, average_key))


def iterate_player(
    config: Any,
    tree: Any,
    t: int,
    state: DiscountedRegretState,
    player: int,
    key: jax.Array,
    predict: bool,
) -> DiscountedRegretState:
    """One player's part of an iteration."""
    critic_key, walk_key, fit_key = jax.random.split(key, 3)
    state, guess = sarsa_critic.update_critic(config, tree, state, critic_key)
    walks = state.sampler
    walks.visits[:] *= config.critic_sample_decay ** (1.0 / tree.num_players)
    average = float(t) ** config.average_power
    scheme = SamplingScheme(
        player, config.epsilon, reach_power=0.0, regret_weight=1.0, average_weight=average
    )
    if not isinstance(tree, TreeArena):
        rules, nets = env_from_arena(tree), config.actor_params(state)
        found = samplers.sample_episode_regrets(config, rules, walks, nets, scheme, guess, walk_key)
        fresh = pad_regrets(found, rules.largest_utility)
        return fit_player(config, t, state, player, fresh, fit_key, predict)[0]
    samplers.run_outcome_sampling_on_tree(config, tree, walks, scheme, guess, walk_key)
    mean, weight = samplers.mean_regrets(tree, walks.regret_samples[player])
    samplers.clear_regret_sums(walks.regret_samples[player])
    return fit_player_on_tree(config, tree, t, state, player, mean, weight, fit_key, predict)


class RegretBatch(NamedTuple):
    """What one iteration found out, at N rows of a graph."""

    graph: Graph
    row: Ints  # [N]
    regret: Any  # [N, A] in units of the largest utility
    weight: Any  # [N]


def pad_regrets(episode_regrets: EpisodeRegrets, utility_scale: float) -> RegretBatch:
    """The regrets of single decisions, with rows that count nothing: every size is compiled for."""
    count = len(episode_regrets.weight)
    size = round_up_size(count)

    def more(rows: Any, otherwise: Any) -> Any:
        pad = [(0, size - count)] + [(0, 0)] * (rows.ndim - 1)
        return np.pad(rows, pad, constant_values=otherwise)

    graph = graph_from_rows(
        more(episode_regrets.observation, 0.0)[None], more(episode_regrets.legal, True), 1
    )
    row = np.arange(size, dtype=np.int32)
    return RegretBatch(
        graph,
        row,
        more(episode_regrets.regret / utility_scale, 0.0),
        more(episode_regrets.weight, 0.0),
    )


def fit_player_on_tree(
    config: Any,
    tree: TreeArena,
    t: int,
    state: DiscountedRegretState,
    player: int,
    mean: Floats,
    weight: Floats,
    key: jax.Array,
    predict: bool,
) -> DiscountedRegretState:
    """Both networks fitted to mean regrets [S] of infosets met so often [I]; sets the policy."""
    row, exists = (part[player] for part in samplers.infosets_by_player(tree))
    target = samplers.table_from_sequences(tree, mean / np.abs(tree.utility).max())[row]
    count = np.where(exists, weight[row], 0.0).astype(np.float32)
    fresh = RegretBatch(graph_from_tree(tree), row, target, count)
    state, table = fit_player(config, t, state, player, fresh, key, predict)
    samplers.set_policy(tree, state.sampler, player, table)
    return state


def fit_player(
    config: Any,
    t: int,
    state: DiscountedRegretState,
    player: int,
    regret_batch: RegretBatch,
    key: jax.Array,
    predict: bool,
) -> tuple[DiscountedRegretState, Any]:
    """The state with the player's networks fitted, and their policy [N, A] at the rows."""
    factors = discount(config, t), discount(config, t + 1) if predict else 1.0
    before = state.nets, state.regret_scale, state.instantaneous_nets
    given = before, player, *regret_batch[1:], factors, base.train_steps_at(config, t), key
    nets, scale, latest, table = _jit_fit_player()(config, predict, regret_batch.graph, *given)
    kept = state.next_discount.at[player].set(factors[1])
    return state._replace(
        nets=nets, regret_scale=scale, next_discount=kept, instantaneous_nets=latest
    ), table


@lru_cache
def _jit_fit_player() -> Callable[..., tuple[TrainState, jax.Array, TrainState, jax.Array]]:
    @partial(persistent_jit, static_argnums=(0, 1))
    def run(
        config: Any,
        predict: bool,
        graph: Graph,
        before: tuple[TrainState, jax.Array, TrainState],
        player: jax.Array,
        row: jax.Array,
        regret: jax.Array,
        weight: jax.Array,
        factors: tuple[jax.Array, jax.Array],
        steps: jax.Array,
        key: jax.Array,
    ) -> tuple[TrainState, jax.Array, TrainState, jax.Array]:
        nets, scale, latest = before
        x, legal = graph.observation[graph.own_observation_row[row]], graph.legal[row]
        now, after = factors
        filled = (weight > 0.0).sum()

        def towards(train_state: TrainState, target: jax.Array, key: jax.Array) -> TrainState:
            data = x, target, weight, legal

            def draw(key: jax.Array) -> Any:
                if not graph.is_rollout_batch or row.size <= config.batch_size:
                    return data
                chosen = jax.random.randint(key, (config.batch_size,), 0, filled)
                return jax.tree.map(lambda part: part[chosen], data)

            def loss(net: Net, some: Any) -> jax.Array:
                x, target, weight, legal = some
                return mean_squared_error(apply_net(net, x), target, weight, legal)

            return fit_with_cosine_decay(
                gradient_transform(config),
                config.learning_rate,
                loss,
                train_state,
                draw,
                key,
                steps,
            )

        trained = select_player(nets, player)
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
            guess = towards(select_player(latest, player), regret, second)
            said = after * jnp.maximum(said, 0.0) + apply_net(guess.params, x)
            latest = replace_player(latest, player, guess)
        return (
            replace_player(nets, player, trained),
            scale.at[player].set(size),
            latest,
            regret_matching(said, legal),
        )

    return run
