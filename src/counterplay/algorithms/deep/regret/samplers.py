"""Walks on the host, compiled by numba, with the networks' policies and critics as tables.

On a tree a network's policy is a table away, and a walk that looks things up there costs almost
nothing beside a fit. What a walk finds is remembered for every infoset as weighted sums: all
samples of an infoset share one input, so that the weighted squared error over them equals, up to a
constant, that of their mean. Or single samples go to a reservoir, as the papers have it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common import returns, rollouts
from counterplay.algorithms.deep.common.averages import ensemble_networks
from counterplay.algorithms.deep.common.batched_env import MAX_EPISODE_LENGTH, BatchedEnv
from counterplay.algorithms.deep.common.critics import joint_observations
from counterplay.algorithms.deep.common.episodes import last_actions
from counterplay.algorithms.deep.common.jax_algorithm import persistent_jit
from counterplay.algorithms.deep.common.networks import (
    Net,
    apply_net,
    regret_matching,
    select_player,
    softmax,
    uniform,
)
from counterplay.algorithms.deep.common.rollouts import (
    PolicyFunction,
    RolloutBatch,
    graph_from_rows,
    query_policy,
    rng_from_key,
    sample_actions,
)
from counterplay.algorithms.deep.common.training import TrainState, fit_with_cosine_decay
from counterplay.algorithms.deep.common.tree_or_rules import env_from_arena
from counterplay.algorithms.deep.regret import transitions
from counterplay.algorithms.deep.regret.transitions import (
    Transitions,
    bytes_per_transition,
    new_transitions,
)
from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.arenas.tree.sampling_view import chance_probabilities, node_rows
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import TERMINAL
from counterplay.core.parallel import imap_calls
from counterplay.core.policy import uniform_policy
from counterplay.errors import ConfigError, GameError
from counterplay.kernels.sampling import regret_samples
from counterplay.kernels.sampling.types import GameNodes, RegretSamples, RegretTables, Scratch
from counterplay.registry import get_spec

MAX_TREE_RESERVOIR_BYTES = 8 * 2**30  # of one reservoir


class TreeSampler(NamedTuple):
    """What walks need and change, beside the networks; S sequences, C outcomes of chance."""

    policy: Floats  # [S + C] the players' policies, then chance's
    policy_sum: Floats  # [S] the others' policies, added up where they were met
    regret_samples: tuple[Any, ...]  # one per player: see `kernels.bundles.Replay`
    visits: Floats  # [N] how often a node was met by episodes; [0] if nobody asks
    nodes_touched: Ints  # [2] nodes, counted as often as they were visited, and those not chance's


class SamplingScheme(NamedTuple):
    """How episodes are sampled for one player, and what they count."""

    player: int
    epsilon: float  # of uniform play by that player
    reach_power: float  # of its own sampling reach, by which the weight of regrets is divided
    regret_weight: float  # of regrets
    average_weight: float  # of the others' policies
    correct_critic: bool = (
        True  # what the critic got wrong, by what was sampled; False: it is believed
    )


def critic_only_scheme(player: int, weight: float) -> SamplingScheme:
    """The player acts uniformly, and the critic says what its regrets are."""
    return SamplingScheme(player, 1.0, 0.0, weight, weight, correct_critic=False)


def new_tree_sampler_state(
    tree: TreeArena, reservoir_size: int = 0, track_visits: bool = False
) -> TreeSampler:
    """Uniform policies, and nothing remembered."""
    size = tree.num_sequences
    needed = reservoir_size * (4 * tree.max_actions + 16) * tree.num_players
    if needed > MAX_TREE_RESERVOIR_BYTES:
        raise ConfigError(
            f"reservoir_size is {reservoir_size}: these take {needed / 2**30:,.1f} GiB on "
            f"{tree.spec}, more than {MAX_TREE_RESERVOIR_BYTES / 2**30:.0f}; "
            "use fewer, or 0 for sums"
        )
    replay = [
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
    return TreeSampler(
        policy=np.append(uniform_policy(tree).probabilities, chance_probabilities(tree)),
        policy_sum=np.zeros(size),
        regret_samples=tuple(replay),
        visits=np.zeros(tree.num_nodes if track_visits else 0),
        nodes_touched=np.zeros(2, np.int64),
    )


def run_external_sampling_on_tree(
    config: Any, tree: TreeArena, sampler: TreeSampler, player: int, weight: float, key: jax.Array
) -> None:
    """Walks in which the player tries everything; regrets and policies count `weight`."""
    given = player, config.num_traversals, seed_from_key(key), config.stratified_chance, weight
    _run_kernel(
        tree,
        sampler,
        regret_samples.collect_external_regrets,
        given,
        sampler.regret_samples[player],
    )


def run_outcome_sampling_on_tree(
    config: Any,
    tree: TreeArena,
    sampler: TreeSampler,
    scheme: SamplingScheme,
    critic_values: Floats,
    key: jax.Array,
) -> None:
    """Episodes in which one player explores, and a critic knows what it did not try."""
    player, epsilon, power, weight, average, corrected = scheme
    kernel: Any = regret_samples.collect_critic_regrets
    counts: tuple[Any, ...] = (weight,)
    if corrected:
        kernel, counts = (
            regret_samples.collect_outcome_regrets,
            ((epsilon, power), (weight, average)),
        )
    given = (
        player,
        config.num_traversals,
        seed_from_key(key),
        config.stratified_chance,
        *counts,
        critic_values,
        sampler.visits,
    )
    _run_kernel(tree, sampler, kernel, given, sampler.regret_samples[player])


def seed_from_key(key: jax.Array) -> np.uint64:
    """A seed for walks from a key of JAX."""
    high, low = np.asarray(key, np.uint64)
    return np.uint64(high << np.uint64(32) | low)


def clear_regret_sums(replay: RegretSamples) -> None:
    """Empty a replay of sums."""
    replay.regret_sum[:] = 0.0
    replay.weight_sum[:] = 0.0


def mean_regrets(tree: TreeArena, replay: RegretSamples) -> tuple[Floats, Floats]:
    """The weighted mean [S] of all regrets remembered, and the weight of every infoset [I]."""
    weight = replay.weight_sum[tree.offset[:-1]]
    return replay.regret_sum / np.repeat(
        np.where(weight > 0.0, weight, 1.0), tree.num_actions
    ), weight


def table_from_sequences(tree: TreeArena, values: Floats) -> Any:
    """Values [S] as a table [I, A], zero where there is no action."""
    table = np.zeros((tree.num_infosets, tree.max_actions), np.float32)
    table[legal_mask(tree)] = values
    return table


@cache_on_tree
def legal_mask(tree: TreeArena) -> Any:
    """Which actions exist [I, A]."""
    return np.arange(tree.max_actions) < tree.num_actions[:, None]


@cache_on_tree
def infoset_by_sequence(tree: TreeArena) -> Ints:
    """The infoset of every sequence [S]."""
    return np.repeat(np.arange(tree.num_infosets), tree.num_actions)


@cache_on_tree
def infosets_by_player(tree: TreeArena) -> tuple[Ints, Any]:
    """Every player's infosets [P, R], padded with the first, and which of them are no padding."""
    first = tree.player_infoset
    size = int(np.diff(first).max(initial=1))
    row = first[:-1, None] + np.arange(size)
    exists = row < first[1:, None]
    padding = np.minimum(first[:-1, None], tree.num_infosets - 1)  # a player may have no infoset
    return np.where(exists, row, padding).astype(np.int32), exists


