"""Networks that stand for tables of regrets: what they are fitted to, and how.

On a tree every iteration ends with the policies of all networks as a table, so that walks are
cheap and the exact average of all iterates costs one pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common import averages
from counterplay.algorithms.deep.common.averages import AverageState
from counterplay.algorithms.deep.common.batched_env import BatchedEnv
from counterplay.algorithms.deep.common.graph import Graph, graph_from_tree
from counterplay.algorithms.deep.common.jax_algorithm import persistent_jit
from counterplay.algorithms.deep.common.networks import (
    Net,
    apply_net,
    new_nets,
    regret_matching,
    reinitialise_net,
    replace_player,
    select_player,
    softmax,
)
from counterplay.algorithms.deep.common.rollouts import empty_graph
from counterplay.algorithms.deep.common.training import (
    TrainState,
    fit_with_cosine_decay,
    init_train_states,
    mean_squared_error,
)
from counterplay.algorithms.deep.common.tree_or_rules import (
    HostAlgorithmOnTreeOrRules,
    env_from_arena,
)
from counterplay.algorithms.deep.regret import samplers
from counterplay.algorithms.deep.regret.samplers import (
    SamplingScheme,
    TreeSampler,
    infoset_by_sequence,
    infosets_by_player,
    mean_regrets,
    new_tree_sampler_state,
    set_policy,
    table_from_sequences,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.field_bounds import FRACTION, NON_NEGATIVE, FieldBound, at_least, check_bounds
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

DEFAULT_BATCH_SIZE = 2048

RANGES: dict[str, FieldBound] = {
    **dict.fromkeys(
        ("num_traversals", "train_steps", "batch_size", "average_train_steps"), at_least(1)
    ),
    **dict.fromkeys(
        ("critic_lookahead", "critic_target_updates", "critic_train_steps"), at_least(1)
    ),
    **dict.fromkeys(("critic_batch_size", "critic_buffer_size"), at_least(1)),
    **dict.fromkeys(("reservoir_size", "ensemble_size"), at_least(0)),
    **dict.fromkeys(
        (
            "average_power",
            "learning_rate",
            "average_learning_rate",
            "critic_learning_rate",
            "alpha",
            "train_steps_power",
        ),
        NON_NEGATIVE,
    ),
    **dict.fromkeys(("epsilon", "critic_sample_decay"), FRACTION),
    "max_grad_norm": (lambda norm: norm > 0.0, "positive"),
    **dict.fromkeys(
        ("hidden_sizes", "average_hidden_sizes", "critic_hidden_sizes"),
        (lambda units: bool(units) and min(units) >= 1, "one size or more"),
    ),
}


@settings(kw_only=True)
class RegretNetAlgorithm(HostAlgorithmOnTreeOrRules):
    """The choices that all of these algorithms share."""

    hidden_sizes: tuple[int, ...] = (64, 64, 64)
    num_traversals: int = 100  # walks per player and iteration
    stratified_chance: bool = (
        True  # on a tree, chance spread evenly over these; False, and on rules: drawn
    )
    train_steps: int = 100  # of Adam per fit
    train_steps_power: float = (
        0.0  # iteration t takes steps * t**growth of them, as the memory grows
    )
    learning_rate: float = 1e-3  # at the start of every fit, from where it falls to zero
    max_grad_norm: float = 1.0  # of the gradient's norm
    average_power: float = 1.0  # iteration t counts t**average_power times in the average
    ensemble_size: int = 100  # in the ensemble
    # samples kept of each player; 0: sums for every infoset on a tree, and on rules as many as
    # take half a gigabyte, at most 200,000
    reservoir_size: int = 0
    batch_size: int = DEFAULT_BATCH_SIZE  # samples per step, of a reservoir

    average_every: ClassVar[int] = 1
    average_hidden_sizes: ClassVar[tuple[int, ...]] = ()
    critic_buffer_size: ClassVar[int] = 0
    monitored_paths: ClassVar[tuple[str, ...]] = ("state.nets",)

    def actor_params(self, state: Any) -> Any:
        """The networks that act."""
        return state.nets.params

    def networks(self, state: Any) -> dict[str, Any]:
        return samplers.collect_policy_networks(self, state)

    def __post_init__(self) -> None:
        own = {field.name for field in fields(self)}
        check_bounds(self.name, self, {name: RANGES[name] for name in RANGES if name in own})
        if self.batch_size != DEFAULT_BATCH_SIZE and not self.reservoir_size:
            problem = "batch_size is for a reservoir: set reservoir_size too"
            raise ConfigError(f"{self.name}: {problem}; sums are fitted as a whole")

    def for_rules(self, rules: BatchedEnv) -> Self:
        if self.reservoir_size:
            return self
        return replace(self, reservoir_size=samplers.default_reservoir_size(rules))


@settings(kw_only=True)
class ReplayRegretNetAlgorithm(RegretNetAlgorithm):
    """The choices of those whose networks are fitted to the samples of all iterations."""

    warm_start: bool = True  # fit the last network further; False: a new one, from scratch


class RegretNetState(NamedTuple):
    """What most of these algorithms change in an iteration."""

    nets: TrainState  # [P]
    sampler: TreeSampler
    averages: AverageState


def new_regret_nets(config: Any, tree: TreeArena, rng: np.random.Generator) -> TrainState:
    """A network per player that says nothing yet."""
    graph = graph_from_arena(tree)
    sizes = (graph.num_features, *config.hidden_sizes, graph.max_actions)
    nets = new_nets(rng, graph.num_players, sizes, zero_head=True)
    return jax.device_put(init_train_states(gradient_transform(config), nets))


def new_uniform_average_state(
    config: Any, tree: TreeArena, rng: np.random.Generator, nets: Any
) -> AverageState:
    """No policies averaged yet; the average network, if there is one, plays uniformly."""
    graph = graph_from_arena(tree)
    kept = averages.new_average_state(config, graph, rng, nets, 1, gradient_transform(config))
    if config.average_hidden_sizes:
        *deep, last = kept.network.params
        params = [*deep, jax.tree.map(np.zeros_like, last)]
        kept = kept._replace(network=kept.network._replace(params=params))
    return jax.device_put(kept)


def new_regret_net_state(
    config: Any, tree: TreeArena, rng: np.random.Generator, track_visits: bool = False
) -> RegretNetState:
    """Before the first iteration."""
    walks: Any
    if isinstance(tree, TreeArena):
        walks = new_tree_sampler_state(tree, config.reservoir_size, track_visits)
    else:
        walks = new_rules_sampler(config, tree)
    nets = new_regret_nets(config, tree, rng)
    return RegretNetState(nets, walks, new_uniform_average_state(config, tree, rng, nets.params))


def new_rules_sampler(config: Any, arena: Any, keep_regrets: bool = True) -> samplers.RulesSampler:
    """Nothing remembered; with `regrets` they go to a reservoir."""
    policies = bool(config.average_hidden_sizes)
    if policies and arena.num_players > 2:
        problem = "a third player's reach would bias the average network on rules"
        raise ConfigError(f"{config.name}: {problem}; take sd_cfr or dream")
    room = config.reservoir_size, policies, keep_regrets, config.critic_buffer_size
    return samplers.new_rules_sampler_state(env_from_arena(arena), *room)


def graph_from_arena(arena: Any) -> Graph:
    """The graph of a tree; of rules an empty one, which knows sizes alone."""
    return (
        graph_from_tree(arena)
        if isinstance(arena, TreeArena)
        else empty_graph(env_from_arena(arena))
    )


@lru_cache
def gradient_transform(config: Any) -> optax.GradientTransformation:
    """Where a step goes."""
    return optax.chain(optax.clip_by_global_norm(config.max_grad_norm), optax.scale_by_adam())


def train_steps_at(config: Any, t: int) -> int:
    """How many steps a fit of iteration t takes."""
    return round(config.train_steps * float(t) ** config.train_steps_power)


def add_to_averages(
    config: Any, tree: TreeArena, t: int, state: Any, key: jax.Array
) -> AverageState:
    """The averages with the policies of iteration t."""
    if not isinstance(tree, TreeArena):
        nothing = np.zeros((0, 0), np.float32)
        given = t, config.actor_params(state), nothing, key
        return _jit_add_to_averages()(config, state.averages, graph_from_arena(tree), *given)
    table = table_from_sequences(tree, state.sampler.policy[: tree.num_sequences])
    return _jit_add_to_averages()(
        config, state.averages, graph_from_tree(tree), t, config.actor_params(state), table, key
    )


@lru_cache
def _jit_add_to_averages() -> Callable[..., AverageState]:
    @partial(persistent_jit, static_argnums=0, donate_argnums=1)
    def add(
        config: Any,
        average_state: AverageState,
        graph: Graph,
        t: jax.Array,
        nets: Net,
        table: jax.Array,
        key: jax.Array,
    ) -> AverageState:
        return averages.add_policies(config, average_state, graph, t, nets, lambda: table, key)

    return add


def run_external_sampling(
    config: Any, arena: Any, state: Any, player: int, weight: float, key: jax.Array
) -> None:
    """Walks in which the player tries everything; regrets and policies count `weight`."""
    if isinstance(arena, TreeArena):
        samplers.run_external_sampling_on_tree(config, arena, state.sampler, player, weight, key)
    else:
        samplers.run_external_sampling_on_rules(config, arena, state, player, weight, key)


def run_outcome_sampling(
    config: Any, arena: Any, state: Any, scheme: SamplingScheme, critic_values: Any, key: jax.Array
) -> None:
    """Episodes in which one player explores, and a critic knows what it did not try."""
    if isinstance(arena, TreeArena):
        samplers.run_outcome_sampling_on_tree(
            config, arena, state.sampler, scheme, critic_values, key
        )
    else:
        samplers.run_outcome_sampling_on_rules(config, arena, state, scheme, critic_values, key)


def fit_regret_net(
    config: Any, tree: TreeArena, t: int, state: Any, player: int, key: jax.Array
) -> TrainState:
    """All networks, the player's fitted to what its walks remember; sets the player's policy."""
    replay = state.sampler.regret_samples[player]
    if not isinstance(tree, TreeArena):
        graph, samples, filled = samplers.graph_from_reservoir(replay)
        row = np.zeros(1, np.int32)  # no table: nobody asks
        given = state.nets, player, row, samples, filled, train_steps_at(config, t), key
        return _jit_fit_regret_net()(config, graph, *given)[0]
    row, exists = (part[player] for part in infosets_by_player(tree))
    if config.reservoir_size:
        filled = min(int(replay.num_seen[0]), config.reservoir_size)
        infoset = infoset_by_sequence(tree)[replay.sample_sequence].astype(np.int32)
        samples = infoset, replay.sample_regret, replay.sample_weight.astype(np.float32)
    else:
        mean, weight = mean_regrets(tree, replay)
        filled = row.size
        samples = (
            row,
            table_from_sequences(tree, mean)[row],
            np.where(exists, weight[row], 0.0).astype("f4"),
        )
    given = state.nets, player, row, samples, filled, train_steps_at(config, t), key
    nets, table = _jit_fit_regret_net()(config, graph_from_tree(tree), *given)
    set_policy(tree, state.sampler, player, table)
    return nets


@lru_cache
def _jit_fit_regret_net() -> Callable[..., tuple[TrainState, jax.Array]]:
    @partial(persistent_jit, static_argnums=0)
    def fit(
        config: Any,
        graph: Graph,
        nets: TrainState,
        player: jax.Array,
        row: jax.Array,
        samples: tuple[jax.Array, jax.Array, jax.Array],
        filled: jax.Array,
        steps: jax.Array,
        key: jax.Array,
    ) -> tuple[TrainState, jax.Array]:
        infoset, target, weight = samples
        legal = graph.legal[infoset]
        weight = jnp.where(jnp.arange(weight.size) < filled, weight, 0.0)
        new_key, fit_key = jax.random.split(key)
        trained = select_player(nets, player)
        if not config.warm_start:
            params = reinitialise_net(trained.params, new_key)
            trained = TrainState(params, gradient_transform(config).init(params))
        count = jnp.where(legal, weight[:, None], 0.0)
        scale = jnp.sqrt((count * target**2).sum() / count.sum().clip(1e-30)).clip(1e-30)
        data = graph.own_observation_row[infoset], target / scale, weight, legal

        def draw(key: jax.Array) -> Any:
            if not config.reservoir_size:
                return data
            bits = jax.random.bits(key, (config.batch_size,))  # `randint` would draw twice as many
            chosen = (bits % filled.astype(bits.dtype)).astype(jnp.int32)
            if graph.is_rollout_batch or row.size >= config.batch_size:
                return jax.tree.map(lambda part: part[chosen], data)
            place = infoset[chosen] - row[0]
            mean, total = mean_by_infoset(place, data[1][chosen], weight[chosen], row.size)
            return graph.own_observation_row[row], mean, total, graph.legal[row]

        def loss(net: Net, some: Any) -> jax.Array:
            view, target, weight, legal = some
            return mean_squared_error(
                apply_net(net, graph.observation[view]), target, weight, legal
            )

        optimiser = gradient_transform(config)
        trained = fit_with_cosine_decay(
            optimiser, config.learning_rate, loss, trained, draw, fit_key, steps
        )
        said = apply_net(trained.params, graph.observation[graph.own_observation_row[row]])
        return replace_player(nets, player, trained), regret_matching(said, graph.legal[row])

    return fit


def mean_by_infoset(
    infoset: jax.Array, target: jax.Array, weight: jax.Array, num_infosets: int
) -> tuple[jax.Array, jax.Array]:
    """The weighted mean [R, A] of targets [B, A] at each of R places, and their weight [R].

    Fitting these is fitting the samples, with as many inputs as there are infosets.
    """
    total = jnp.zeros(num_infosets).at[infoset].add(weight)
    mean = jnp.zeros((num_infosets, target.shape[1])).at[infoset].add(weight[:, None] * target)
    return mean / total.clip(1e-30)[:, None], total


def fit_average_net(config: Any, tree: TreeArena, state: Any, key: jax.Array) -> AverageState:
    """The averages, with every player's network fitted further to the policies that were met."""
    if not isinstance(tree, TreeArena):
        return samplers.fit_average_net_on_rules(config, state, key)
    given = table_from_sequences(tree, state.sampler.policy_sum), *infosets_by_player(tree)
    network = _jit_fit_average_net()(
        config, graph_from_tree(tree), state.averages.network, *given, key
    )
    return state.averages._replace(network=network)


