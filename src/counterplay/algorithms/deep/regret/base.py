"""The parts that all regret networks share: states, fits of networks, averages and policies.

A regret network approximates the table of (mean or discounted) regrets of tabular CFR. In each
iteration a `Sampler` collects regrets, the networks are fitted to them, and the new policies are
added to the averages. On a tree, the policies of all networks are tabulated after every fit, so
that the exact average of all iterates costs one pass over the infosets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common import averages
from counterplay.algorithms.deep.common.averages import AverageState
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.jax_algorithm import (
    JaxMemory,
    fold_in,
    lazy_jit,
    policy_from_table,
    wait_for,
)
from counterplay.algorithms.deep.common.networks import (
    Net,
    apply_net,
    new_nets,
    regret_matching,
    reinitialise_net,
    replace_player,
    select_player,
)
from counterplay.algorithms.deep.common.training import (
    TrainState,
    fit_with_cosine_decay,
    init_train_states,
    mean_squared_error,
)
from counterplay.algorithms.deep.common.tree_or_rules import (
    EncodingConfig,
    JaxRulesMemory,
    PolicyNetworks,
    check_utilities_differ,
    env_from_arena,
    policies_from_networks,
)
from counterplay.algorithms.deep.regret.average_fit import reinitialise_average
from counterplay.algorithms.deep.regret.config import RegretNetConfig
from counterplay.algorithms.deep.regret.rules_sampler import RulesSampler
from counterplay.algorithms.deep.regret.sampler import Sampler
from counterplay.algorithms.deep.regret.tree_sampler import TreeSampler
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.settings import settings

TABLE_NAMES = ("average", "network", "ensemble")  # in the order of `policies`


class RegretNetState(NamedTuple):
    """The state of an algorithm without critic."""

    nets: TrainState  # [P] regrets of each player
    sampler: Any  # arrays of the sampler
    averages: AverageState


class StateWithAverages(Protocol):
    """The fields that the states of all regret networks have."""

    @property
    def nets(self) -> TrainState: ...
    @property
    def sampler(self) -> Any: ...
    @property
    def averages(self) -> AverageState: ...


class ArenaAdapter(Protocol):
    """The parts of an algorithm that depend on the kind of arena."""

    def config(self, config: RegretNetAlgorithm) -> RegretNetAlgorithm:
        """Return the algorithm with parameters that suit the arena."""
        ...

    def sampler(self, config: RegretNetAlgorithm, arrays: Any = None) -> Sampler:
        """Return a sampler with these arrays, or with new ones."""
        ...

    def memory(self, iteration: int, key: jax.Array, state: Any) -> JaxMemory:
        """Return the memory after an iteration."""
        ...

    def policies(self, config: RegretNetAlgorithm, state: Any) -> dict[str, Any]:
        """Return the policies by name."""
        ...


@dataclass(frozen=True)
class TreeAdapter:
    """Adapter of a tree, on which policies are tables."""

    tree: TreeArena

    def config(self, config: RegretNetAlgorithm) -> RegretNetAlgorithm:
        return config

    def sampler(self, config: RegretNetAlgorithm, arrays: Any = None) -> Sampler:
        return TreeSampler(config, self.tree, arrays)

    def memory(self, iteration: int, key: jax.Array, state: Any) -> JaxMemory:
        return JaxMemory(iteration, key, state)

    def policies(self, config: RegretNetAlgorithm, state: Any) -> dict[str, Any]:
        tables = config.tabulate(self.sampler(config, state.sampler), state)
        return {name: policy_from_table(self.tree, table) for name, table in tables.items()}


@dataclass(frozen=True)
class RulesAdapter:
    """Adapter of rules that are never unrolled, on which policies are networks."""

    arena: Any

    def config(self, config: RegretNetAlgorithm) -> RegretNetAlgorithm:
        return config.for_rules(env_from_arena(self.arena, config.encoding))

    def sampler(self, config: RegretNetAlgorithm, arrays: Any = None) -> Sampler:
        return RulesSampler(config, env_from_arena(self.arena, config.encoding), arrays)

    def memory(self, iteration: int, key: jax.Array, state: Any) -> JaxMemory:
        return JaxRulesMemory(iteration, key, state, int(state.sampler.nodes_touched))

    def policies(self, config: RegretNetAlgorithm, state: Any) -> dict[str, Any]:
        networks = config.networks(jax.tree.map(np.asarray, state))
        return policies_from_networks(self.arena, networks, config.encoding)


def adapter_for(arena: Any) -> ArenaAdapter:
    """Return the adapter of an arena: the one decision between tree and rules."""
    return TreeAdapter(arena) if isinstance(arena, TreeArena) else RulesAdapter(arena)


@settings(kw_only=True)
class RegretNetAlgorithm(EncodingConfig, RegretNetConfig):
    """Adapter that turns `init_state` and `iterate` into an algorithm on trees and on rules.

    The state may share arrays with the sampler, which changes them in place.
    """

    runs_on: ClassVar[tuple[str, ...]] = ("tree", "episodes", "rules")
    monitored_paths: ClassVar[tuple[str, ...]] = ("state.nets",)

    def init_state(self, sampler: Sampler, rng: np.random.Generator) -> Any:
        """Return the state before the first iteration."""
        raise NotImplementedError

    def iterate(self, sampler: Sampler, t: int, state: Any, key: jax.Array) -> Any:
        """Return the state after iteration t = 1, 2, ..."""
        raise NotImplementedError

    def actor_params(self, state: Any) -> Any:
        """Return the networks that act."""
        return state.nets.params

    def check_arena(self, arena: Any) -> None:
        """Raise ConfigError if the algorithm cannot run on an arena."""

    def init(self, arena: Any, seed: int = 0) -> JaxMemory:
        """Return the memory before the first iteration."""
        check_utilities_differ(arena)
        self.check_arena(arena)
        self.check_encoding(arena)
        adapter = adapter_for(arena)
        config = adapter.config(self)
        state = config.init_state(adapter.sampler(config), np.random.default_rng(seed))
        return adapter.memory(0, jax.random.PRNGKey(seed), state)

    def step(self, arena: Any, memory: Any, iterations: int = 1) -> JaxMemory:
        """Return the memory after more iterations; arrays of the old memory may change."""
        adapter = adapter_for(arena)
        config, state = adapter.config(self), memory.state
        sampler = adapter.sampler(config, state.sampler)
        last = memory.iteration + iterations
        for n in range(memory.iteration, last):
            state = config.iterate(sampler, n + 1, state, fold_in(memory.key, n))
        return adapter.memory(last, memory.key, state)

    def policies(self, arena: Any, memory: Any) -> dict[str, Any]:
        """Return the policies by name; the first has the guarantee."""
        adapter = adapter_for(arena)
        config = adapter.config(self)
        if config.average_at_end:
            memory = config.train_average_at_end(adapter, memory)
        return adapter.policies(config, memory.state)

    def train_average_at_end(self, adapter: ArenaAdapter, memory: Any) -> Any:
        """Return the memory with average networks fitted from random weights."""
        state = memory.state
        init_key, fit_key = jax.random.split(jax.random.fold_in(memory.key, memory.iteration))
        network = reinitialise_average(self, state.averages.network, init_key)
        network = adapter.sampler(self, state.sampler).fit_average(network, fit_key)
        average_state = state.averages._replace(network=network)
        return replace(memory, state=state._replace(averages=average_state))

    def tabulate(self, sampler: Sampler, state: StateWithAverages) -> dict[str, Any]:
        """Return the averages and the last iterate by name, as tables of weights [I, A]."""
        tables = _tabulate_averages(self, state.averages, sampler.graph)
        ordered = {name: tables[name] for name in TABLE_NAMES if name in tables}
        return ordered | {"current": sampler.policy_table()}

    def networks(self, state: StateWithAverages) -> PolicyNetworks:
        """Return the average network, the ensemble and the last iterate by name."""
        networks: dict[str, Any] = {}
        if self.average_hidden_sizes:
            networks["network"] = [state.averages.network.params], [1.0], "softmax"
        ensemble = averages.ensemble_networks(state.averages, self.average_power)
        for name, (nets, weights) in ensemble.items():
            networks[name] = nets, weights, "regret_matching"
        networks["current"] = [self.actor_params(state)], [1.0], "regret_matching"
        return networks

    def new_nets(self, sampler: Sampler, rng: np.random.Generator) -> TrainState:
        """Return regret networks of all players with zero outputs."""
        graph = sampler.graph
        sizes = (graph.num_features, *self.hidden_sizes, graph.max_actions)
        nets = new_nets(rng, graph.num_players, sizes, zero_head=True)
        train_state: TrainState = jax.device_put(init_train_states(self.optimiser, nets))
        return train_state

    def new_averages(self, sampler: Sampler, rng: np.random.Generator, nets: Any) -> AverageState:
        """Return averages without policies; an average network starts with uniform play.

        Args:
            sampler: the game.
            rng: initialises the average network.
            nets: networks like those that the ensemble will hold.
        """
        state = averages.new_average_state(self, sampler.graph, rng, nets, 1, self.optimiser)
        if self.average_hidden_sizes:
            *hidden, last = state.network.params
            params = [*hidden, jax.tree.map(np.zeros_like, last)]
            state = state._replace(network=state.network._replace(params=params))
        average_state: AverageState = jax.device_put(state)
        return average_state

    def new_state(self, sampler: Sampler, rng: np.random.Generator) -> RegretNetState:
        """Return networks, samples and averages before the first iteration."""
        nets = self.new_nets(sampler, rng)
        return RegretNetState(nets, sampler.arrays, self.new_averages(sampler, rng, nets.params))

    def add_to_averages(
        self, sampler: Sampler, t: int, state: StateWithAverages, key: jax.Array
    ) -> AverageState:
        """Return the averages with the policies of iteration t."""
        nets, table = self.actor_params(state), sampler.policy_table()
        return _add_to_averages(self, state.averages, sampler.graph, t, nets, table, key)

    def fit_average(
        self, sampler: Sampler, state: StateWithAverages, key: jax.Array
    ) -> AverageState:
        """Return the averages with all players' average networks fitted to the stored policies.

        With `average_at_end` they are not fitted before `policies`.
        """
        if self.average_at_end:
            return state.averages
        network = sampler.fit_average(state.averages.network, key)
        return state.averages._replace(network=network)


@settings(kw_only=True)
class ReplayRegretNetAlgorithm(RegretNetAlgorithm):
    """Base of algorithms whose networks are fitted to the regrets of all iterations."""

    warm_start: bool = True  # continue from the last network; False: from random weights

    def fit_regret_net(
        self, sampler: Sampler, t: int, state: StateWithAverages, player: int, key: jax.Array
    ) -> TrainState:
        """Return all networks, with the player's fitted to its regrets; set its policy."""
        data = sampler.regret_data(player)
        samples = data.infoset, data.target, data.weight
        nets, policy = _fit_regret_net(
            self,
            data.group_by_infoset,
            data.graph,
            state.nets,
            player,
            data.own_infosets,
            samples,
            data.num_filled,
            self.train_steps_at(t),
            key,
        )
        wait_for(nets)  # the samples change in the next iteration
        sampler.set_policy(player, policy)
        return nets


