"""Episodes on rules that are never unrolled, in the form of a small graph.

All episodes of a batch advance together, with one evaluation of the networks per turn, once for
each distinct observation. The decisions of the batch become a `Graph`, in which the infosets of one
player are contiguous rows. Algorithms that learn from episodes on a tree learn from these without a
change. In a batch with distinct rows, decisions with the same observations of all players are one
decision of the graph, and those with the same own observation one infoset; in other batches, every
decision is an infoset. Every number of rows and of turns is compiled separately, so all are rounded
up to sizes that a whole run rarely leaves: those of random episodes, with room for more, or twice,
four times, ... as much. They depend on the game and the batch alone, so that a resumed run repeats
the same programs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common.batched_env import MAX_EPISODE_LENGTH, BatchedEnv
from counterplay.algorithms.deep.common.episodes import DRAW_SHRINK_FACTOR, Episodes
from counterplay.algorithms.deep.common.graph import Graph, TurnInfo
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import TERMINAL
from counterplay.errors import GameError
from counterplay.kernels.runtime.hash_index import group_rows
from counterplay.registry import get_spec

MIN_ROWS_PER_PLAYER = 16
TURN_PADDING_MULTIPLE = 4  # the number of turns is rounded up to a multiple of this
ROW_RESERVE = 1.5  # distinct rows of a batch, relative to those of random episodes
DECISION_RESERVE = 3.0  # decisions of a batch, likewise: episodes of learned policies can be longer
SMALL_QUERY_FRACTION = 16  # queries of few rows have this fraction of the rows of all episodes
MIN_GROUPED_ROWS = 64  # fewer rows are evaluated one by one

PolicyFunction = Callable[..., tuple[Any, Any]]
"""Maps observations [P * R, X], legal actions [P * R, A] and, if roles are assigned, roles [P * R]
to policies and sampling distributions, both [P * R, A]; each player has R contiguous rows."""

AssignRoles = Callable[[Ints, Ints], Ints]
"""Maps acting players [N] and their episodes [N] to roles [N], which the policy function gets."""


def round_up_size(min_size: int) -> int:
    """Return a size of at least `min_size` to pad arrays to; sizes grow by about a quarter."""
    step = MIN_ROWS_PER_PLAYER
    while 8 * step <= min_size:
        step *= 2
    return -(-max(min_size, 1) // step) * step


def double_until(size: int, min_size: int) -> int:
    """Return the first of size, 2 size, 4 size, ... that is at least `min_size`."""
    while size < min_size:
        size *= 2
    return size


def round_query_size(min_size: int) -> int:
    """Return the first of 64, 256, 1024, ... that is at least `min_size`."""
    size = 4 * MIN_ROWS_PER_PLAYER
    while size < min_size:
        size *= 4
    return size


def rows_per_player(env: BatchedEnv, num_episodes: int) -> int:
    """Return the rows of each player that suffice for most batches of episodes."""
    summary = env.random_episode_summary
    decisions = DECISION_RESERVE * float(summary.mean_decisions.max(initial=1.0))
    return round_up_size(int(num_episodes * min(decisions, max(summary.max_decisions, 1))))


def assign_player_rows(player: Ints, num_players: int, size: int = 0) -> tuple[Ints, int]:
    """Return the row of each decision [N], and R: player p has the rows p * R to (p + 1) * R.

    Args:
        player: the acting players [N].
        num_players: number of players.
        size: R is this, doubled until it suffices; 0 for the size of a query.
    """
    largest = int(np.bincount(player, minlength=num_players).max(initial=1))
    size = double_until(size, largest) if size else round_query_size(largest)
    row = np.empty(player.size, np.int64)
    for p in range(num_players):
        decisions = np.flatnonzero(player == p)
        row[decisions] = p * size + np.arange(decisions.size)
    return row, size


class InfosetGroups(NamedTuple):
    """The infosets of decisions, of which several may share one."""

    infoset: Any  # [D] of each decision
    example: Any  # [I] a decision of each infoset


def group_equal_rows(*parts: Any) -> tuple[Ints, Ints]:
    """Return the first of each group of equal rows [U], and the group of each row [N].

    Rows are equal if they agree in all parts [N, ...] of floats, integers or booleans. Groups are
    in order of first occurrence.
    """
    words = words_of_rows(*parts)
    num_rows = len(words)
    table = np.full(1 << (2 * num_rows).bit_length(), -1, np.int64)
    first, group = np.empty(num_rows, np.int64), np.empty(num_rows, np.int64)
    num_groups = group_rows(words, table, first, group)
    return first[:num_groups], group


def words_of_rows(*parts: Any) -> Any:
    """Return rows [N, ...] as unsigned integers [N, W]: those of the parts one after the other."""
    return np.concatenate([_row_words(part) for part in parts], axis=1)


def _row_words(part: Any) -> Any:
    """Return rows [N, ...] as unsigned integers [N, W]; equal floats have equal words but for 0."""
    rows = np.asarray(part).reshape(len(part), -1)
    if rows.dtype.kind == "f":
        return np.ascontiguousarray(rows, np.float32).view(np.uint32)
    return rows.astype(np.uint32)


def lay_out_rows(
    env: BatchedEnv, row: Ints, size: int, observation: Any, legal: Any
) -> tuple[Any, Any]:
    """Return observations [V, N, X] and legal actions [N, A] in rows: [V, P * R, X], [P * R, A].

    Unused rows have a zero observation and all actions.
    """
    viewers, _, features = observation.shape
    row_observation = np.zeros((viewers, env.num_players * size, features), np.float32)
    row_observation[:, row] = observation
    row_legal = np.ones((env.num_players * size, env.num_actions), bool)
    row_legal[row] = legal
    return row_observation, row_legal


def graph_from_rows(
    observation: Any,
    legal: Any,
    num_players: int,
    max_turns: int = 1,
    groups: InfosetGroups | None = None,
) -> Graph:
    """Return the graph of decisions [D], of which each is an infoset if no groups are given.

    Args:
        observation: of all players [P, D, X], or of the acting player only [1, D, X].
        legal: legal actions [D, A].
        num_players: players, each with an equal number of contiguous infosets.
        max_turns: turns of the longest episode.
        groups: the infosets of the decisions, if several share one.
    """
    viewers, count, features = observation.shape
    number = np.arange(count, dtype=np.int32)
    infoset, example = groups or InfosetGroups(number, number)
    num_infosets = example.shape[0]
    owner = np.repeat(np.arange(num_players, dtype=np.int32), num_infosets // num_players)
    view = np.arange(viewers, dtype=np.int32)[:, None] * count + number
    own_view = np.minimum(owner, viewers - 1) * count
    # arrays that only a tree has are empty; NumPy arrays, so that they are constants of a program
    no_integers: Any = np.zeros(0, np.int32)
    no_utilities: Any = np.zeros((0, num_players), np.float32)
    no_sequences: Any = np.zeros((0, 2), np.int32)
    no_paths: Any = np.zeros((0, 1), np.int32)
    unit: Any = np.float32(1.0)
    return Graph(
        player=jnp.asarray(owner)[infoset],
        infoset=jnp.asarray(infoset),
        first_edge=no_integers,
        succ_offset=no_integers,
        succ_node=no_integers,
        succ_cdf=no_integers,
        observation_row=jnp.asarray(view),
        utility=no_utilities,
        largest_utility=unit,
        observation=jnp.asarray(observation).reshape(viewers * count, features),
        infoset_player=jnp.asarray(owner),
        own_observation_row=jnp.asarray(own_view + example),
        legal=jnp.asarray(legal)[example] if groups else jnp.asarray(legal),
        sequence=no_sequences,
        sequence_path=no_paths,
        num_histories=no_integers,
        num_players=num_players,
        max_starts=1,
        max_successors=1,
        max_own_decisions=(max_turns,) * num_players,
        first_infoset=tuple(num_infosets // num_players * p for p in range(num_players + 1)),
        turns=(TurnInfo(-1, 0, 0),) * max_turns,
    )


def empty_graph(env: BatchedEnv) -> Graph:
    """Return the graph of a batch without decisions, which has the sizes networks need."""
    return _empty_graph(env.num_players, env.num_features, env.num_actions)


@lru_cache(maxsize=8)
def _empty_graph(num_players: int, num_features: int, num_actions: int) -> Graph:
    count = num_players * MIN_ROWS_PER_PLAYER
    observation = np.zeros((num_players, count, num_features), np.float32)
    return graph_from_rows(observation, np.ones((count, num_actions), bool), num_players)


class RolloutBatch(NamedTuple):
    """A batch of episodes and the rows of their decisions."""

    observation: Any  # [P, D, X] of every player at each decision
    legal: Any  # [D, A]
    groups: InfosetGroups | None  # None: every decision is an infoset
    episodes: Episodes
    role: Any  # [T, B] of each decision; 0 if no roles are assigned

    def graph(self, num_players: int) -> Graph:
        """Return the graph that the episodes refer to."""
        num_turns = self.episodes.live.shape[0]
        return graph_from_rows(self.observation, self.legal, num_players, num_turns, self.groups)


def rng_from_key(key: Any) -> np.random.Generator:
    """Return a NumPy generator seeded by a random key of JAX."""
    return np.random.default_rng(np.asarray(key, np.uint32).tolist())


def query_policy(
    env: BatchedEnv,
    policy_fn: PolicyFunction,
    player: Ints,
    observation: Any,
    legal: Any,
    *extra_inputs: Ints,
    sizes: tuple[int, ...] = (),
) -> tuple[Any, Any]:
    """Return the policies and sampling distributions [N, A] of the acting players.

    Equal rows are evaluated once.

    Args:
        env: the rules.
        policy_fn: evaluates the networks on rows.
        player: the acting players [N].
        observation: their observations [N, X].
        legal: their legal actions [N, A].
        *extra_inputs: further inputs [N] of the policy function.
        sizes: increasing numbers of rows of each player, of which the first that suffices is taken,
            or the last, doubled until it suffices; empty for one of few sizes.
    """
    policy, sampling, _ = _query_rows(
        env, policy_fn, player, observation, legal, *extra_inputs, sizes=sizes
    )
    return policy, sampling


def _query_rows(
    env: BatchedEnv,
    policy_fn: PolicyFunction,
    player: Ints,
    observation: Any,
    legal: Any,
    *extra_inputs: Ints,
    sizes: tuple[int, ...] = (),
) -> tuple[Any, Any, int]:
    """Return the result of `query_policy` and the number of rows of each player."""
    group = None
    if player.size >= MIN_GROUPED_ROWS:
        first, group = group_equal_rows(player, observation, legal, *extra_inputs)
        player, observation, legal = player[first], observation[first], legal[first]
        extra_inputs = tuple(values[first] for values in extra_inputs)
    largest = int(np.bincount(player, minlength=env.num_players).max(initial=1))
    size = next((size for size in sizes if size >= largest), sizes[-1] if sizes else 0)
    row, size = assign_player_rows(player, env.num_players, size)
    row_observation, row_legal = lay_out_rows(env, row, size, observation[None], legal)
    row_inputs = [np.zeros(len(row_legal), values.dtype) for values in extra_inputs]
    for row_values, values in zip(row_inputs, extra_inputs, strict=True):
        row_values[row] = values
    policy, sampling = policy_fn(row_observation[0], row_legal, *row_inputs)
    row = row if group is None else row[group]
    return np.asarray(policy)[row], np.asarray(sampling)[row], size


def sample_actions(probabilities: Any, draws: Floats) -> Ints:
    """Return the actions that random numbers in [0, 1) select; never one of probability 0."""
    cdf = np.cumsum(probabilities, axis=1, dtype=np.float64)
    below: Ints = (cdf <= (DRAW_SHRINK_FACTOR * cdf[:, -1] * draws)[:, None]).sum(axis=1)
    return below


class BatchSizes(NamedTuple):
    """Numbers of rows that suffice for most batches of episodes."""

    queries: tuple[int, ...]  # increasing, of each player in a turn
    decisions: int  # distinct decisions of all players
    infosets: int  # distinct infosets of each player


def batch_sizes(env: BatchedEnv, num_episodes: int) -> BatchSizes:
    """Return the sizes of batches of a game; measured once, and kept with the game."""
    if num_episodes not in env.sizes_by_batch:
        env.sizes_by_batch[num_episodes] = measure_batch_sizes(env, num_episodes)
    sizes: BatchSizes = env.sizes_by_batch[num_episodes]
    return sizes


def measure_batch_sizes(env: BatchedEnv, num_episodes: int) -> BatchSizes:
    """Return the sizes that a fixed batch of random episodes has, with room for more."""

    def uniform_policy(observation: Any, legal: Any) -> tuple[Any, Any]:
        policy = legal / legal.sum(axis=1, keepdims=True)
        return policy, policy

    rng = np.random.default_rng(0)
    turns, _ = sample_turns(env, uniform_policy, rng, num_episodes, ())
    in_turn = 1
    for turn in turns:
        infosets = _own_observations(turn.player, turn.observation, turn.legal)
        first, _ = group_equal_rows(*infosets)
        in_turn = max(in_turn, int(np.bincount(turn.player[first]).max()))
    decisions = _concatenate_turns(turns)
    player, observation, legal = decisions.player, decisions.observation, decisions.legal
    joint = observation.swapaxes(0, 1)
    first_decision, _ = group_equal_rows(player, joint, legal, decisions.last_action)
    first_infoset, _ = group_equal_rows(*_own_observations(player, observation, legal))
    query = round_up_size(min(int(ROW_RESERVE * in_turn), num_episodes))
    largest = int(np.bincount(player[first_infoset]).max())
    return BatchSizes(
        (round_up_size(-(-query // SMALL_QUERY_FRACTION)), query),
        round_up_size(int(ROW_RESERVE * first_decision.size)),
        round_up_size(int(ROW_RESERVE * largest)),
    )


def _own_observations(player: Ints, observation: Any, legal: Any) -> tuple[Any, Any, Any]:
    return player, observation[player, np.arange(player.size)], legal


class TurnRecord(NamedTuple):
    """The decisions of all episodes in one turn, or in all of them."""

    episode: Ints  # [N]
    player: Ints  # [N]
    observation: Any  # [P, N, X]
    legal: Any  # [N, A]
    last_action: Ints  # [N, P] every player's last action; -1 before its first
    policy: Any  # [N, A]
    sampling_prob: Any  # [N]
    action: Ints  # [N]
    role: Any  # [N]


def play_episodes(
    env: BatchedEnv,
    policy_fn: PolicyFunction,
    rng: np.random.Generator,
    num_episodes: int,
    assign_roles: AssignRoles | None = None,
    distinct: bool = False,
) -> tuple[RolloutBatch, int]:
    """Sample a batch of episodes.

    Args:
        env: the rules.
        policy_fn: evaluates the networks on rows.
        rng: samples chance and actions.
        num_episodes: size of the batch.
        assign_roles: if given, every decision gets a role, which the policy function gets too.
        distinct: make decisions with the same observations one decision of the graph.

    Returns:
        The episodes, and their number of decisions.
    """
    sizes = batch_sizes(env, num_episodes)
    queries = sizes.queries
    if assign_roles is not None:  # the same observation can have several roles
        queries = tuple(2 * size for size in queries)
    turns, utility = sample_turns(env, policy_fn, rng, num_episodes, queries, assign_roles)
    return _collect_rollouts(env, turns, utility, sizes if distinct else None)


def sample_turns(
    env: BatchedEnv,
    policy_fn: PolicyFunction,
    rng: np.random.Generator,
    num_episodes: int,
    query_sizes: tuple[int, ...],
    assign_roles: AssignRoles | None = None,
) -> tuple[list[TurnRecord], Floats]:
    """Sample a batch of episodes, and return their decisions by turn and their utilities [B, P].

    Args:
        query_sizes: rows of the queries of a policy, see `query_policy`.
    """
    states, episode = env.initial_states(num_episodes), np.arange(num_episodes)
    utility = np.zeros((num_episodes, env.num_players))
    last_action = np.full((num_episodes, env.num_players), -1, np.int32)
    turns: list[TurnRecord] = []
    unused_sizes = set(query_sizes)
    while episode.size:
        states, turn = env.sample_chance(states, rng)
        terminal = np.flatnonzero(turn.player == TERMINAL)
        if terminal.size:
            utility[episode[terminal]] = env.utilities(env.select(states, terminal))
        acting = np.flatnonzero(turn.player >= 0)
        if not acting.size:
            break
        if len(turns) == MAX_EPISODE_LENGTH:
            raise GameError(
                f"{get_spec(env.game)}: not over after {MAX_EPISODE_LENGTH:,} decisions"
            )
        player, episode = turn.player[acting], episode[acting]
        decision_states = env.select(states, acting)
        legal, number = env.legal_actions(turn, acting)
        observation = np.stack(
            [
                env.observations(decision_states, np.full(acting.size, viewer))
                for viewer in range(env.num_players)
            ]
        )
        index = np.arange(acting.size)
        roles = () if assign_roles is None else (assign_roles(player, episode),)
        policy, sampling, size = _query_rows(
            env, policy_fn, player, observation[player, index], legal, *roles, sizes=query_sizes
        )
        unused_sizes.discard(size)
        action = sample_actions(sampling, rng.random(acting.size))
        (role,) = roles or (np.zeros(acting.size, np.int32),)
        turns.append(
            TurnRecord(
                episode,
                player,
                observation,
                legal,
                last_action[episode],
                policy,
                sampling[index, action],
                action,
                role,
            )
        )
        last_action[episode, player] = action
        states = env.next_states(states, turn, acting, number[index, action])
    if turns:  # compile the programs of all sizes now, not in a later iteration
        record = turns[-1]
        first = record.player[:1], record.observation[record.player[0], :1], record.legal[:1]
        first_role = () if assign_roles is None else (record.role[:1],)
        for size in sorted(unused_sizes):
            query_policy(env, policy_fn, *first, *first_role, sizes=(size,))
    return turns, utility


def _concatenate_turns(turns: list[TurnRecord]) -> TurnRecord:
    """Return the decisions of all turns as one record."""
    parts = zip(*turns, strict=True)
    return TurnRecord(*(np.concatenate(p, axis=1 if p[0].ndim == 3 else 0) for p in parts))


def _collect_rollouts(
    env: BatchedEnv, turns: list[TurnRecord], utility: Floats, sizes: BatchSizes | None
) -> tuple[RolloutBatch, int]:
    """Return the episodes of turns; with sizes, as distinct decisions and infosets."""
    longest = max(env.random_episode_summary.max_decisions, 1)
    few_turns = -(-longest // TURN_PADDING_MULTIPLE) * TURN_PADDING_MULTIPLE
    num_turns = double_until(few_turns, len(turns))
    decisions = _concatenate_turns(turns)
    player, observation, legal = decisions.player, decisions.observation, decisions.legal
    if sizes is None:
        row, size = assign_player_rows(player, env.num_players, rows_per_player(env, len(utility)))
        groups, decision = None, row
        row_observation, row_legal = lay_out_rows(env, row, size, observation, legal)
    else:
        joint = observation.swapaxes(0, 1)
        first, decision = group_equal_rows(player, joint, legal, decisions.last_action)
        size = double_until(sizes.decisions, first.size)
        padding = (0, size - first.size), (0, 0)
        row_observation = np.pad(observation[:, first], ((0, 0), *padding))
        row_legal = np.pad(legal[first], padding, constant_values=True)
        groups = _infoset_groups(env, player[first], observation[:, first], legal[first], sizes)
        groups = groups._replace(infoset=np.pad(groups.infoset, padding[0]))
    index = np.repeat(np.arange(len(turns)), [turn.player.size for turn in turns])

    def by_turn(values: Any, padding: Any, dtype: Any) -> Any:
        array = np.full((num_turns, len(utility), *values.shape[1:]), padding, dtype)
        array[index, decisions.episode] = values
        return array

    utilities: Any = utility.astype(np.float32)
    episodes = Episodes(
        decision=by_turn(decision, 0, np.int32),
        live=by_turn(np.ones(player.size), False, bool),
        player=by_turn(player, -1, np.int32),
        action=by_turn(decisions.action, 0, np.int32),
        legal=by_turn(legal, True, bool),
        policy=by_turn(decisions.policy, 1.0 / env.num_actions, np.float32),
        sampling_prob=by_turn(decisions.sampling_prob, 1.0, np.float32),
        utility=utilities,
    )
    role = by_turn(decisions.role, 0, np.int32)
    return RolloutBatch(row_observation, row_legal, groups, episodes, role), player.size


def _infoset_groups(
    env: BatchedEnv, player: Ints, observation: Any, legal: Any, sizes: BatchSizes
) -> InfosetGroups:
    """Return the infosets of decisions: groups of the same own observation and legal actions."""
    first, group = group_equal_rows(*_own_observations(player, observation, legal))
    row, size = assign_player_rows(player[first], env.num_players, sizes.infosets)
    example = np.zeros(env.num_players * size, np.int32)
    example[row] = first
    return InfosetGroups(row[group].astype(np.int32), example)
