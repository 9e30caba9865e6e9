"""Replay buffers of decisions, on trees and on rules.

On a tree a decision is stored by the index of its infoset. On rules it is stored with its
observation and its legal actions, in a buffer of its own for each player, which gets an equal part
of the capacity and of every minibatch. A minibatch comes with the graph whose infosets it refers
to: the tree's, or a small one made from the sampled observations, in which equal observations are
one infoset. An algorithm that learns from minibatches is therefore the same on both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.algorithms.deep.common import buffers
from counterplay.algorithms.deep.common.batched_env import BatchedEnv
from counterplay.algorithms.deep.common.buffers import ReplayBuffer
from counterplay.algorithms.deep.common.episodes import Episodes
from counterplay.algorithms.deep.common.graph import Graph
from counterplay.algorithms.deep.common.rollouts import RolloutBatch, graph_from_rows
from counterplay.core.arena import Ints
from counterplay.errors import ConfigError

MIN_GROUPED_ROWS = 64  # fewer rows are evaluated one by one
ROWS_PER_NEXT_INFOSET = 4  # a minibatch rarely has more distinct next infosets than rows / this
MAX_BUFFER_BYTES = 8 * 2**30  # of one buffer
HASH_SLOTS_PER_ROW = 16  # of a hash table for the rows of a minibatch
NO_NEXT_DECISION = -1  # the slot after a player's last decision of an episode

SampleFunction = Callable[[ReplayBuffer, jax.Array, int], Any]


class ObservedInfoset(NamedTuple):
    """An infoset on rules."""

    observation: jax.Array  # [X]
    legal: jax.Array  # [A]
    hash_bits: jax.Array  # [2] equal for equal infosets only, up to collisions of 64 bits


class Minibatch(NamedTuple):
    """Decisions of a buffer, sampled with replacement."""

    graph: Graph
    infoset: jax.Array  # [B]
    extra_fields: tuple[Any, ...]  # [B, ...] stored with each decision


class BufferLayout(Protocol):
    """The form in which decisions are stored."""

    def new_buffer(self, graph: Graph, size: int, extra_fields: tuple[Any, ...]) -> ReplayBuffer:
        """Return an empty buffer."""
        ...

    def items(
        self, graph: Graph, episodes: Episodes, mask: jax.Array, extra_fields: tuple[Any, ...]
    ) -> tuple[Any, jax.Array]:
        """Return decisions in the form of the buffer, and a mask of those to store."""
        ...

    def add_to_reservoir(
        self, buffer: ReplayBuffer, key: jax.Array, new_items: Any, valid: jax.Array
    ) -> ReplayBuffer:
        """Return the reservoir after items were offered."""
        ...

    def add_to_ring(self, buffer: ReplayBuffer, new_items: Any, valid: jax.Array) -> ReplayBuffer:
        """Return the ring with items in place of the oldest."""
        ...

    def minibatch(
        self,
        graph: Graph,
        buffer: ReplayBuffer,
        key: jax.Array,
        batch_size: int,
        sample: SampleFunction,
    ) -> Minibatch:
        """Return a minibatch of items drawn by `sample`."""
        ...

    def next_items(
        self,
        graph: Graph,
        ring: ReplayBuffer,
        episodes: Episodes,
        mask: jax.Array,
        next_infoset: jax.Array,
    ) -> jax.Array:
        """Return the field of a transition that refers to the next own decision [T, B]."""
        ...

    def item_infosets(self, buffer: ReplayBuffer, minibatch: Minibatch) -> jax.Array:
        """Return the infosets of a minibatch [B]; past the last for an item that is not stored."""
        ...


class InfosetLayout:
    """One buffer for all players, in which a decision is the index of its infoset in a tree."""

    def new_buffer(self, graph: Graph, size: int, extra_fields: tuple[Any, ...]) -> ReplayBuffer:
        return buffers.empty_buffer(size, (np.int32(0), *extra_fields))

    def items(
        self, graph: Graph, episodes: Episodes, mask: jax.Array, extra_fields: tuple[Any, ...]
    ) -> tuple[Any, jax.Array]:
        infoset = jnp.where(mask, graph.infoset[episodes.decision], graph.num_infosets)
        flat = [array.reshape(mask.size, *array.shape[2:]) for array in (infoset, *extra_fields)]
        return tuple(flat), mask.reshape(-1)

    def add_to_reservoir(
        self, buffer: ReplayBuffer, key: jax.Array, new_items: Any, valid: jax.Array
    ) -> ReplayBuffer:
        return buffers.add_to_reservoir(buffer, key, new_items, valid)

    def add_to_ring(self, buffer: ReplayBuffer, new_items: Any, valid: jax.Array) -> ReplayBuffer:
        return buffers.add_to_ring(buffer, new_items, valid)

    def minibatch(
        self,
        graph: Graph,
        buffer: ReplayBuffer,
        key: jax.Array,
        batch_size: int,
        sample: SampleFunction,
    ) -> Minibatch:
        infoset, *extra_fields = sample(buffer, key, batch_size)
        return Minibatch(graph, infoset, tuple(extra_fields))

    def next_items(
        self,
        graph: Graph,
        ring: ReplayBuffer,
        episodes: Episodes,
        mask: jax.Array,
        next_infoset: jax.Array,
    ) -> jax.Array:
        return next_infoset

    def item_infosets(self, buffer: ReplayBuffer, minibatch: Minibatch) -> jax.Array:
        return minibatch.infoset


class ObservationLayout:
    """One buffer per player, stacked, in which a decision is its observation and legal actions."""

    def new_buffer(self, graph: Graph, size: int, extra_fields: tuple[Any, ...]) -> ReplayBuffer:
        infoset = (
            np.zeros(graph.num_features, np.float32),
            np.zeros(graph.max_actions, bool),
            np.zeros(2, np.uint32),
        )
        players, each = graph.num_players, -(-size // graph.num_players)
        item_bytes = sum(
            np.asarray(leaf).nbytes for leaf in jax.tree.leaves((infoset, extra_fields))
        )
        needed = players * each * item_bytes
        if needed > MAX_BUFFER_BYTES:
            raise ConfigError(
                f"{size:,} decisions with their observations take {needed / 2**30:,.1f} GiB, more "
                f"than {MAX_BUFFER_BYTES / 2**30:.0f}; keep fewer (replay_buffer_size, "
                "reservoir_size)"
            )

        def zeros(leaf: Any) -> Any:
            return np.zeros((players, each, *np.shape(leaf)), np.asarray(leaf).dtype)

        num_seen: Any = np.zeros(players, np.int32)
        observed = ObservedInfoset(*map(zeros, infoset))
        return ReplayBuffer(num_seen, (observed, *jax.tree.map(zeros, extra_fields)))

    def items(
        self, graph: Graph, episodes: Episodes, mask: jax.Array, extra_fields: tuple[Any, ...]
    ) -> tuple[Any, jax.Array]:
        observation = graph.observation[graph.own_observation_row]
        hash_bits = hash_infosets(observation, graph.legal)
        infoset = ObservedInfoset(observation, graph.legal, hash_bits)
        rows = [scatter_to_rows(graph, episodes, array) for array in (*extra_fields, mask)]
        by_player = jax.tree.map(
            lambda array: array.reshape(graph.num_players, -1, *array.shape[1:]), (infoset, *rows)
        )
        return by_player[:-1], by_player[-1]

    def add_to_reservoir(
        self, buffer: ReplayBuffer, key: jax.Array, new_items: Any, valid: jax.Array
    ) -> ReplayBuffer:
        keys = jax.random.split(key, buffer.num_seen.shape[0])
        stacked: ReplayBuffer = jax.vmap(buffers.add_to_reservoir)(buffer, keys, new_items, valid)
        return stacked

    def add_to_ring(self, buffer: ReplayBuffer, new_items: Any, valid: jax.Array) -> ReplayBuffer:
        stacked: ReplayBuffer = jax.vmap(buffers.add_to_ring)(buffer, new_items, valid)
        return stacked

    def minibatch(
        self,
        graph: Graph,
        buffer: ReplayBuffer,
        key: jax.Array,
        batch_size: int,
        sample: SampleFunction,
    ) -> Minibatch:
        players = graph.num_players
        each, keys = -(-batch_size // players), jax.random.split(key, players)
        infosets, *rest = jax.vmap(lambda part, part_key: sample(part, part_key, each))(
            buffer, keys
        )
        first = each * jnp.arange(players)[:, None]
        infoset = group_equal_infosets(infosets.hash_bits) + first
        flat = tuple(array.reshape(players * each, *array.shape[2:]) for array in rest)
        return Minibatch(graph_from_infosets(infosets), infoset.reshape(-1), flat)

    def next_items(
        self,
        graph: Graph,
        ring: ReplayBuffer,
        episodes: Episodes,
        mask: jax.Array,
        next_infoset: jax.Array,
    ) -> jax.Array:
        _, valid = self.items(graph, episodes, mask, ())
        return ring_slots(graph, ring, valid, next_infoset)

    def item_infosets(self, buffer: ReplayBuffer, minibatch: Minibatch) -> jax.Array:
        """Leave out players without any stored decision, whose samples are zeros."""
        graph = minibatch.graph
        has_data = (jnp.asarray(buffer.num_seen) > 0)[graph.infoset_player]
        return jnp.where(has_data, minibatch.infoset, graph.num_infosets)


INFOSET_LAYOUT, OBSERVATION_LAYOUT = InfosetLayout(), ObservationLayout()


def buffer_layout(graph: Graph) -> BufferLayout:
    """Return the layout for a tree, or for a batch of episodes on rules."""
    return OBSERVATION_LAYOUT if graph.is_rollout_batch else INFOSET_LAYOUT


def new_replay_buffer(graph: Graph, size: int, *extra_fields: Any) -> ReplayBuffer:
    """Return an empty buffer for `size` decisions; `extra_fields` are examples of other fields."""
    return buffer_layout(graph).new_buffer(graph, size, extra_fields)


def buffer_items(
    graph: Graph, episodes: Episodes, mask: jax.Array, *extra_fields: Any
) -> tuple[Any, jax.Array]:
    """Return the decisions of episodes as items of a buffer, and a mask of those to store.

    Args:
        graph: the graph of the episodes.
        episodes: the episodes.
        mask: decisions to store [T, B].
        *extra_fields: other fields of each decision [T, B, ...].
    """
    return buffer_layout(graph).items(graph, episodes, mask, extra_fields)


def scatter_to_rows(graph: Graph, episodes: Episodes, values: jax.Array) -> jax.Array:
    """Return values of decisions [T, B, ...] in the rows of their graph [I, ...]."""
    row = jnp.where(episodes.live, episodes.decision, graph.num_infosets)
    zeros = jnp.zeros((graph.num_infosets, *values.shape[2:]), values.dtype)
    return zeros.at[row].set(values, mode="drop")


def add_to_reservoir(
    graph: Graph, buffer: ReplayBuffer, key: jax.Array, new_items: Any, valid: Any
) -> ReplayBuffer:
    """Return the reservoir after the `valid` items were offered."""
    return buffer_layout(graph).add_to_reservoir(buffer, key, new_items, valid)


def add_to_ring(
    graph: Graph, buffer: ReplayBuffer, new_items: Any, valid: jax.Array
) -> ReplayBuffer:
    """Return the ring with the `valid` items in place of the oldest."""
    return buffer_layout(graph).add_to_ring(buffer, new_items, valid)


def next_items(
    graph: Graph,
    ring: ReplayBuffer,
    episodes: Episodes,
    mask: jax.Array,
    next_infoset: jax.Array,
) -> jax.Array:
    """Return references to the next own decisions [T, B] as a ring stores them.

    Args:
        graph: the graph of the episodes.
        ring: the ring before these decisions are added.
        episodes: the episodes.
        mask: decisions to store [T, B].
        next_infoset: the next own infoset after each decision [T, B].
    """
    return buffer_layout(graph).next_items(graph, ring, episodes, mask, next_infoset)


def item_infosets(graph: Graph, buffer: ReplayBuffer, minibatch: Minibatch) -> jax.Array:
    """Return the infosets of a minibatch [B]; past the last for an item that is not stored."""
    return buffer_layout(graph).item_infosets(buffer, minibatch)


def ring_slots(
    graph: Graph, replay_buffer: ReplayBuffer, valid: jax.Array, row: jax.Array
) -> jax.Array:
    """Return the slots that rows of a batch will have in their player's ring on rules.

    A row past the last one has the slot `NO_NEXT_DECISION`. Rows are written in order, so that a
    ring forgets a decision before the decisions that followed it.
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
    """Return a minibatch of all decisions in a buffer."""
    layout = buffer_layout(graph)
    return layout.minibatch(graph, buffer, key, batch_size, buffers.sample_items)