def set_policy(tree: TreeArena, sampler: TreeSampler, player: int, rows: Any) -> None:
    """Let the player play these probabilities [R, A], its infosets in their order."""
    first, last = tree.player_infoset[player : player + 2]
    legal = legal_mask(tree)[first:last]
    table = np.where(legal, np.asarray(rows, np.float64)[: last - first], 0.0)
    table /= table.sum(axis=1, keepdims=True)
    sampler.policy[tree.offset[first] : tree.offset[last]] = table[legal]


def _run_kernel(
    tree: TreeArena,
    sampler: TreeSampler,
    kernel: Any,
    kernel_arguments: tuple[Any, ...],
    replay: RegretSamples,
) -> None:
    size, scratch = tree.num_sequences, _scratch(tree)
    nothing = np.zeros((0, tree.num_players), np.int32)
    game = GameNodes(node_rows(tree), tree.utility, nothing, tree.num_players)
    regret, largest = np.zeros((2, size))
    table = RegretTables(
        regret, sampler.policy, sampler.policy_sum, np.zeros(0), np.zeros(0), largest
    )
    scratch.counters[:] = 0
    kernel(*kernel_arguments, np.zeros(2), game, table, scratch, replay)
    sampler.nodes_touched[:] += scratch.counters[0], scratch.counters[0] - scratch.counters[2]


