"""Sampling for regret networks on a tree, by numba kernels.

The policies of the networks are kept as a table, so that a traversal costs little compared with a
fit. Regrets are stored as weighted sums per infoset: all samples of an infoset have the same input,
so that their weighted squared error equals, up to a constant, that of their weighted mean. With a
reservoir, single samples are stored instead, as in the papers.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common import buffers, critics
from counterplay.algorithms.deep.common.critics import CriticConfig
from counterplay.algorithms.deep.common.graph import Graph, graph_from_tree
from counterplay.algorithms.deep.common.jax_algorithm import lazy_jit, wait_for
from counterplay.algorithms.deep.common.networks import Net, apply_net
from counterplay.algorithms.deep.common.rollouts import rng_from_key
from counterplay.algorithms.deep.common.training import TrainState, fit_with_cosine_decay
from counterplay.algorithms.deep.common.tree_tables import (
    infoset_by_sequence,
    infosets_by_player,
    legal_mask,
    table_from_sequences,
)
from counterplay.algorithms.deep.regret.average_fit import average_loss, fit_average_to_reservoir
from counterplay.algorithms.deep.regret.config import RegretNetConfig
from counterplay.algorithms.deep.regret.sampler import RegretBatch, RegretData, SamplingScheme
from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.arenas.tree.sampling_view import chance_probabilities, node_rows
from counterplay.core.arena import Floats, Ints
from counterplay.core.policy import uniform_policy
from counterplay.errors import ConfigError
from counterplay.kernels.sampling import regret_samples
from counterplay.kernels.sampling.types import GameNodes, RegretSamples, RegretTables, Scratch

MAX_RESERVOIR_BYTES = 8 * 2**30  # of all reservoirs


class PolicyReservoir(NamedTuple):
    """A reservoir of M policies of one player on a tree."""

    num_seen: Ints  # [1] policies offered so far
    infoset: Ints  # [M]
    policy: Any  # [M, A]
    weight: Any  # [M]


class TreeSamplerArrays(NamedTuple):
    """The arrays that sampling on a tree changes; S sequences, C chance outcomes, N nodes."""

    policy: Floats  # [S + C] of the players, then of chance
    policy_sum: Floats  # [S] weighted sum of the policies at visited infosets
    regret_samples: tuple[RegretSamples, ...]  # of each player
    visits: Floats  # [N] weighted number of visits by episodes; [0] without a critic
    nodes_touched: Ints  # [2] visits of all nodes, and of those that are not chance
    policy_samples: tuple[PolicyReservoir, ...]  # of each player; empty without a reservoir of them


def new_tree_arrays(
    tree: TreeArena,
    reservoir_size: int = 0,
    track_visits: bool = False,
    policy_reservoir_size: int = 0,
) -> TreeSamplerArrays:
    """Return uniform policies and no samples.

    Args:
        tree: the game.
        reservoir_size: samples per player in a reservoir; 0 stores sums per infoset.
        track_visits: whether visits of nodes are counted, for a critic.
        policy_reservoir_size: policies per player in a reservoir; 0 stores sums only.
    """
    size = tree.num_sequences
    sizes = {
        "reservoir_size": reservoir_size,
        "average_reservoir_size": policy_reservoir_size,
    }
    for name, count in sizes.items():
        needed = count * (4 * tree.max_actions + 16) * tree.num_players
        if needed > MAX_RESERVOIR_BYTES:
            raise ConfigError(
                f"{name} is {count}: these take {needed / 2**30:,.1f} GiB on "
                f"{tree.spec}, more than {MAX_RESERVOIR_BYTES / 2**30:.0f}; "
                "use fewer, or 0 for sums"
            )
    samples = [
        RegretSamples(
            np.zeros(0 if reservoir_size else size),
            np.zeros(0 if reservoir_size else size),
            np.zeros(1, np.int64),
            np.zeros(reservoir_size, np.int64),
            np.zeros(reservoir_size),
            np.zeros((reservoir_size, tree.max_actions), np.float32),
        )
        for _ in range(tree.num_players)
    ]
    return TreeSamplerArrays(
        policy=np.append(uniform_policy(tree).probabilities, chance_probabilities(tree)),
        policy_sum=np.zeros(size),
        regret_samples=tuple(samples),
        visits=np.zeros(tree.num_nodes if track_visits else 0),
        nodes_touched=np.zeros(2, np.int64),
        policy_samples=tuple(
            PolicyReservoir(
                np.zeros(1, np.int64),
                np.zeros(policy_reservoir_size, np.int64),
                np.zeros((policy_reservoir_size, tree.max_actions), np.float32),
                np.zeros(policy_reservoir_size, np.float32),
            )
            for _ in range(tree.num_players if policy_reservoir_size else 0)
        ),
    )


class TreeSampler:
    """A `Sampler` on a tree."""

    def __init__(
        self, config: RegretNetConfig, tree: TreeArena, arrays: TreeSamplerArrays | None = None
    ):
        """Continue with these arrays, or with new ones.

        Raises:
            ConfigError: the config has a reservoir for data of which a tree has exact sums.
        """
        if config.reservoir_size and not config.keeps_regrets:
            raise ConfigError(f"{config.name}: reservoir_size is for rules; a tree has exact sums")
        track_visits = config.critic_buffer_size > 0
        self.config, self.tree = config, tree
        self.arrays = arrays or new_tree_arrays(
            tree, config.reservoir_size, track_visits, config.average_reservoir_size
        )

    @property
    def num_players(self) -> int:
        return self.tree.num_players

    @property
    def graph(self) -> Graph:
        return graph_from_tree(self.tree)

    @property
    def policy(self) -> Floats:
        """The current policies of all players [S]."""
        return self.arrays.policy[: self.tree.num_sequences]

    def policy_table(self) -> Any:
        return table_from_sequences(self.tree, self.policy)

    def set_policy(self, player: int, rows: Any) -> None:
        tree = self.tree
        first, last = tree.player_infoset[player : player + 2]
        legal = legal_mask(tree)[first:last]
        table = np.where(legal, np.asarray(rows, np.float64)[: last - first], 0.0)
        table /= table.sum(axis=1, keepdims=True)
        self.arrays.policy[tree.offset[first] : tree.offset[last]] = table[legal]

    def collect_external(self, nets: Any, player: int, weight: float, key: Any) -> None:
        before = self.arrays.policy_sum.copy()
        self._run_kernel(regret_samples.collect_external_regrets, player, key, weight)
        if self.arrays.policy_samples:
            self._offer_policies(self.arrays.policy_sum - before, weight, key)

    def _offer_policies(self, added: Floats, weight: float, key: Any) -> None:
        """Offer the policies that a batch of traversals met to the reservoirs of their players.

        Args:
            added: the change of `policy_sum` [S]: visits * weight * policy.
            weight: of each policy.
            key: decides which policies are accepted.
        """
        tree = self.tree
        visits = np.rint(np.add.reduceat(added, tree.offset[:-1]) / weight).astype(np.int64)
        table = self.policy_table()
        rng = rng_from_key(jax.random.fold_in(key, 1))
        for reservoir, (first, last) in zip(
            self.arrays.policy_samples, pairwise(tree.player_infoset), strict=True
        ):
            infoset = rng.permutation(np.repeat(np.arange(first, last), visits[first:last]))
            weights = np.full(infoset.size, weight, np.float32)
            rows = infoset, np.asarray(table)[infoset], weights
            buffers.add_rows_to_reservoir(reservoir.num_seen, reservoir[1:], rng, rows)

    def collect_outcomes(
        self, nets: Any, scheme: SamplingScheme, critic_values: Any, key: Any
    ) -> None:
        player, epsilon, power, weight, average, corrected = scheme
        critic = critic_values, self.arrays.visits
        if corrected:
            kernel = regret_samples.collect_outcome_regrets
            self._run_kernel(kernel, player, key, (epsilon, power), (weight, average), *critic)
        else:
            self._run_kernel(regret_samples.collect_critic_regrets, player, key, weight, *critic)

    def collect_batch(
        self, nets: Any, scheme: SamplingScheme, critic_values: Any, key: Any
    ) -> RegretBatch:
        self.collect_outcomes(nets, scheme, critic_values, key)
        samples = self.arrays.regret_samples[scheme.player]
        mean, weight = mean_regrets(self.tree, samples)
        samples.regret_sum[:] = 0.0
        samples.weight_sum[:] = 0.0
        return regret_batch(self.tree, scheme.player, mean, weight)

    def regret_data(self, player: int) -> RegretData:
        tree, samples = self.tree, self.arrays.regret_samples[player]
        row, exists = (part[player] for part in infosets_by_player(tree))
        if self.config.reservoir_size:
            return RegretData(
                self.graph,
                infoset_by_sequence(tree)[samples.sample_sequence].astype(np.int32),
                samples.sample_regret,
                samples.sample_weight.astype(np.float32),
                min(int(samples.num_seen[0]), self.config.reservoir_size),
                row,
                group_by_infoset=row.size < self.config.batch_size,
            )
        mean, weight = mean_regrets(tree, samples)
        target = table_from_sequences(tree, mean)[row]
        count = np.where(exists, weight[row], 0.0).astype("f4")
        return RegretData(self.graph, row, target, count, row.size, row, group_by_infoset=False)

    def fit_average(self, network: TrainState, key: jax.Array) -> TrainState:
        if self.arrays.policy_samples:
            return self._fit_average_to_reservoirs(network, key)
        policy_sum = table_from_sequences(self.tree, self.arrays.policy_sum)
        infosets = infosets_by_player(self.tree)
        return _fit_average(self.config, self.graph, network, policy_sum, *infosets, key)

    def _fit_average_to_reservoirs(self, network: TrainState, key: jax.Array) -> TrainState:
        graph = self.graph
        inputs = graph.observation[graph.own_observation_row], graph.legal
        for player, reservoir in enumerate(self.arrays.policy_samples):
            num_filled = max(min(int(reservoir.num_seen[0]), reservoir.weight.size), 1)
            network = fit_average_to_reservoir(
                self.config,
                network,
                player,
                inputs,
                reservoir[1:],
                num_filled,
                jax.random.fold_in(key, player),
            )
        return wait_for(network)  # the reservoirs change in the next iteration

    def new_critic(self, config: CriticConfig, rng: np.random.Generator) -> TrainState:
        return critics.new_tree_critic(config, self.tree, rng)

    def fit_critic(
        self, config: CriticConfig, critic: TrainState, nets: Any, key: jax.Array
    ) -> tuple[TrainState, Any]:
        return critics.fit_tree_critic(
            config, self.tree, self.policy, self.arrays.visits, critic, key
        )

    def decay_visits(self, factor: float) -> None:
        self.arrays.visits[:] *= factor

    def _run_kernel(self, kernel: Any, player: int, key: Any, *arguments: Any) -> None:
        """Run the traversals of an iteration by a kernel of `regret_samples`."""
        tree, arrays, scratch = self.tree, self.arrays, _scratch(self.tree)
        no_keys = np.zeros((0, tree.num_players), np.int32)
        game = GameNodes(node_rows(tree), tree.utility, no_keys, tree.num_players)
        regret, largest = np.zeros((2, tree.num_sequences))
        table = RegretTables(
            regret, arrays.policy, arrays.policy_sum, np.zeros(0), np.zeros(0), largest
        )
        batch = self.config.num_traversals, seed_from_key(key), self.config.stratified_chance
        scratch.counters[:] = 0
        samples = arrays.regret_samples[player]
        kernel(player, *batch, *arguments, np.zeros(2), game, table, scratch, samples)
        touched, chance = scratch.counters[0], scratch.counters[2]
        arrays.nodes_touched[:] += touched, touched - chance


def mean_regrets(tree: TreeArena, samples: RegretSamples) -> tuple[Floats, Floats]:
    """Return the weighted mean of all stored regrets [S], and the weight of every infoset [I]."""
    weight = samples.weight_sum[tree.offset[:-1]]
    divisor = np.repeat(np.where(weight > 0.0, weight, 1.0), tree.num_actions)
    return samples.regret_sum / divisor, weight


def regret_batch(tree: TreeArena, player: int, mean: Floats, weight: Floats) -> RegretBatch:
    """Return mean regrets [S] of infosets with these weights [I] as one player's batch."""
    row, exists = (part[player] for part in infosets_by_player(tree))
    target = table_from_sequences(tree, mean / np.abs(tree.utility).max())[row]
    count = np.where(exists, weight[row], 0.0).astype(np.float32)
    return RegretBatch(graph_from_tree(tree), row, target, count, use_minibatches=False)