def sample_recent_minibatch(
    graph: Graph, buffer: ReplayBuffer, key: jax.Array, batch_size: int, recent_fraction: float
) -> Minibatch:
    """Return a minibatch of the latest decisions in a ring: see `buffers.sample_recent_items`."""

    def sample_recent(buffer: ReplayBuffer, key: jax.Array, count: int) -> Any:
        return buffers.sample_recent_items(buffer, key, count, recent_fraction)

    return buffer_layout(graph).minibatch(graph, buffer, key, batch_size, sample_recent)


def next_decision_values(
    replay_buffer: ReplayBuffer, next_slot: jax.Array, evaluate: Callable[[Graph], jax.Array]
) -> jax.Array:
    """Return the values [P * R] of decisions in slots [P * R] of the players' rings on rules.

    Those of the slot `NO_NEXT_DECISION` are arbitrary. Equal infosets are evaluated once if they
    are few.

    Args:
        replay_buffer: the rings.
        next_slot: the slots, in equal parts for each player.
        evaluate: returns the values [I] of the infosets of a graph.
    """
    players = jnp.arange(replay_buffer.num_seen.shape[0])[:, None]
    slot = jnp.maximum(next_slot.reshape(players.size, -1), 0)
    infosets = jax.tree.map(jnp.asarray, replay_buffer.items[0])
    num_rows = slot.shape[1]

    def run(slot: jax.Array) -> jax.Array:
        rows = jax.tree.map(lambda array: array[players, slot], infosets)
        return evaluate(graph_from_infosets(rows)).reshape(slot.shape)

    few = num_rows // ROWS_PER_NEXT_INFOSET
    if num_rows < MIN_GROUPED_ROWS:
        return run(slot).reshape(-1)
    first = group_equal_infosets(infosets.hash_bits[players, slot])
    is_first = first == jnp.arange(num_rows)

    def run_distinct() -> jax.Array:
        chosen = [jnp.nonzero(mask, size=few, fill_value=0)[0] for mask in is_first]
        values = run(jnp.take_along_axis(slot, jnp.stack(chosen), axis=1))
        rank = jnp.cumsum(is_first, axis=1) - 1
        return jnp.take_along_axis(values, jnp.take_along_axis(rank, first, axis=1), axis=1)

    fits = is_first.sum(axis=1).max() <= few
    return jax.lax.cond(fits, run_distinct, lambda: run(slot)).reshape(-1)


