"""Episodes of rules that are never unrolled, as a graph of their own.

Many states step together, one call of the networks a turn. What was met is a small `Graph`: every
decision of the batch is an infoset of its own, those of a player side by side. So whatever learns
from episodes on a tree learns from these, in the same words; networks are asked for the rows that
are there. Arrays are padded to few sizes, since every size is compiled for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common.batched_env import MAX_EPISODE_LENGTH, BatchedEnv
from counterplay.algorithms.deep.common.episodes import DRAW_SHRINK_FACTOR, Episodes
from counterplay.algorithms.deep.common.graph import Graph, TurnInfo
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import TERMINAL
from counterplay.errors import GameError
from counterplay.registry import get_spec

MIN_ROWS_PER_PLAYER = 16  # rows of a player
TURN_PADDING_MULTIPLE = 4  # the number of turns is a multiple of this

PolicyFunction = Callable[[Any, Any], tuple[Any, Any]]
"""Given observations [P * R, X] and which actions exist [P * R, A]: the policies, and the
distributions to sample from [P * R, A]. Rows of a player stand side by side."""

AssignRoles = Callable[[Ints, Ints], Ints]
"""Given who acts [N], in which episode [N]: what each plays as [N], which those asked are told."""


def round_up_size(min_size: int) -> int:
    """The size, at least `count`, that arrays are padded to: in steps of about a quarter."""
    step = MIN_ROWS_PER_PLAYER
    while 8 * step <= min_size:
        step *= 2
    return -(-max(min_size, 1) // step) * step


def assign_player_rows(player: Ints, num_players: int) -> tuple[Ints, int]:
    """A row for each decision [N], those of a player side by side, and how many each player has."""
    counts = np.bincount(player, minlength=num_players)
    size = round_up_size(int(counts.max(initial=1)))
    row = np.empty(player.size, np.int64)
    for p in range(num_players):
        own = np.flatnonzero(player == p)
        row[own] = p * size + np.arange(own.size)
    return row, size


def lay_out_rows(
    env: BatchedEnv, row: Ints, size: int, observation: Any, legal: Any
) -> tuple[Any, Any]:
    """Observations [V, N, X] and actions [N, A] in their rows [V, P * R, X] and [P * R, A].

    Rows that are left over: all actions, no observation.
    """
    viewers, _, features = observation.shape
    seen = np.zeros((viewers, env.num_players * size, features), np.float32)
    seen[:, row] = observation
    exists = np.ones((env.num_players * size, env.num_actions), bool)
    exists[row] = legal
    return seen, exists


def graph_from_rows(observation: Any, legal: Any, num_players: int, max_turns: int = 1) -> Graph:
    """Rows as a graph, with the observations of all players, or of the one to act, [1, I, X]."""
    viewers, count, features = observation.shape
    owner = np.repeat(np.arange(num_players, dtype=np.int32), count // num_players)
    number = np.arange(count, dtype=np.int32)
    view = np.arange(viewers, dtype=np.int32)[:, None] * count + number
    nothing = np.zeros(0, np.int32)
    return Graph(
        player=jnp.asarray(owner),
        infoset=jnp.asarray(number),
        first_edge=nothing,
        succ_offset=nothing,
        succ_node=nothing,
        succ_cdf=nothing,
        observation_row=jnp.asarray(view),
        utility=np.zeros((0, num_players), np.float32),
        largest_utility=np.float32(1.0),
        observation=jnp.asarray(observation).reshape(viewers * count, features),
        infoset_player=jnp.asarray(owner),
        own_observation_row=jnp.asarray(view[owner, number] if viewers > 1 else number),
        legal=jnp.asarray(legal),
        sequence=np.zeros((0, 2), np.int32),
        sequence_path=np.zeros((0, 1), np.int32),
        num_histories=nothing,
        num_players=num_players,
        max_starts=1,
        max_successors=1,
        max_own_decisions=(max_turns,) * num_players,
        first_infoset=tuple(count // num_players * p for p in range(num_players + 1)),
        turns=(TurnInfo(-1, 0, 0),) * max_turns,
    )


def empty_graph(env: BatchedEnv) -> Graph:
    """The graph of a batch in which nothing was met: what networks are made for."""
    count, players = env.num_players * MIN_ROWS_PER_PLAYER, env.num_players
    seen = np.zeros((players, count, env.num_features), np.float32)
    return graph_from_rows(seen, np.ones((count, env.num_actions), bool), players)


class RolloutBatch(NamedTuple):
    """The decisions of a batch of episodes in their rows, and the episodes."""

    observation: Any  # [P, I, X] what every player sees at each
    legal: Any  # [I, A]
    episodes: Episodes
    role: Any  # [T, B] what was told of each decision; 0: nothing

    def graph(self, num_players: int) -> Graph:
        return graph_from_rows(
            self.observation, self.legal, num_players, self.episodes.live.shape[0]
        )


def rng_from_key(key: jax.Array) -> np.random.Generator:
    """NumPy's random numbers from a key of JAX."""
    return np.random.default_rng(np.asarray(key, np.uint32).tolist())


