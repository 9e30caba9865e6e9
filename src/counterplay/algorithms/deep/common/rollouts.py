"""Episodes on rules that are never unrolled, in the form of a small graph.

All episodes of a batch advance together, with one evaluation of the networks per turn. The
decisions of the batch become a `Graph` in which every decision is an infoset of its own and the
decisions of one player are contiguous rows. Algorithms that learn from episodes on a tree learn
from these without a change. Every number of rows and of turns is compiled separately, so both are
rounded up to sizes that a whole run rarely leaves: those of random episodes, with room for more, or
twice, four times, ... as much. They depend on the game and the batch alone, so that a resumed run
repeats the same programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common.batched_env import MAX_EPISODE_LENGTH, BatchedEnv
from counterplay.algorithms.deep.common.episodes import DRAW_SHRINK_FACTOR, Episodes
from counterplay.algorithms.deep.common.graph import Graph, TurnInfo
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import TERMINAL
from counterplay.errors import GameError
from counterplay.registry import get_spec

MIN_ROWS_PER_PLAYER = 16
TURN_PADDING_MULTIPLE = 4  # the number of turns is rounded up to a multiple of this
ROW_RESERVE = 1.5  # rows of a batch, relative to those of random episodes
SMALL_QUERY_FRACTION = 8  # queries of few episodes have this fraction of the rows of all episodes

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
    decisions = float(env.random_episode_summary.mean_decisions.max(initial=1.0))
    return round_up_size(int(ROW_RESERVE * num_episodes * decisions))


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


def graph_from_rows(observation: Any, legal: Any, num_players: int, max_turns: int = 1) -> Graph:
    """Return the graph of rows [I], in which every row is an infoset.

    Args:
        observation: of all players [P, I, X], or of the acting player only [1, I, X].
        legal: legal actions [I, A].
        num_players: players, each with an equal number of contiguous rows.
        max_turns: turns of the longest episode.
    """
    viewers, count, features = observation.shape
    owner = np.repeat(np.arange(num_players, dtype=np.int32), count // num_players)
    number = np.arange(count, dtype=np.int32)
    view = np.arange(viewers, dtype=np.int32)[:, None] * count + number
    # arrays that only a tree has are empty; NumPy arrays, so that they are constants of a program
    no_integers: Any = np.zeros(0, np.int32)
    no_utilities: Any = np.zeros((0, num_players), np.float32)
    no_sequences: Any = np.zeros((0, 2), np.int32)
    no_paths: Any = np.zeros((0, 1), np.int32)
    unit: Any = np.float32(1.0)
    return Graph(
        player=jnp.asarray(owner),
        infoset=jnp.asarray(number),
        first_edge=no_integers,
        succ_offset=no_integers,
        succ_node=no_integers,
        succ_cdf=no_integers,
        observation_row=jnp.asarray(view),
        utility=no_utilities,
        largest_utility=unit,
        observation=jnp.asarray(observation).reshape(viewers * count, features),
        infoset_player=jnp.asarray(owner),
        own_observation_row=jnp.asarray(view[owner, number] if viewers > 1 else number),
        legal=jnp.asarray(legal),
        sequence=no_sequences,
        sequence_path=no_paths,
        num_histories=no_integers,
        num_players=num_players,
        max_starts=1,
        max_successors=1,
        max_own_decisions=(max_turns,) * num_players,
        first_infoset=tuple(count // num_players * p for p in range(num_players + 1)),
        turns=(TurnInfo(-1, 0, 0),) * max_turns,
    )


def empty_graph(env: BatchedEnv) -> Graph:
    """Return the graph of a batch without decisions, which has the sizes networks need."""
    count, players = env.num_players * MIN_ROWS_PER_PLAYER, env.num_players
    observation = np.zeros((players, count, env.num_features), np.float32)
    return graph_from_rows(observation, np.ones((count, env.num_actions), bool), players)


class RolloutBatch(NamedTuple):
    """A batch of episodes and the rows of their decisions."""

    observation: Any  # [P, I, X] of every player at each decision
    legal: Any  # [I, A]
    episodes: Episodes
    role: Any  # [T, B] of each decision; 0 if no roles are assigned

    def graph(self, num_players: int) -> Graph:
        """Return the graph that the episodes refer to."""
        return graph_from_rows(
            self.observation, self.legal, num_players, self.episodes.live.shape[0]
        )


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
    size: int = 0,
) -> tuple[Any, Any]:
    """Return the policies and sampling distributions [N, A] of the acting players.

    Args:
        env: the rules.
        policy_fn: evaluates the networks on rows.
        player: the acting players [N].
        observation: their observations [N, X].
        legal: their legal actions [N, A].
        *extra_inputs: further inputs [N] of the policy function.
        size: rows of each player; 0 for one of few sizes.
    """
    row, size = assign_player_rows(player, env.num_players, size)
    row_observation, row_legal = lay_out_rows(env, row, size, observation[None], legal)
    row_inputs = [np.zeros(len(row_legal), values.dtype) for values in extra_inputs]
    for row_values, values in zip(row_inputs, extra_inputs, strict=True):
        row_values[row] = values
    policy, sampling = policy_fn(row_observation[0], row_legal, *row_inputs)
    return np.asarray(policy)[row], np.asarray(sampling)[row]


def sample_actions(probabilities: Any, draws: Floats) -> Ints:
    """Return the actions that random numbers in [0, 1) select; never one of probability 0."""
    cdf = np.cumsum(probabilities, axis=1, dtype=np.float64)
    below: Ints = (cdf <= (DRAW_SHRINK_FACTOR * cdf[:, -1] * draws)[:, None]).sum(axis=1)
    return below


def play_episodes(
    env: BatchedEnv,
    policy_fn: PolicyFunction,
    rng: np.random.Generator,
    num_episodes: int,
    assign_roles: AssignRoles | None = None,
) -> tuple[RolloutBatch, int]:
    """Sample a batch of episodes.

    Args:
        env: the rules.
        policy_fn: evaluates the networks on rows.
        rng: samples chance and actions.
        num_episodes: size of the batch.
        assign_roles: if given, every decision gets a role, which the policy function gets too.

    Returns:
        The episodes, and their number of decisions.
    """
    states, episode = env.initial_states(num_episodes), np.arange(num_episodes)
    utility = np.zeros((num_episodes, env.num_players))
    turns: list[tuple[Any, ...]] = []
    all_rows = round_up_size(num_episodes)
    few_rows = round_up_size(-(-num_episodes // SMALL_QUERY_FRACTION))
    query_sizes = set()
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
        largest = int(np.bincount(player, minlength=env.num_players).max())
        size = few_rows if largest <= few_rows else all_rows
        query_sizes.add(size)
        policy, sampling = query_policy(
            env, policy_fn, player, observation[player, index], legal, *roles, size=size
        )
        action = sample_actions(sampling, rng.random(acting.size))
        (role,) = roles or (np.zeros(acting.size, np.int32),)
        decision = policy, sampling[index, action], action, role
        turns.append((episode, player, observation, legal, *decision))
        states = env.next_states(states, turn, acting, number[index, action])
    if turns and few_rows not in query_sizes:  # compile its program now, not in a later iteration
        first = tuple(part[:1] for part in roles)
        query_policy(
            env, policy_fn, player[:1], observation[0, :1], legal[:1], *first, size=few_rows
        )
    return _collect_rollouts(env, turns, utility)


def _collect_rollouts(
    env: BatchedEnv, turns: list[tuple[Any, ...]], utility: Floats
) -> tuple[RolloutBatch, int]:
    episode, player, observation, legal, policy, sampling_prob, action, role = (
        np.concatenate(parts, axis=1 if parts[0].ndim == 3 else 0)
        for parts in zip(*turns, strict=True)
    )
    longest = max(env.random_episode_summary.max_decisions, 1)
    few_turns = -(-longest // TURN_PADDING_MULTIPLE) * TURN_PADDING_MULTIPLE
    num_turns = double_until(few_turns, len(turns))
    row, size = assign_player_rows(player, env.num_players, rows_per_player(env, len(utility)))
    row_observation, row_legal = lay_out_rows(env, row, size, observation, legal)
    index = np.repeat(np.arange(len(turns)), [turn[0].size for turn in turns]), episode

    def by_turn(values: Any, padding: Any, dtype: Any) -> Any:
        array = np.full((num_turns, len(utility), *values.shape[1:]), padding, dtype)
        array[index] = values
        return array

    utilities: Any = utility.astype(np.float32)
    episodes = Episodes(
        decision=by_turn(row, 0, np.int32),
        live=by_turn(np.ones(row.size), False, bool),
        player=by_turn(player, -1, np.int32),
        action=by_turn(action, 0, np.int32),
        legal=by_turn(legal, True, bool),
        policy=by_turn(policy, 1.0 / env.num_actions, np.float32),
        sampling_prob=by_turn(sampling_prob, 1.0, np.float32),
        utility=utilities,
    )
    batch = RolloutBatch(row_observation, row_legal, episodes, by_turn(role, 0, np.int32))
    return batch, row.size
