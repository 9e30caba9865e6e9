"""Where decisions were made, as buffers keep it: on a tree an infoset, on rules what was seen.

A minibatch comes with the graph in which its infosets are numbered: the tree's, or one of its own,
in which equal observations are one infoset. So whatever learns from a minibatch learns in the same
words. On rules every player has a buffer of its own, with an equal part of the room and of every
minibatch, since networks are asked for rows that stand side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common import buffers
from counterplay.algorithms.deep.common.buffers import ReplayBuffer
from counterplay.algorithms.deep.common.episodes import Episodes
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.rollouts import graph_from_rows
from counterplay.errors import ConfigError

MAX_BUFFER_BYTES = 8 * 2**30  # of a buffer
NO_NEXT_DECISION = -1  # the place after a player's last decision


class ObservedInfoset(NamedTuple):
    """A place on rules."""

    observation: jax.Array  # [X]
    legal: jax.Array  # [A]
    hash_bits: jax.Array  # [2] the same for the same place, and else different


class Minibatch(NamedTuple):
    """Some decisions of a buffer, with replacement."""

    graph: Graph
    infoset: jax.Array  # [B]
    extra_fields: tuple[Any, ...]  # [B, ...] what else was kept of each


def new_replay_buffer(graph: Graph, size: int, *extra_fields: Any) -> ReplayBuffer:
    """Room for so many decisions, of which `extra_fields` is kept than where they were made."""
    if not graph.is_rollout_batch:
        return buffers.empty_buffer(size, (np.int32(0), *extra_fields))
    seen = ObservedInfoset(
        np.zeros(graph.num_features, np.float32),
        np.zeros(graph.max_actions, bool),
        np.zeros(2, np.uint32),
    )
    players, each = graph.num_players, -(-size // graph.num_players)
    needed = (
        players
        * each
        * sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves((seen, extra_fields)))
    )
    if needed > MAX_BUFFER_BYTES:
        raise ConfigError(
            f"{size:,} decisions with their observations take {needed / 2**30:,.1f} GiB, more than "
            f"{MAX_BUFFER_BYTES / 2**30:.0f}; keep fewer (replay_buffer_size, reservoir_size)"
        )

    def zeros(leaf: Any) -> Any:
        return np.zeros((players, each, *np.shape(leaf)), np.asarray(leaf).dtype)

    return ReplayBuffer(np.zeros(players, np.int32), jax.tree.map(zeros, (seen, *extra_fields)))


def buffer_items(
    graph: Graph, episodes: Episodes, mask: jax.Array, *extra_fields: Any
) -> tuple[Any, jax.Array]:
    """Decisions as a buffer takes them, and which [T, B] of them are valid there."""
    if not graph.is_rollout_batch:
        infoset = jnp.where(mask, graph.infoset[episodes.decision], graph.num_infosets)
        flat = [array.reshape(mask.size, *array.shape[2:]) for array in (infoset, *extra_fields)]
        return tuple(flat), mask.reshape(-1)
    observation = graph.observation[graph.own_observation_row]
    place = ObservedInfoset(observation, graph.legal, hash_infosets(observation, graph.legal))
    rows = [scatter_to_rows(graph, episodes, array) for array in extra_fields]
    by_player = jax.tree.map(
        lambda array: array.reshape(graph.num_players, -1, *array.shape[1:]),
        (place, *rows, scatter_to_rows(graph, episodes, mask)),
    )
    return by_player[:-1], by_player[-1]


def scatter_to_rows(graph: Graph, episodes: Episodes, values: jax.Array) -> jax.Array:
    """Values [T, B, ...] of the decisions that were met, in the rows of their graph [I, ...]."""
    row = jnp.where(episodes.live, episodes.decision, graph.num_infosets)
    nothing = jnp.zeros((graph.num_infosets, *values.shape[2:]), values.dtype)
    return nothing.at[row].set(values, mode="drop")


def add_to_reservoir(
    graph: Graph, buffer: ReplayBuffer, key: jax.Array, new_items: Any, valid: Any
) -> ReplayBuffer:
    """The reservoir, after `items` were offered to it."""
    if not graph.is_rollout_batch:
        return buffers.add_to_reservoir(buffer, key, new_items, valid)
    keys = jax.random.split(key, graph.num_players)
    return jax.vmap(buffers.add_to_reservoir)(buffer, keys, new_items, valid)


def add_to_ring(
    graph: Graph, buffer: ReplayBuffer, new_items: Any, valid: jax.Array
) -> ReplayBuffer:
    """The ring with `items` in place of the oldest."""
    if not graph.is_rollout_batch:
        return buffers.add_to_ring(buffer, new_items, valid)
    return jax.vmap(buffers.add_to_ring)(buffer, new_items, valid)


def ring_slots(
    graph: Graph, replay_buffer: ReplayBuffer, valid: jax.Array, row: jax.Array
) -> jax.Array:
    """Where in its player's ring each row of a batch is going to stand; `LAST` past all rows.

    A ring that is written in the order of rows forgets a decision before those that followed it.
    """
    size = jax.tree.leaves(replay_buffer.items)[0].shape[1]
    number = (
        jnp.asarray(replay_buffer.num_seen)[:, None]
        + jnp.cumsum(valid, axis=1, dtype=jnp.int32)
        - 1
    )
    return jnp.append((number % size).reshape(-1), NO_NEXT_DECISION)[row]


def sample_minibatch(
    graph: Graph, buffer: ReplayBuffer, key: jax.Array, batch_size: int
) -> Minibatch:
    """A minibatch of a reservoir."""
    return build_minibatch(graph, buffer, key, batch_size, buffers.sample_items)


def sample_recent_minibatch(
    graph: Graph, buffer: ReplayBuffer, key: jax.Array, batch_size: int, recent_fraction: float
) -> Minibatch:
    """A minibatch of the latest part of all that has come by in a ring."""

    def latest(buffer: ReplayBuffer, key: jax.Array, batch: int) -> Any:
        return buffers.sample_recent_items(buffer, key, batch, recent_fraction)

    return build_minibatch(graph, buffer, key, batch_size, latest)


def build_minibatch(
    graph: Graph,
    buffer: ReplayBuffer,
    key: jax.Array,
    batch_size: int,
    sample_fn: Callable[..., Any],
) -> Minibatch:
    if not graph.is_rollout_batch:
        infoset, *more = sample_fn(buffer, key, batch_size)
        return Minibatch(graph, infoset, tuple(more))
    players = graph.num_players
    each, keys = -(-batch_size // players), jax.random.split(key, players)
    place, *more = jax.vmap(lambda one, key: sample_fn(one, key, each))(buffer, keys)
    infoset = jax.vmap(group_equal_hashes)(place.hash_bits) + each * jnp.arange(players)[:, None]
    flat = tuple(array.reshape(players * each, *array.shape[2:]) for array in more)
    return Minibatch(graph_from_infosets(place), infoset.reshape(-1), flat)


def next_decision_graph(replay_buffer: ReplayBuffer, next_slot: jax.Array) -> Graph:
    """A row for each place [P * R] of a player's ring; any, past the `LAST` decision."""
    players = jnp.arange(replay_buffer.num_seen.shape[0])[:, None]
    slot = jnp.maximum(next_slot.reshape(players.size, -1), 0)
    return graph_from_infosets(
        jax.tree.map(lambda room: jnp.asarray(room)[players, slot], replay_buffer.items[0])
    )


