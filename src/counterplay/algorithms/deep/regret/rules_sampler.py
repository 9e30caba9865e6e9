"""Sampling for regret networks on rules that are never unrolled.

Regrets and policies go to reservoirs of observations, legal actions and targets; transitions for
the critic go to a ring. While a player's samples have few distinct infosets, each also refers to
its infoset, so that fits evaluate the networks once for each. The buffers are NumPy arrays that
change in place, so every program that reads one must have finished before it changes again: see
`jax_algorithm.wait_for`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common import buffers, critics, replay, returns
from counterplay.algorithms.deep.common.batched_env import MAX_EPISODE_LENGTH, BatchedEnv
from counterplay.algorithms.deep.common.critics import CriticConfig, joint_observations
from counterplay.algorithms.deep.common.episodes import last_actions
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.jax_algorithm import lazy_jit, split_key, wait_for
from counterplay.algorithms.deep.common.networks import (
    Net,
    apply_net,
    regret_matching,
    select_player,
    uniform,
)
from counterplay.algorithms.deep.common.replay import Transitions
from counterplay.algorithms.deep.common.rollouts import (
    PolicyFunction,
    RolloutBatch,
    double_until,
    empty_graph,
    graph_from_rows,
    play_episodes,
    query_policy,
    rng_from_key,
    round_up_size,
    rows_per_player,
    sample_actions,
    words_of_rows,
)
from counterplay.algorithms.deep.common.training import TrainState
from counterplay.algorithms.deep.regret.average_fit import fit_average_to_reservoir
from counterplay.algorithms.deep.regret.config import (
    DEFAULT_BATCH_SIZE,
    RegretNetConfig,
    reservoir_row_bytes,
)
from counterplay.algorithms.deep.regret.sampler import RegretBatch, RegretData, SamplingScheme
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import TERMINAL
from counterplay.core.parallel import imap_calls
from counterplay.errors import ConfigError, GameError
from counterplay.kernels.runtime.hash_index import index_rows
from counterplay.registry import get_spec

MAX_SAMPLER_BYTES = 8 * 2**30  # of the reservoirs, and of the ring
INDEX_RESERVE = 3.0  # rows of a graph of infosets, relative to the infosets of the first fit
TRAVERSALS_PER_UNIT = 64  # traversals that advance together and are one piece of work

Rows = tuple[Any, Any, Any]
"""Observations [M, X], legal actions [M, A] and targets [M, A]."""


class InfosetIndex(NamedTuple):
    """The distinct infosets of all samples of a reservoir, while there are at most K."""

    num_known: Ints  # [1] infosets so far; K + 1: there are more, and the index is unused
    num_rows: Ints  # [1] rows of the graph of these infosets; 0 before the first fit
    table: Ints  # [power of two above K] indices of infosets by hash; -1 is free
    words: Any  # [K, X + A] observation and legal actions, see `rollouts.words_of_rows`

    @property
    def is_complete(self) -> bool:
        """Whether every sample's infoset has an index."""
        return int(self.num_known[0]) <= len(self.words)


class SampleReservoir(NamedTuple):
    """A reservoir of M samples."""

    num_seen: Ints  # [1] samples offered so far
    observation: Any  # [M, X]
    legal: Any  # [M, A]
    target: Any  # [M, A] regrets or policies
    weight: Floats  # [M]
    infoset: Ints  # [M] in `infosets`; -1 if it is not there
    infosets: InfosetIndex

    @property
    def columns(self) -> tuple[Any, ...]:
        """The arrays with an entry for each sample."""
        return self[1:-1]


class RulesSamplerArrays(NamedTuple):
    """The arrays that sampling on rules changes."""

    regret_samples: tuple[SampleReservoir, ...]  # of each player
    policy_samples: tuple[SampleReservoir, ...]  # of each player; empty without average network
    transitions: Transitions  # for the critic; empty without one
    nodes_touched: Ints  # [] visits of nodes


class TraversalResult(NamedTuple):
    """The samples of one unit of traversals."""

    regrets: Rows  # of the traverser
    policies: tuple[Rows, ...]  # of each player; empty for the traverser, and if not wanted
    nodes_touched: int


class EpisodeRegrets(NamedTuple):
    """One player's regrets at N decisions."""

    observation: Any  # [N, X]
    legal: Any  # [N, A]
    regret: Any  # [N, A]
    weight: Any  # [N]