def query_policy(
    env: BatchedEnv, policy_fn: Any, player: Ints, observation: Any, legal: Any, *extra_inputs: Ints
) -> tuple[Any, Any]:
    """The policies [N, A] of those who act, and the distributions to sample from.

    Whatever else there is to be `told` [N] is given to them in their rows.
    """
    row, size = assign_player_rows(player, env.num_players)
    seen, exists = lay_out_rows(env, row, size, observation[None], legal)
    more = [np.zeros(len(exists), one.dtype) for one in extra_inputs]
    for room, one in zip(more, extra_inputs, strict=True):
        room[row] = one
    policy, mixed = policy_fn(seen[0], exists, *more)
    return np.asarray(policy)[row], np.asarray(mixed)[row]


def sample_actions(probabilities: Any, draws: Floats) -> Ints:
    """The actions that numbers in [0, 1) fall on; never one of probability 0."""
    passed = np.cumsum(probabilities, axis=1, dtype=np.float64)
    return (passed <= (DRAW_SHRINK_FACTOR * passed[:, -1] * draws)[:, None]).sum(axis=1)


def play_episodes(
    env: BatchedEnv,
    policy_fn: Any,
    rng: np.random.Generator,
    num_episodes: int,
    assign_roles: AssignRoles | None = None,
) -> tuple[RolloutBatch, int]:
    """A batch of episodes, and how many decisions they have.

    With a `cast` those asked are told [P * R] what each decision is played as.
    """
    states, place = env.initial_states(num_episodes), np.arange(num_episodes)
    utility = np.zeros((num_episodes, env.num_players))
    turns: list[tuple[Any, ...]] = []
    while place.size:
        states, turn = env.sample_chance(states, rng)
        over = np.flatnonzero(turn.player == TERMINAL)
        if over.size:
            utility[place[over]] = env.utilities(env.select(states, over))
        here = np.flatnonzero(turn.player >= 0)
        if not here.size:
            break
        if len(turns) == MAX_EPISODE_LENGTH:
            raise GameError(
                f"{get_spec(env.game)}: not over after {MAX_EPISODE_LENGTH:,} decisions"
            )
        player, now, place = turn.player[here], env.select(states, here), place[here]
        legal, number = env.legal_actions(turn, here)
        seen = [
            env.observations(now, np.full(here.size, viewer)) for viewer in range(env.num_players)
        ]
        observation = np.stack(seen)
        own = observation[player, np.arange(here.size)]
        told = () if assign_roles is None else (assign_roles(player, place),)
        policy, mixed = query_policy(env, policy_fn, player, own, legal, *told)
        action = sample_actions(mixed, rng.random(here.size))
        each = np.arange(here.size)
        (plays_as,) = told or (np.zeros(here.size, np.int32),)
        decided = policy, mixed[each, action], action, plays_as
        turns.append((place, player, observation, legal, *decided))
        states = env.next_states(states, turn, here, number[each, action])
    return _collect_rollouts(env, turns, utility)


def _collect_rollouts(
    env: BatchedEnv, turns: list[tuple[Any, ...]], utility: Floats
) -> tuple[RolloutBatch, int]:
    place, player, observation, legal, policy, played, action, plays_as = (
        np.concatenate(parts, axis=1 if parts[0].ndim == 3 else 0)
        for parts in zip(*turns, strict=True)
    )
    longest = -(-len(turns) // TURN_PADDING_MULTIPLE) * TURN_PADDING_MULTIPLE
    row, size = assign_player_rows(player, env.num_players)
    seen, exists = lay_out_rows(env, row, size, observation, legal)
    at = np.repeat(np.arange(len(turns)), [turn[0].size for turn in turns]), place
    shape = longest, len(utility)

    def in_turns(values: Any, otherwise: Any, kind: Any) -> Any:
        room = np.full((*shape, *values.shape[1:]), otherwise, kind)
        room[at] = values
        return room

    episodes = Episodes(
        decision=in_turns(row, 0, np.int32),
        live=in_turns(np.ones(row.size), False, bool),
        player=in_turns(player, -1, np.int32),
        action=in_turns(action, 0, np.int32),
        legal=in_turns(legal, True, bool),
        policy=in_turns(policy, 1.0 / env.num_actions, np.float32),
        sampling_prob=in_turns(played, 1.0, np.float32),
        utility=utility.astype(np.float32),
    )
    return RolloutBatch(seen, exists, episodes, in_turns(plays_as, 0, np.int32)), row.size