def seed_from_key(key: Any) -> np.uint64:
    """Return the seed of a kernel from a random key of JAX."""
    high, low = np.asarray(key, np.uint64)
    return np.uint64(high << np.uint64(32) | low)


@cache_on_tree
def _scratch(tree: TreeArena) -> Scratch:
    depth = tree.level_offset.size + 1
    integers = [np.zeros(depth, np.int64) for _ in range(2)]
    floats = [np.zeros(depth) for _ in range(4)]
    pending_nodes = np.empty(tree.num_nodes, np.int64)
    return Scratch(np.zeros(1, np.uint64), np.zeros(3, np.int64), pending_nodes, *integers, *floats)


@lazy_jit(static_argnums=0)
def _fit_average(
    config: RegretNetConfig,
    graph: Graph,
    nets: TrainState,
    policy_sum: Any,
    infosets: Any,
    exists: Any,
    key: jax.Array,
) -> TrainState:
    """Return the average networks fitted to weighted sums of policies [I, A].

    Args:
        config: hyper-parameters of the average network.
        graph: the graph of the tree.
        nets: the average networks [P].
        policy_sum: weighted sums of policies [I, A].
        infosets: of each player [P, R].
        exists: which of them are not padding [P, R].
        key: a random key, which no step uses.
    """

    def fit_player(train_state: TrainState, row: jax.Array, exists: jax.Array) -> TrainState:
        legal = graph.legal[row]
        weight = jnp.where(exists[:, None], policy_sum[row], 0.0)
        total = weight.sum(-1)
        mean = weight / total.clip(1e-30)[:, None]
        observation = graph.observation[graph.own_observation_row[row]]

        def loss(net: Net, _: Any) -> jax.Array:
            logits = apply_net(net, observation)
            return average_loss(config.average_loss, logits, legal, mean, total)

        return fit_with_cosine_decay(
            config.optimiser,
            config.average_learning_rate,
            loss,
            train_state,
            lambda key: None,
            key,
            config.average_train_steps,
        )

    fitted: TrainState = jax.vmap(fit_player)(nets, infosets, exists)
    return fitted