def new_rules_arrays(
    env: BatchedEnv,
    reservoir_size: int,
    keep_policies: bool,
    keep_regrets: bool = True,
    critic_buffer_size: int = 0,
    policy_reservoir_size: int = 0,
    max_indexed: int = DEFAULT_BATCH_SIZE,
) -> RulesSamplerArrays:
    """Return empty reservoirs and an empty ring.

    Args:
        env: the rules.
        reservoir_size: samples per player in each reservoir.
        keep_policies: whether there are reservoirs of policies.
        keep_regrets: whether there are reservoirs of regrets.
        critic_buffer_size: decisions in the ring of the critic.
        policy_reservoir_size: policies per player, if not `reservoir_size`.
        max_indexed: most distinct infosets that a reservoir indexes.

    Raises:
        ConfigError: they take more than `MAX_SAMPLER_BYTES`.
    """
    row_bytes = reservoir_row_bytes(env) * env.num_players
    num_reservoirs = keep_regrets + (keep_policies and not policy_reservoir_size)
    sizes = {
        "reservoir_size": (reservoir_size, num_reservoirs * row_bytes),
        "average_reservoir_size": (policy_reservoir_size, row_bytes),
        "critic_buffer_size": (critic_buffer_size, replay.transition_bytes(env)),
    }
    for name, (count, item_bytes) in sizes.items():
        if count * item_bytes > MAX_SAMPLER_BYTES:
            raise ConfigError(
                f"{name} is {count}: these take {count * item_bytes / 2**30:,.1f} GiB on "
                f"{get_spec(env.game)}, more than {MAX_SAMPLER_BYTES / 2**30:.0f}; use fewer"
            )

    def empty(size: int) -> SampleReservoir:
        weight: Any = np.zeros(size, np.float32)
        return SampleReservoir(
            np.zeros(1, np.int64),
            np.zeros((size, env.num_features), np.float32),
            np.zeros((size, env.num_actions), bool),
            np.zeros((size, env.num_actions), np.float32),
            weight,
            np.zeros(size, np.int32),
            new_infoset_index(env, min(size, max_indexed)),
        )

    players = range(env.num_players)
    return RulesSamplerArrays(
        tuple(empty(reservoir_size if keep_regrets else 0) for _ in players),
        tuple(
            empty((policy_reservoir_size or reservoir_size) if keep_policies else 0)
            for _ in players
        ),
        replay.new_transitions(env, critic_buffer_size),
        np.zeros((), np.int64),
    )


def new_infoset_index(env: BatchedEnv, size: int) -> InfosetIndex:
    """Return an empty index of at most `size` infosets."""
    return InfosetIndex(
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.full(1 << (2 * size).bit_length(), -1, np.int64),
        np.zeros((size, env.num_features + env.num_actions), np.uint32),
    )


def add_samples(
    reservoir: SampleReservoir, rng: np.random.Generator, observation: Any, legal: Any, *rows: Any
) -> None:
    """Offer observations, legal actions, targets and weights to a reservoir."""
    infoset, index = np.full(len(observation), -1, np.int32), reservoir.infosets
    if len(reservoir.weight) and infoset.size and index.is_complete:
        words = words_of_rows(observation, legal)
        num_known = index_rows(words, index.num_known[0], index.table, index.words, infoset)
        index.num_known[0] = num_known
    offered = observation, legal, *rows, infoset
    buffers.add_rows_to_reservoir(reservoir.num_seen, reservoir.columns, rng, offered)


def distinct_infosets(samples: SampleReservoir) -> tuple[Any, Any]:
    """Return the observations [R, X] and legal actions [R, A] of the infosets in the index.

    R leaves room for as many as a run is likely to add to those of the first call, and doubles when
    there are more, so that few programs are compiled.
    """
    index, features = samples.infosets, samples.observation.shape[1]
    if not index.num_rows[0]:
        index.num_rows[0] = round_up_size(int(INDEX_RESERVE * index.num_known[0]))
    index.num_rows[0] = double_until(int(index.num_rows[0]), int(index.num_known[0]))
    num_rows = min(int(index.num_rows[0]), len(index.words))
    words = index.words[:num_rows]
    legal = words[:, features:] > 0
    legal[int(index.num_known[0]) :] = True
    return np.ascontiguousarray(words[:, :features]).view(np.float32), legal