@cache_on_tree
def _scratch(tree: TreeArena) -> Scratch:
    depth = tree.level_offset.size + 1
    integers = [np.zeros(depth, np.int64) for _ in range(2)]
    floats = [np.zeros(depth) for _ in range(4)]
    met = np.empty(tree.num_nodes, np.int64)
    return Scratch(np.zeros(1, np.uint64), np.zeros(3, np.int64), met, *integers, *floats)


MAX_RULES_SAMPLER_BYTES = 8 * 2**30  # of all that is remembered
DEFAULT_BYTES = 2**29  # of reservoirs whose size the user does not set
DEFAULT_RESERVOIR_SIZE = 200_000  # samples of each player, at most, if the user does not say
TRAVERSALS_PER_UNIT = 64  # walks of a unit, which go down together


def sample_bytes(rules: BatchedEnv) -> int:
    """Return the bytes of one row of a reservoir."""
    return 4 * rules.num_features + 5 * rules.num_actions + 4


def default_reservoir_size(rules: BatchedEnv) -> int:
    """Return the samples per player where the user does not say: regrets and policies together
    take at most `DEFAULT_BYTES`.
    """
    fitting = DEFAULT_BYTES // (2 * rules.num_players * sample_bytes(rules))
    return max(1, min(DEFAULT_RESERVOIR_SIZE, fitting))


class SampleReservoir(NamedTuple):
    """A reservoir of M rows."""

    num_seen: Ints  # [1] rows that have come by
    observation: Any  # [M, X]
    legal: Any  # [M, A]
    target: Any  # [M, A] regrets, or policies
    weight: Floats  # [M]


class RulesSampler(NamedTuple):
    """What walks remember, by player."""

    regret_samples: tuple[SampleReservoir, ...]
    policy_samples: tuple[
        SampleReservoir, ...
    ]  # the others' policies; without room if nobody asks for them
    transitions: Transitions  # for critics; without room if there is none
    nodes_touched: Ints  # [] nodes

    @property
    def visits(self) -> Any:
        """How much every decision of the ring counts, as `traversals.Walks` has it of nodes."""
        return self.transitions.weight


class TraversalResult(NamedTuple):
    """What a unit of walks has met: observations, which actions exist, targets, all [M, ...]."""

    regrets: tuple[Any, Any, Any]  # the player's
    policies: tuple[tuple[Any, Any, Any], ...]  # everybody else's, if somebody asks for them
    nodes_touched: int  # nodes


def new_rules_sampler_state(
    env: BatchedEnv,
    reservoir_size: int,
    keep_policies: bool,
    keep_regrets: bool = True,
    critic_buffer_size: int = 0,
) -> RulesSampler:
    """Nothing remembered; with room for others' policies, regrets, and decisions for a critic."""
    row = sample_bytes(env)
    sizes = {
        "reservoir_size": (reservoir_size, row * env.num_players * (keep_regrets + keep_policies)),
        "critic_buffer_size": (critic_buffer_size, bytes_per_transition(env)),
    }
    for name, (count, each) in sizes.items():
        if count * each > MAX_RULES_SAMPLER_BYTES:
            raise ConfigError(
                f"{name} is {count}: these take {count * each / 2**30:,.1f} GiB on "
                f"{get_spec(env.game)}, more than {MAX_RULES_SAMPLER_BYTES / 2**30:.0f}; use fewer"
            )

    def empty(size: int) -> SampleReservoir:
        return SampleReservoir(
            np.zeros(1, np.int64),
            np.zeros((size, env.num_features), np.float32),
            np.zeros((size, env.num_actions), bool),
            np.zeros((size, env.num_actions), np.float32),
            np.zeros(size, np.float32),
        )

    players = range(env.num_players)
    return RulesSampler(
        tuple(empty(reservoir_size if keep_regrets else 0) for _ in players),
        tuple(empty(reservoir_size if keep_policies else 0) for _ in players),
        new_transitions(env, critic_buffer_size),
        np.zeros((), np.int64),
    )