@lazy_jit(static_argnums=0, donate_argnums=1)
def _add_to_averages(
    config: RegretNetAlgorithm,
    average_state: AverageState,
    graph: Graph,
    t: Any,
    nets: Any,
    table: Any,
    key: jax.Array,
) -> AverageState:
    return averages.add_policies(config, average_state, graph, t, nets, lambda: table, key)


@lazy_jit(static_argnums=0)
def _tabulate_averages(
    config: RegretNetAlgorithm, average_state: AverageState, graph: Graph
) -> dict[str, jax.Array]:
    return averages.tabulate_averages(config, average_state, graph, regret_matching)


@lazy_jit(static_argnums=(0, 1))
def _fit_regret_net(
    config: ReplayRegretNetAlgorithm,
    group_by_infoset: bool,
    graph: Graph,
    nets: TrainState,
    player: Any,
    own_infosets: Any,
    samples: tuple[Any, Any, Any],
    num_filled: Any,
    steps: Any,
    key: jax.Array,
) -> tuple[TrainState, jax.Array]:
    """Return the networks with one player's fitted, and its policy [R, A] at its own infosets.

    The arguments are the fields of `RegretData`. Targets are divided by their root mean square.
    """
    infoset, target, weight = samples
    legal = graph.legal[infoset]
    weight = jnp.where(jnp.arange(weight.size) < num_filled, weight, 0.0)
    init_key, fit_key = jax.random.split(key)
    train_state = select_player(nets, player)
    if not config.warm_start:
        params = reinitialise_net(train_state.params, init_key)
        train_state = TrainState(params, config.optimiser.init(params))
    count = jnp.where(legal, weight[:, None], 0.0)
    scale = jnp.sqrt((count * target**2).sum() / count.sum().clip(1e-30)).clip(1e-30)
    data = graph.own_observation_row[infoset], target / scale, weight, legal

    def sample(key: jax.Array) -> Any:
        if not config.reservoir_size:
            return data
        bits = jax.random.bits(key, (config.batch_size,))  # `randint` would draw twice as many
        slot = (bits % num_filled.astype(bits.dtype)).astype(jnp.int32)
        if not group_by_infoset:
            return jax.tree.map(lambda part: part[slot], data)
        row = infoset[slot] - own_infosets[0]
        mean, total = mean_by_infoset(row, data[1][slot], weight[slot], own_infosets.size)
        return graph.own_observation_row[own_infosets], mean, total, graph.legal[own_infosets]

    def loss(net: Net, minibatch: Any) -> jax.Array:
        row, target, weight, legal = minibatch
        return mean_squared_error(apply_net(net, graph.observation[row]), target, weight, legal)

    fitted = fit_with_cosine_decay(
        config.optimiser, config.learning_rate, loss, train_state, sample, fit_key, steps
    )
    outputs = apply_net(fitted.params, graph.observation[graph.own_observation_row[own_infosets]])
    policy = regret_matching(outputs, graph.legal[own_infosets])
    return replace_player(nets, player, fitted), policy


def mean_by_infoset(
    infoset: Any, target: Any, weight: Any, num_infosets: int
) -> tuple[jax.Array, jax.Array]:
    """Return the weighted mean [R, A] of targets [B, A] at each infoset, and their weight [R].

    Its squared error has the same gradient as that of the samples, with one input per infoset.
    """
    total = jnp.zeros(num_infosets).at[infoset].add(weight)
    mean = jnp.zeros((num_infosets, target.shape[1])).at[infoset].add(weight[:, None] * target)
    return mean / total.clip(1e-30)[:, None], total