class RulesSampler:
    """A `Sampler` on rules."""

    def __init__(
        self, config: RegretNetConfig, env: BatchedEnv, arrays: RulesSamplerArrays | None = None
    ):
        """Continue with these arrays, or with new ones.

        Raises:
            ConfigError: an average network of three or more players, or too large buffers.
        """
        self.config, self.env = config, env
        self.keep_policies = bool(config.average_hidden_sizes)
        if self.keep_policies and env.num_players > 2:
            problem = "a third player's reach would bias the average network on rules"
            raise ConfigError(f"{config.name}: {problem}; take sd_cfr or dream")
        self.arrays = arrays or new_rules_arrays(
            env,
            config.reservoir_size,
            self.keep_policies,
            config.keeps_regrets,
            config.critic_buffer_size,
            config.average_reservoir_size,
            config.batch_size,
        )

    @property
    def num_players(self) -> int:
        return self.env.num_players

    @property
    def graph(self) -> Graph:
        return empty_graph(self.env)

    def policy_table(self) -> Any:
        return np.zeros((0, 0), np.float32)

    def set_policy(self, player: int, rows: Any) -> None:
        pass

    def collect_external(self, nets: Any, player: int, weight: float, key: Any) -> None:
        """Run the traversals in units, which any executor of `core.parallel` may run."""
        units, rng = split_into_units(self.config.num_traversals, key)
        host_nets = jax.tree.map(np.asarray, nets)
        common = self.env, host_nets, player, self.keep_policies
        for result in imap_calls(run_traversal_unit, [(*common, *unit) for unit in units]):
            add_traversal_result(self.arrays, result, player, weight, rng)

    def collect_outcomes(
        self, nets: Any, scheme: SamplingScheme, critic_values: Any, key: jax.Array
    ) -> None:
        play_key, store_key = split_key(key, 2)
        regrets = self.sample_episode_regrets(nets, scheme, critic_values, play_key)
        samples = self.arrays.regret_samples[scheme.player]
        add_samples(samples, rng_from_key(store_key), *regrets)

    def collect_batch(
        self, nets: Any, scheme: SamplingScheme, critic_values: Any, key: jax.Array
    ) -> RegretBatch:
        """Return the regrets of single decisions, padded to one of few sizes."""
        regrets = self.sample_episode_regrets(nets, scheme, critic_values, key)
        count = len(regrets.weight)
        size = double_until(rows_per_player(self.env, self.config.num_traversals), count)

        def pad(rows: Any, padding: Any) -> Any:
            widths = [(0, size - count)] + [(0, 0)] * (rows.ndim - 1)
            return np.pad(rows, widths, constant_values=padding)

        return RegretBatch(
            graph_from_rows(pad(regrets.observation, 0.0)[None], pad(regrets.legal, True), 1),
            np.arange(size, dtype=np.int32),
            pad(regrets.regret / self.env.largest_utility, 0.0),
            pad(regrets.weight, 0.0),
            use_minibatches=size > self.config.batch_size,
        )

    def sample_episode_regrets(
        self, nets: Any, scheme: SamplingScheme, critic: Net, key: jax.Array
    ) -> EpisodeRegrets:
        """Return the traverser's regrets in `num_traversals` episodes.

        The policies of the other players and the transitions are stored.
        """
        player, epsilon, power, weight, average, corrected = scheme
        env, arrays, rng = self.env, self.arrays, rng_from_key(key)
        policy_fn = partial(evaluate_policies, env.num_players, nets, player, epsilon)
        batch, count = play_episodes(env, policy_fn, rng, self.config.num_traversals)
        arrays.nodes_touched[...] += count + self.config.num_traversals  # decisions and terminals
        regret, reach, last = (
            np.asarray(part)
            for part in _episode_regrets(
                env.num_players, corrected, critic, env.largest_utility, batch
            )
        )
        replay.add_transitions(arrays.transitions, batch, last)
        episodes = batch.episodes
        for other in range(env.num_players):
            if other != player:
                index = np.nonzero(episodes.live & (episodes.player == other))
                row = episodes.decision[index]
                weights = np.full(row.size, average, np.float32)
                rows = batch.observation[other, row], batch.legal[row], episodes.policy[index]
                add_samples(arrays.policy_samples[other], rng, *rows, weights)
        index = np.nonzero(episodes.live & (episodes.player == player))
        row = episodes.decision[index]
        return EpisodeRegrets(
            batch.observation[player, row],
            batch.legal[row],
            regret[index],
            (weight / reach[index] ** power).astype(np.float32),
        )

    def regret_data(self, player: int) -> RegretData:
        """Return the samples with their infosets as on a tree, or with their own observations.

        The first while the distinct infosets are few: a step of a fit then evaluates each once.
        """
        samples = self.arrays.regret_samples[player]
        if samples.infosets.is_complete:
            observation, legal = distinct_infosets(samples)
            return RegretData(
                graph_from_rows(observation[None], legal, 1),
                samples.infoset,
                samples.target,
                samples.weight,
                min(int(samples.num_seen[0]), samples.weight.size),
                np.arange(len(legal), dtype=np.int32),
                group_by_infoset=True,
            )
        graph = graph_from_rows(samples.observation[None], samples.legal, 1)
        size = samples.weight.size
        return RegretData(
            graph,
            np.arange(size, dtype=np.int32),
            samples.target,
            samples.weight,
            min(int(samples.num_seen[0]), size),
            np.zeros(1, np.int32),  # the policy is not tabulated
            group_by_infoset=False,
        )

    def fit_average(self, network: TrainState, key: jax.Array) -> TrainState:
        for player, samples in enumerate(self.arrays.policy_samples):
            num_filled = max(min(int(samples.num_seen[0]), samples.weight.size), 1)
            inputs, row = (samples.observation, samples.legal), np.arange(samples.weight.size)
            if samples.infosets.is_complete:
                inputs, row = distinct_infosets(samples), samples.infoset
            network = fit_average_to_reservoir(
                self.config,
                network,
                player,
                inputs,
                (row, samples.target, samples.weight),
                num_filled,
                jax.random.fold_in(key, player),
            )
        return wait_for(network)  # the reservoirs change in the next iteration

    def new_critic(self, config: CriticConfig, rng: np.random.Generator) -> TrainState:
        return critics.new_rules_critic(self.config.name, config, self.env, rng)

    def fit_critic(
        self, config: CriticConfig, critic: TrainState, nets: Any, key: jax.Array
    ) -> tuple[TrainState, Any]:
        """Return the fitted critic, and its network, which is evaluated at sampled histories."""
        transitions = self.arrays.transitions
        critic = critics.fit_rules_critic(config, self.env, transitions, critic, nets, key)
        return critic, select_player(critic.params, 0)

    def decay_visits(self, factor: float) -> None:
        self.arrays.transitions.weight[:] *= factor