def add_samples(reservoir: SampleReservoir, rng: np.random.Generator, *rows: Any) -> None:
    """Offer rows to a reservoir: all that ever came by are kept equally likely."""
    size, count = reservoir.weight.size, len(rows[0])
    if not size or not count:
        return
    number = reservoir.num_seen[0] + np.arange(count)
    place = np.where(number < size, number, (rng.random(count) * (number + 1)).astype(np.int64))
    taken = np.flatnonzero(place < size)
    for room, new in zip(reservoir[1:], rows, strict=True):
        room[place[taken]] = new[taken]
    reservoir.num_seen[0] += count


def split_into_units(
    num_traversals: int, key: jax.Array
) -> tuple[list[tuple[int, Any]], np.random.Generator]:
    """So many walks as units, each a number of walks and a key, and what reservoirs draw from."""
    sizes = [
        min(TRAVERSALS_PER_UNIT, num_traversals - first)
        for first in range(0, num_traversals, TRAVERSALS_PER_UNIT)
    ]
    keep_key, *keys = np.asarray(jax.random.split(key, 1 + len(sizes)))
    return list(zip(sizes, keys, strict=True)), rng_from_key(keep_key)


def add_traversal_result(
    sampler: RulesSampler,
    result: TraversalResult,
    player: int,
    weight: float,
    rng: np.random.Generator,
) -> None:
    """Offer what a unit has met to the reservoirs; regrets and policies count `weight`."""
    sampler.nodes_touched[...] += result.nodes_touched
    both = (
        (sampler.regret_samples[player], result.regrets),
        *zip(sampler.policy_samples, result.policies, strict=False),
    )
    for samples, rows in both:
        add_samples(samples, rng, *rows, np.full(len(rows[0]), weight, np.float32))


def run_traversals(
    env: BatchedEnv,
    policy_fn: PolicyFunction,
    player: int,
    keep_policies: bool,
    num_traversals: int,
    key: Any,
) -> TraversalResult:
    """A unit of walks in which the player tries everything."""
    rng = rng_from_key(key)
    states, touched = env.initial_states(num_traversals), 0
    levels: list[tuple[Any, ...]] = []
    while len(states):
        if len(levels) == MAX_EPISODE_LENGTH:
            raise GameError(
                f"{get_spec(env.game)}: not over after {MAX_EPISODE_LENGTH:,} decisions"
            )
        states, turn = env.sample_chance(states, rng)
        touched += len(states)
        value = np.zeros(len(states))
        over = np.flatnonzero(turn.player == TERMINAL)
        if over.size:
            value[over] = env.utilities(env.select(states, over))[:, player]
        here = np.flatnonzero(turn.player >= 0)
        if not here.size:
            levels.append((value, here, None))
            break
        acts = turn.player[here]
        legal, number = env.legal_actions(turn, here)
        seen = env.observations(env.select(states, here), acts)
        policy, _ = query_policy(env, policy_fn, acts, seen, legal)
        action = sample_actions(policy, rng.random(here.size))
        own = (acts == player)[:, None]
        tried = np.where(own, legal, np.arange(legal.shape[1]) == action[:, None])
        row, which = np.nonzero(tried)
        levels.append((value, here, (acts, seen, legal, policy, row, which)))
        states = env.next_states(states, turn, here[row], number[row, which])
    players = range(env.num_players) if keep_policies else ()
    others = tuple(
        _policy_samples(env, levels, other if other != player else -1) for other in players
    )
    return TraversalResult(_regret_samples(env, levels, player), others, touched)


def _policy_samples(
    env: BatchedEnv, levels: list[tuple[Any, ...]], player: int
) -> tuple[Any, Any, Any]:
    """The policies that a player followed, from the start on."""
    found = [_no_samples(env)]
    for _, _, met in levels:
        if met is not None:
            acts, seen, legal, policy, _, _ = met
            mine = np.flatnonzero(acts == player)
            found.append((seen[mine], legal[mine], policy[mine]))
    return _concatenate_samples(found)