def graph_from_infosets(infosets: ObservedInfoset) -> Graph:
    """Return the graph of infosets [P, R]; in slots not yet filled, all actions are legal."""
    players, rows, features = infosets.observation.shape
    legal = infosets.legal | ~infosets.legal.any(-1, keepdims=True)
    observation = infosets.observation.reshape(1, players * rows, features)
    return graph_from_rows(observation, legal.reshape(players * rows, -1), players)


def hash_infosets(observation: jax.Array, legal: jax.Array) -> jax.Array:
    """Return 64 bits [N, 2] for each infoset.

    Each is a sum over the features of scrambled bits; the scrambling is the last step of
    MurmurHash3 (Appleby, 2011).
    """
    bits = jax.lax.bitcast_convert_type(observation.astype(jnp.float32), jnp.uint32)
    bits = jnp.concatenate([bits, legal.astype(jnp.uint32)], axis=1)
    salts = np.random.default_rng(0).integers(2**32, size=(2, bits.shape[1]), dtype=np.uint32)

    def scramble(bits: jax.Array) -> jax.Array:
        bits = (bits ^ (bits >> 16)) * np.uint32(0x85EBCA6B)
        bits = (bits ^ (bits >> 13)) * np.uint32(0xC2B2AE35)
        return bits ^ (bits >> 16)

    return jnp.stack([scramble(bits ^ salt).sum(1, dtype=jnp.uint32) for salt in salts], axis=1)