def split_into_units(
    num_traversals: int, key: Any
) -> tuple[list[tuple[int, Any]], np.random.Generator]:
    """Return units of work (traversals and random key), and the generator of the reservoirs."""
    sizes = [
        min(TRAVERSALS_PER_UNIT, num_traversals - first)
        for first in range(0, num_traversals, TRAVERSALS_PER_UNIT)
    ]
    store_key, *keys = split_key(key, 1 + len(sizes))
    return list(zip(sizes, keys, strict=True)), rng_from_key(store_key)


def run_traversal_unit(
    env: BatchedEnv, nets: Any, player: int, keep_policies: bool, num_traversals: int, key: Any
) -> TraversalResult:
    """Run a unit of traversals under these networks, without side effects."""
    policy_fn = partial(evaluate_policies, env.num_players, nets, -1, 0.0)
    return run_traversals(env, policy_fn, player, keep_policies, num_traversals, key)


def add_traversal_result(
    arrays: RulesSamplerArrays,
    result: TraversalResult,
    player: int,
    weight: float,
    rng: np.random.Generator,
) -> None:
    """Offer the samples of a unit to the reservoirs, with this weight."""
    arrays.nodes_touched[...] += result.nodes_touched
    pairs = (
        (arrays.regret_samples[player], result.regrets),
        *zip(arrays.policy_samples, result.policies, strict=False),
    )
    for reservoir, rows in pairs:
        add_samples(reservoir, rng, *rows, np.full(len(rows[0]), weight, np.float32))


class TraversalLevel(NamedTuple):
    """The states at one depth of a unit of traversals: N states, of which M are decisions."""

    value: Floats  # [N] to the traverser; of decisions not before the backward pass
    acting: Ints  # [M] states that are decisions
    player: Ints  # [M] the acting player
    observation: Any  # [M, X] of the acting player
    legal: Any  # [M, A]
    policy: Any  # [M, A]
    parent: Ints  # [L] decision above each state of the next level
    action: Ints  # [L] that leads to it