def _regret_samples(
    env: BatchedEnv, levels: list[tuple[Any, ...]], player: int
) -> tuple[Any, Any, Any]:
    """Values from the ends up, and the player's regrets on the way."""
    found, below = [_no_samples(env)], np.zeros(0)
    for value, here, met in reversed(levels):
        if met is not None:
            acts, seen, legal, policy, row, which = met
            own = acts == player
            worth = np.zeros(legal.shape)
            worth[row, which] = below
            expected = np.where(own, (policy * worth).sum(axis=1), worth.sum(axis=1))
            value[here] = expected
            mine = np.flatnonzero(own)
            regret = np.where(legal[mine], worth[mine] - expected[mine, None], 0.0)
            found.append((seen[mine], legal[mine], regret.astype(np.float32)))
        below = value
    return _concatenate_samples(found)


def _no_samples(env: BatchedEnv) -> tuple[Any, Any, Any]:
    shape = 0, env.num_actions
    seen = np.zeros((0, env.num_features), np.float32)
    return seen, np.zeros(shape, bool), np.zeros(shape, np.float32)


def _concatenate_samples(rows: list[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    seen, legal, target = (np.concatenate(part) for part in zip(*rows, strict=True))
    return seen, legal, target


class EpisodeRegrets(NamedTuple):
    """One player's regrets at N decisions."""

    observation: Any  # [N, X]
    legal: Any  # [N, A]
    regret: Any  # [N, A]
    weight: Any  # [N]


def run_outcome_sampling_on_rules(
    config: Any, arena: Any, state: Any, scheme: SamplingScheme, critic: Net, key: jax.Array
) -> None:
    """What `play` finds, to the player's reservoir."""
    play_key, keep_key = jax.random.split(key)
    rules, walks, nets = env_from_arena(arena), state.sampler, config.actor_params(state)
    found = sample_episode_regrets(config, rules, walks, nets, scheme, critic, play_key)
    add_samples(walks.regret_samples[scheme.player], rollouts.rng_from_key(keep_key), *found)


def sample_episode_regrets(
    config: Any,
    env: BatchedEnv,
    sampler: RulesSampler,
    nets: Net,
    scheme: SamplingScheme,
    critic: Net,
    key: jax.Array,
) -> EpisodeRegrets:
    """`traversals` episodes, and the regrets in them of the player that the scheme is for."""
    player, epsilon, power, weight, average, corrected = scheme
    rng = rollouts.rng_from_key(key)
    ask = partial(jit_regret_policy(), env.num_players, nets, player, epsilon)
    met, count = rollouts.play_episodes(env, ask, rng, config.num_traversals)
    sampler.nodes_touched[...] += count + config.num_traversals  # decisions and ends
    given = env.num_players, corrected, critic, env.largest_utility, met
    regret, reach, last = (np.asarray(part) for part in _jit_episode_regrets()(*given))
    transitions.add_transitions(sampler.transitions, met, last)
    episodes = met.episodes
    for other in range(env.num_players):
        if other != player:
            here = np.nonzero(episodes.live & (episodes.player == other))
            row = episodes.decision[here]
            counts = np.full(row.size, average, np.float32)
            seen = met.observation[other, row], met.legal[row]
            add_samples(sampler.policy_samples[other], rng, *seen, episodes.policy[here], counts)
    mine = np.nonzero(episodes.live & (episodes.player == player))
    row = episodes.decision[mine]
    seen = met.observation[player, row], met.legal[row]
    return EpisodeRegrets(*seen, regret[mine], (weight / reach[mine] ** power).astype(np.float32))


@lru_cache
def _jit_episode_regrets() -> Callable[..., Any]:
    @partial(persistent_jit, static_argnums=(0, 1))
    def compute_regrets(
        players: int, sampled: bool, critic: Net, unit: jax.Array, rollouts: RolloutBatch
    ) -> Any:
        graph, episodes = rollouts.graph(players), rollouts.episodes
        said = unit * apply_net(critic, joint_observations(graph, episodes, critic))
        said = said.reshape(graph.num_decisions, graph.max_actions, players)
        real = episodes.legal & episodes.live[..., None]
        guess = jnp.where(real[..., None], said[episodes.decision], 0.0)
        regret = returns.baseline_advantages(episodes, guess, use_samples=sampled).advantage
        return regret, returns.own_reach(episodes, players), last_actions(episodes, players)

    return compute_regrets


def run_external_sampling_on_rules(
    config: Any, arena: Any, state: Any, player: int, weight: float, key: Any
) -> None:
    """The walks of an iteration, all playing what the networks say now; done in units, anywhere."""
    units, rng = split_into_units(config.num_traversals, key)
    nets = jax.tree.map(np.asarray, state.nets.params)
    policies = bool(config.average_hidden_sizes)
    frozen = env_from_arena(arena), nets, player, policies
    for found in imap_calls(run_traversal_unit, [(*frozen, *unit) for unit in units]):
        add_traversal_result(state.sampler, found, player, weight, rng)


def run_traversal_unit(
    env: BatchedEnv, nets: Net, player: int, keep_policies: bool, num_traversals: int, key: Any
) -> TraversalResult:
    """A unit of walks under these networks; changes nothing."""
    ask = partial(jit_regret_policy(), env.num_players, nets, -1, 0.0)
    return run_traversals(env, ask, player, keep_policies, num_traversals, key)


@lru_cache
def jit_regret_policy() -> Callable[..., Any]:
    """Policies, and what to sample from: `explorer` mixes its own with `epsilon` uniform play."""

    @partial(persistent_jit, static_argnums=0)
    def act(
        players: int, nets: Net, explorer: Any, epsilon: Any, seen: jax.Array, legal: jax.Array
    ) -> Any:
        size = len(seen) // players
        own = [slice(p * size, (p + 1) * size) for p in range(players)]
        said = [apply_net(select_player(nets, p), seen[rows]) for p, rows in enumerate(own)]
        policy = regret_matching(jnp.concatenate(said), legal)
        mixed = epsilon * uniform(legal) + (1.0 - epsilon) * policy
        explores = jnp.repeat(jnp.arange(players), size) == explorer
        return policy, jnp.where(explores[:, None], mixed, policy)

    return act


def graph_from_reservoir(samples: SampleReservoir) -> tuple[Any, Any, int]:
    """A reservoir as a graph of its rows, as samples of these, and how many are filled."""
    graph = graph_from_rows(samples.observation[None], samples.legal, 1)
    number = np.arange(samples.weight.size, dtype=np.int32)
    filled = min(int(samples.num_seen[0]), samples.weight.size)
    return graph, (number, samples.target, samples.weight), filled


def fit_average_net_on_rules(config: Any, state: Any, key: jax.Array) -> Any:
    """The averages, with every player's network fitted further to the policies that were met."""
    network = state.averages.network
    for player, samples in enumerate(state.sampler.policy_samples):
        graph, (_, policy, weight), filled = graph_from_reservoir(samples)
        data = graph.observation, graph.legal, policy, weight
        own = jax.random.fold_in(key, player)
        network = _jit_fit_average_net_on_rules()(
            config, network, player, data, max(filled, 1), own
        )
    return state.averages._replace(network=network)


@lru_cache
def _jit_fit_average_net_on_rules() -> Callable[..., TrainState]:
    @partial(persistent_jit, static_argnums=0)
    def fit(
        config: Any, nets: TrainState, player: Any, data: Any, filled: Any, key: jax.Array
    ) -> TrainState:
        from counterplay.algorithms.deep.regret.base import gradient_transform

        def draw(key: jax.Array) -> Any:
            chosen = jax.random.randint(key, (config.batch_size,), 0, filled)
            return jax.tree.map(lambda part: part[chosen], data)

        def loss(net: Net, some: Any) -> jax.Array:
            x, legal, policy, weight = some
            log = jnp.log(softmax(apply_net(net, x), legal).clip(1e-30))
            return -(weight[:, None] * policy * log).sum() / weight.sum().clip(1e-30)

        rate, steps = config.average_learning_rate, config.average_train_steps
        one = fit_with_cosine_decay(
            gradient_transform(config), rate, loss, select_player(nets, player), draw, key, steps
        )
        return jax.tree.map(lambda every, new: every.at[player].set(new), nets, one)

    return fit


def collect_policy_networks(config: Any, state: Any) -> dict[str, Any]:
    """The answers: the average network if there is one, the ensemble, the last iterate."""
    found: dict[str, Any] = {}
    if config.average_hidden_sizes:
        found["network"] = [state.averages.network.params], [1.0], "softmax"
    for name, (nets, weights) in ensemble_networks(state.averages, config.average_power).items():
        found[name] = nets, weights, "regret_matching"
    found["current"] = [config.actor_params(state)], [1.0], "regret_matching"
    return found