def group_equal_infosets(hash_bits: jax.Array) -> jax.Array:
    """Return for each of R hashes of every player [P, R, 2] the index of the first equal one."""
    return jnp.stack([group_equal_hashes(own_bits) for own_bits in hash_bits])


def group_equal_hashes(hash_bits: jax.Array) -> jax.Array:
    """Return for each of R hashes [R, 2] the index of the first equal one.

    Two hash tables find it, or sorting if different hashes share their slots in both. A sort of
    2,048 hashes takes a few times as long as the tables.
    """
    index = jnp.arange(len(hash_bits), dtype=jnp.int32)
    table_size = 1 << (HASH_SLOTS_PER_ROW * len(hash_bits)).bit_length()
    first, is_found = index, jnp.zeros(index.shape, bool)
    for bits in hash_bits.T:
        slot = (bits % np.uint32(table_size)).astype(jnp.int32)
        table = jnp.full(table_size, len(index), jnp.int32)
        table = table.at[jnp.where(is_found, table_size, slot)].min(index, mode="drop")
        candidate = jnp.where(is_found, first, table[slot])
        is_equal = (hash_bits[candidate] == hash_bits).all(-1)
        first = jnp.where(is_found | is_equal, candidate, first)
        is_found |= is_equal
    found: jax.Array = jax.lax.cond(
        is_found.all(), lambda: first, lambda: _group_by_sorting(hash_bits)
    )
    return found