@lru_cache
def _jit_fit_average_net() -> Callable[..., TrainState]:
    @partial(persistent_jit, static_argnums=0)
    def fit(
        config: Any,
        graph: Graph,
        nets: TrainState,
        met: jax.Array,
        row: jax.Array,
        exists: jax.Array,
        key: jax.Array,
    ) -> TrainState:
        def one(train_state: TrainState, row: jax.Array, exists: jax.Array) -> TrainState:
            legal = graph.legal[row]
            total = jnp.where(exists[:, None], met[row], 0.0)
            total /= total.sum().clip(1e-30)
            x = graph.observation[graph.own_observation_row[row]]

            def loss(net: Net, _: Any) -> jax.Array:
                log = jnp.log(softmax(apply_net(net, x), legal).clip(1e-30))
                return -(total * log).sum()

            return fit_with_cosine_decay(
                gradient_transform(config),
                config.average_learning_rate,
                loss,
                train_state,
                lambda key: None,
                key,
                config.average_train_steps,
            )

        return jax.vmap(one)(nets, row, exists)

    return fit


def tabulate_policies(config: Any, tree: TreeArena, state: Any) -> dict[str, Any]:
    """The averages and the last iterate, as tables [I, A]."""
    tables = _jit_tabulate_averages()(config, state.averages, graph_from_tree(tree))
    current = table_from_sequences(tree, state.sampler.policy[: tree.num_sequences])
    return {name: tables[name] for name in ("average", "network", "ensemble") if name in tables} | {
        "current": current
    }


def put_network_first(tables: dict[str, Any]) -> dict[str, Any]:
    """The same with the average network as the answer."""
    return {"network": tables["network"]} | tables


@lru_cache
def _jit_tabulate_averages() -> Callable[..., dict[str, jax.Array]]:
    @partial(persistent_jit, static_argnums=0)
    def tables(config: Any, average_state: AverageState, graph: Graph) -> dict[str, jax.Array]:
        return averages.tabulate_averages(config, average_state, graph, regret_matching)

    return tables
