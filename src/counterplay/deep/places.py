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

from counterplay.deep import buffers
from counterplay.deep.batches import graph_of_rows
from counterplay.deep.buffers import Buffer
from counterplay.deep.episodes import Episodes
from counterplay.deep.graph import Graph
from counterplay.errors import ConfigError

MOST_BYTES = 8 * 2**30  # of a buffer
LAST = -1  # the place after a player's last decision


class Seen(NamedTuple):
    """A place on rules."""

    observation: jax.Array  # [X]
    legal: jax.Array  # [A]
    code: jax.Array  # [2] the same for the same place, and else different


class Minibatch(NamedTuple):
    """Some decisions of a buffer, with replacement."""

    graph: Graph
    infoset: jax.Array  # [B]
    more: tuple[Any, ...]  # [B, ...] what else was kept of each


def room(graph: Graph, size: int, *more: Any) -> Buffer:
    """Room for so many decisions, of which `more` is kept than where they were made."""
    if not graph.is_batch:
        return buffers.empty(size, (np.int32(0), *more))
    seen = Seen(
        np.zeros(graph.num_features, np.float32),
        np.zeros(graph.max_actions, bool),
        np.zeros(2, np.uint32),
    )
    players, each = graph.num_players, -(-size // graph.num_players)
    needed = players * each * sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves((seen, more)))
    if needed > MOST_BYTES:
        raise ConfigError(
            f"{size:,} decisions with their observations take {needed / 2**30:,.1f} GiB, more than "
            f"{MOST_BYTES / 2**30:.0f}; keep fewer (ring_size, reservoir_size)"
        )

    def zeros(leaf: Any) -> Any:
        return np.zeros((players, each, *np.shape(leaf)), np.asarray(leaf).dtype)

    return Buffer(np.zeros(players, np.int32), jax.tree.map(zeros, (seen, *more)))


def items(graph: Graph, seen: Episodes, which: jax.Array, *more: Any) -> tuple[Any, jax.Array]:
    """Decisions as a buffer takes them, and which [T, B] of them are valid there."""
    if not graph.is_batch:
        infoset = jnp.where(which, graph.infoset[seen.decision], graph.num_infosets)
        flat = [array.reshape(which.size, *array.shape[2:]) for array in (infoset, *more)]
        return tuple(flat), which.reshape(-1)
    observation = graph.observation[graph.own_view]
    place = Seen(observation, graph.legal, code_of(observation, graph.legal))
    rows = [in_rows(graph, seen, array) for array in more]
    by_player = jax.tree.map(
        lambda array: array.reshape(graph.num_players, -1, *array.shape[1:]),
        (place, *rows, in_rows(graph, seen, which)),
    )
    return by_player[:-1], by_player[-1]


def in_rows(graph: Graph, seen: Episodes, values: jax.Array) -> jax.Array:
    """Values [T, B, ...] of the decisions that were met, in the rows of their graph [I, ...]."""
    row = jnp.where(seen.live, seen.decision, graph.num_infosets)
    nothing = jnp.zeros((graph.num_infosets, *values.shape[2:]), values.dtype)
    return nothing.at[row].set(values, mode="drop")


def into_reservoir(graph: Graph, buffer: Buffer, key: jax.Array, new: Any, valid: Any) -> Buffer:
    """The reservoir, after `items` were offered to it."""
    if not graph.is_batch:
        return buffers.into_reservoir(buffer, key, new, valid)
    keys = jax.random.split(key, graph.num_players)
    return jax.vmap(buffers.into_reservoir)(buffer, keys, new, valid)


def into_ring(graph: Graph, buffer: Buffer, new: Any, valid: jax.Array) -> Buffer:
    """The ring with `items` in place of the oldest."""
    if not graph.is_batch:
        return buffers.into_ring(buffer, new, valid)
    return jax.vmap(buffers.into_ring)(buffer, new, valid)