def graph_from_infosets(infosets: ObservedInfoset) -> Graph:
    """The graph of places [P, R]; where there is nothing yet all actions exist."""
    players, rows, features = infosets.observation.shape
    legal = infosets.legal | ~infosets.legal.any(-1, keepdims=True)
    seen = infosets.observation.reshape(1, players * rows, features)
    return graph_from_rows(seen, legal.reshape(players * rows, -1), players)


def hash_infosets(observation: jax.Array, legal: jax.Array) -> jax.Array:
    """64 bits [N, 2] for each place: sums of what its bits, feature by feature, are scrambled to.

    The scrambling is the end of MurmurHash3 (Appleby, 2011).
    """
    bits = jax.lax.bitcast_convert_type(observation.astype(jnp.float32), jnp.uint32)
    bits = jnp.concatenate([bits, legal.astype(jnp.uint32)], axis=1)
    salt = np.random.default_rng(0).integers(2**32, size=(2, bits.shape[1]), dtype=np.uint32)

    def scramble(bits: jax.Array) -> jax.Array:
        bits = (bits ^ (bits >> 16)) * np.uint32(0x85EBCA6B)
        bits = (bits ^ (bits >> 13)) * np.uint32(0xC2B2AE35)
        return bits ^ (bits >> 16)

    return jnp.stack([scramble(bits ^ one).sum(1, dtype=jnp.uint32) for one in salt], axis=1)


def group_equal_hashes(hash_bits: jax.Array) -> jax.Array:
    """For each of R codes [R, 2] the number of one that is equal, the same for all that are."""
    number = jnp.arange(len(hash_bits), dtype=jnp.int32)
    one, two, whence = jax.lax.sort([hash_bits[:, 0], hash_bits[:, 1], number], num_keys=2)
    fresh = jnp.append(True, (one[1:] != one[:-1]) | (two[1:] != two[:-1]))
    start = jax.lax.cummax(jnp.where(fresh, number, 0))
    return jnp.zeros_like(number).at[whence].set(whence[start])