def _group_by_sorting(hash_bits: jax.Array) -> jax.Array:
    """Return for each of R hashes [R, 2] the index of the first equal one, by sorting them."""
    index = jnp.arange(len(hash_bits), dtype=jnp.int32)
    high, low, order = jax.lax.sort([hash_bits[:, 0], hash_bits[:, 1], index], num_keys=2)
    is_first = jnp.append(True, (high[1:] != high[:-1]) | (low[1:] != low[:-1]))
    start = jax.lax.cummax(jnp.where(is_first, index, 0))
    return jnp.zeros_like(index).at[order].set(order[start])


class Transitions(NamedTuple):
    """A host ring of the latest M decisions on rules, and their outcomes.

    The decisions of an episode are stored one after the other, so that a decision is followed by
    the next row, unless it is the last of its episode. The newest row always ends an episode; the
    oldest episode may have lost its beginning.
    """

    num_seen: Ints  # [1] decisions offered so far
    observation: Any  # [M, P, X] of every player
    last_action: Ints  # [M, P] every player's last action; -1 before its first
    player: Ints  # [M] the acting player
    legal: Any  # [M, A]
    action: Ints  # [M]
    is_last_decision: Any  # [M] of its episode
    utility: Any  # [M, P] at the end of the episode
    weight: Any  # [M] relative frequency with which the decision is sampled


def transition_bytes(env: BatchedEnv) -> int:
    """Return the bytes of one decision in `Transitions`."""
    players, features = env.num_players, env.num_features
    return 4 * players * (features + 2) + env.num_actions + 16


def new_transitions(env: BatchedEnv, size: int) -> Transitions:
    """Return an empty ring for `size` decisions."""
    players, features = env.num_players, env.num_features
    return Transitions(
        np.zeros(1, np.int64),
        np.zeros((size, players, features), np.float32),
        np.full((size, players), -1, np.int32),
        np.zeros(size, np.int32),
        np.ones((size, env.num_actions), bool),
        np.zeros(size, np.int32),
        np.ones(size, bool),
        np.zeros((size, players), np.float32),
        np.zeros(size, np.float32),
    )


def add_transitions(transitions: Transitions, rollouts: RolloutBatch, last_action: Ints) -> None:
    """Write the decisions of a batch of episodes in place of the oldest, with weight 1.

    Args:
        transitions: the ring, changed in place.
        rollouts: the episodes.
        last_action: every player's last action before each decision [T, B, P].
    """
    episodes = rollouts.episodes
    episode, turn = np.nonzero(np.asarray(episodes.live).T)  # episode by episode
    row = np.asarray(episodes.decision)[turn, episode]
    rows = (
        rollouts.observation[:, row].swapaxes(0, 1),
        last_action[turn, episode],
        episodes.player[turn, episode],
        rollouts.legal[row],
        episodes.action[turn, episode],
        np.append(episode[1:] != episode[:-1], True),
        episodes.utility[episode],
        np.ones(row.size, np.float32),
    )
    buffers.add_rows_to_ring(transitions.num_seen, transitions[1:], rows)