def slots(graph: Graph, ring: Buffer, valid: jax.Array, row: jax.Array) -> jax.Array:
    """Where in its player's ring each row of a batch is going to stand; `LAST` past all rows.

    A ring that is written in the order of rows forgets a decision before those that followed it.
    """
    size = jax.tree.leaves(ring.items)[0].shape[1]
    number = jnp.asarray(ring.seen)[:, None] + jnp.cumsum(valid, axis=1, dtype=jnp.int32) - 1
    return jnp.append((number % size).reshape(-1), LAST)[row]


def draw(graph: Graph, buffer: Buffer, key: jax.Array, batch: int) -> Minibatch:
    """A minibatch of a reservoir."""
    return minibatch(graph, buffer, key, batch, buffers.draw)


def draw_latest(graph: Graph, buffer: Buffer, key: jax.Array, batch: int, part: float) -> Minibatch:
    """A minibatch of the latest part of all that has come by in a ring."""

    def latest(buffer: Buffer, key: jax.Array, batch: int) -> Any:
        return buffers.draw_latest(buffer, key, batch, part)

    return minibatch(graph, buffer, key, batch, latest)


def minibatch(
    graph: Graph, buffer: Buffer, key: jax.Array, batch: int, drawn: Callable[..., Any]
) -> Minibatch:
    if not graph.is_batch:
        infoset, *more = drawn(buffer, key, batch)
        return Minibatch(graph, infoset, tuple(more))
    players = graph.num_players
    each, keys = -(-batch // players), jax.random.split(key, players)
    place, *more = jax.vmap(lambda one, key: drawn(one, key, each))(buffer, keys)
    infoset = jax.vmap(first_equal)(place.code) + each * jnp.arange(players)[:, None]
    flat = tuple(array.reshape(players * each, *array.shape[2:]) for array in more)
    return Minibatch(graph_at(place), infoset.reshape(-1), flat)


def followers(ring: Buffer, after: jax.Array) -> Graph:
    """A row for each place [P * R] of a player's ring; any, past the `LAST` decision."""
    players = jnp.arange(ring.seen.shape[0])[:, None]
    slot = jnp.maximum(after.reshape(players.size, -1), 0)
    return graph_at(jax.tree.map(lambda room: jnp.asarray(room)[players, slot], ring.items[0]))


def graph_at(place: Seen) -> Graph:
    """The graph of places [P, R]; where there is nothing yet all actions exist."""
    players, rows, features = place.observation.shape
    legal = place.legal | ~place.legal.any(-1, keepdims=True)
    seen = place.observation.reshape(1, players * rows, features)
    return graph_of_rows(seen, legal.reshape(players * rows, -1), players)


def code_of(observation: jax.Array, legal: jax.Array) -> jax.Array:
    """64 bits [N, 2] for each place: sums of what its bits, feature by feature, are scrambled to.

    The scrambling is the end of MurmurHash3 (Appleby, 2011).
    """
    bits = jax.lax.bitcast_convert_type(observation.astype(jnp.float32), jnp.uint32)
    bits = jnp.concatenate([bits, legal.astype(jnp.uint32)], axis=1)
    salt = np.random.default_rng(0).integers(2**32, size=(2, bits.shape[1]), dtype=np.uint32)

    def scrambled(bits: jax.Array) -> jax.Array:
        bits = (bits ^ (bits >> 16)) * np.uint32(0x85EBCA6B)
        bits = (bits ^ (bits >> 13)) * np.uint32(0xC2B2AE35)
        return bits ^ (bits >> 16)

    return jnp.stack([scrambled(bits ^ one).sum(1, dtype=jnp.uint32) for one in salt], axis=1)


def first_equal(code: jax.Array) -> jax.Array:
    """For each of R codes [R, 2] the number of one that is equal, the same for all that are."""
    number = jnp.arange(len(code), dtype=jnp.int32)
    one, two, whence = jax.lax.sort([code[:, 0], code[:, 1], number], num_keys=2)
    fresh = jnp.append(True, (one[1:] != one[:-1]) | (two[1:] != two[:-1]))
    start = jax.lax.cummax(jnp.where(fresh, number, 0))
    return jnp.zeros_like(number).at[whence].set(whence[start])