def run_traversals(
    env: BatchedEnv,
    policy_fn: PolicyFunction,
    player: int,
    keep_policies: bool,
    num_traversals: int,
    key: Any,
) -> TraversalResult:
    """Run a unit of external sampling: all actions of the traverser, one of the others.

    Args:
        env: the rules.
        policy_fn: the policies of all players.
        player: the traverser.
        keep_policies: whether the policies of the others are part of the result.
        num_traversals: traversals, which advance level by level.
        key: samples chance and the other players.
    """
    rng = rng_from_key(key)
    states, touched = env.initial_states(num_traversals), 0
    levels: list[TraversalLevel] = []
    last_value = np.zeros(0)  # of the level below the last decisions
    while len(states):
        if len(levels) == MAX_EPISODE_LENGTH:
            raise GameError(
                f"{get_spec(env.game)}: not over after {MAX_EPISODE_LENGTH:,} decisions"
            )
        states, turn = env.sample_chance(states, rng)
        touched += len(states)
        value = np.zeros(len(states))
        terminal = np.flatnonzero(turn.player == TERMINAL)
        if terminal.size:
            value[terminal] = env.utilities(env.select(states, terminal))[:, player]
        acting = np.flatnonzero(turn.player >= 0)
        if not acting.size:
            last_value = value
            break
        actor = turn.player[acting]
        legal, number = env.legal_actions(turn, acting)
        observation = env.observations(env.select(states, acting), actor)
        policy, _ = query_policy(env, policy_fn, actor, observation, legal)
        sampled = sample_actions(policy, rng.random(acting.size))
        is_sampled = np.arange(legal.shape[1]) == sampled[:, None]
        followed = np.where((actor == player)[:, None], legal, is_sampled)
        parent, action = np.nonzero(followed)
        levels.append(
            TraversalLevel(value, acting, actor, observation, legal, policy, parent, action)
        )
        states = env.next_states(states, turn, acting[parent], number[parent, action])
    policies = tuple(
        _policy_rows(env, levels, other if other != player else -1)
        for other in (range(env.num_players) if keep_policies else ())
    )
    return TraversalResult(_regret_rows(env, levels, last_value, player), policies, touched)


def _policy_rows(env: BatchedEnv, levels: list[TraversalLevel], player: int) -> Rows:
    """Return the policies that a player followed, from the first level on."""
    parts = [_no_rows(env)]
    for level in levels:
        rows = np.flatnonzero(level.player == player)
        parts.append((level.observation[rows], level.legal[rows], level.policy[rows]))
    return _concatenate_rows(parts)


def _regret_rows(
    env: BatchedEnv, levels: list[TraversalLevel], last_value: Floats, player: int
) -> Rows:
    """Compute values from the last level up, and return the traverser's regrets."""
    parts, next_value = [_no_rows(env)], last_value
    for level in reversed(levels):
        is_own = level.player == player
        action_value = np.zeros(level.legal.shape)
        action_value[level.parent, level.action] = next_value
        expected = np.where(
            is_own, (level.policy * action_value).sum(axis=1), action_value.sum(axis=1)
        )
        level.value[level.acting] = expected
        rows = np.flatnonzero(is_own)
        regret = np.where(level.legal[rows], action_value[rows] - expected[rows, None], 0.0)
        parts.append((level.observation[rows], level.legal[rows], regret.astype(np.float32)))
        next_value = level.value
    return _concatenate_rows(parts)


def _no_rows(env: BatchedEnv) -> Rows:
    shape = 0, env.num_actions
    observation = np.zeros((0, env.num_features), np.float32)
    return observation, np.zeros(shape, bool), np.zeros(shape, np.float32)


def _concatenate_rows(parts: list[Rows]) -> Rows:
    observation, legal, target = (np.concatenate(part) for part in zip(*parts, strict=True))
    return observation, legal, target


@lazy_jit(static_argnums=0)
def evaluate_policies(
    num_players: int, nets: Any, explorer: Any, epsilon: Any, observation: Any, legal: Any
) -> tuple[jax.Array, jax.Array]:
    """Return the policies of regret networks and the sampling distributions [P * R, A].

    The explorer samples from epsilon * uniform + (1 - epsilon) * policy, the others from their
    policies.
    """
    size = len(observation) // num_players
    rows = [slice(p * size, (p + 1) * size) for p in range(num_players)]
    outputs = [apply_net(select_player(nets, p), observation[rows[p]]) for p in range(num_players)]
    policy = regret_matching(jnp.concatenate(outputs), legal)
    mixed = epsilon * uniform(legal) + (1.0 - epsilon) * policy
    explores = jnp.repeat(jnp.arange(num_players), size) == explorer
    return policy, jnp.where(explores[:, None], mixed, policy)


@lazy_jit(static_argnums=(0, 1))
def _episode_regrets(
    num_players: int, corrected: bool, critic: Net, unit: Any, batch: RolloutBatch
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return regrets [T, B, A], own sampling reaches [T, B] and last actions [T, B, P]."""
    graph, episodes = batch.graph(num_players), batch.episodes
    values = unit * apply_net(critic, joint_observations(graph, episodes, critic))
    values = values.reshape(graph.num_decisions, graph.max_actions, num_players)
    exists = episodes.legal & episodes.live[..., None]
    estimate = jnp.where(exists[..., None], values[episodes.decision], 0.0)
    regret = returns.baseline_advantages(episodes, estimate, use_samples=corrected).advantage
    reach = returns.own_reach(episodes, num_players)
    return regret, reach, last_actions(episodes, num_players)
