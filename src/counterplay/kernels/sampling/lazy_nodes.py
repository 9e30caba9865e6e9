"""Nodes of compiled rules, expanded when a traversal first visits them.

`node_at` reads them like the rows of a tree. Nodes live for one iteration; infosets keep their
index in the tables. On overflow the traversal stops and `counts[STATUS]` is STATUS_FULL.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from numba import carray, float64, int32, int64, types  # type: ignore[attr-defined]
from numba.extending import intrinsic, overload

from counterplay.kernels.runtime.function_pointers import call_pointer
from counterplay.kernels.runtime.hash_index import find_slot
from counterplay.kernels.runtime.jit import CHANCE, TERMINAL, kernel, no_alloc_kernel
from counterplay.kernels.sampling.primitives import draw_uniform, sample_action

PLAYER, FIRST, CHILD, COUNT, PARENT = range(5)  # columns of `rows`
UNEXPANDED = -3  # player of a node that is not expanded yet
(
    NUM_NODES,
    NUM_TERMINALS,
    NUM_INFOSETS,
    NUM_ENTRIES,
    NUM_CHANCE_DISTRIBUTIONS,
    NUM_HISTORY_ACTIONS,
    STATUS,
) = range(7)  # entries of `counts`
# status, 0 for success: more nodes than the arrays hold; a function of the game raised; utilities
# or chance probabilities are invalid. The largest of several is reported: after a failed function,
# the remaining state is arbitrary and often overflows the arrays
STATUS_FULL, STATUS_BROKEN, INVALID = 1, 2, 3
LARGEST_UTILITY = 1e150  # as in `counterplay.core.rule_checks`
CHANCE_TOLERANCE = 1e-9


class NodeRow(NamedTuple):
    """A node as traversals read it: see `types.GameNodes`."""

    player: Any
    first: Any
    child: Any
    count: Any


class LazyNodes(NamedTuple):
    """Addresses of the functions and arrays of a compiled game.

    The record contains no array, so that traversals count no references. The caller of a kernel
    keeps the arrays alive.
    """

    current_player: Any
    legal_actions: Any
    step: Any
    utilities: Any
    infoset_key: Any
    sample_chance: Any  # 0 if the game has no such function
    storage: Any  # address of the addresses, lengths and widths of the arrays of `LazyNodeStorage`


class LazyNodeStorage(NamedTuple):
    """The parameters of a compiled game, N nodes, and tables of I infosets and S entries."""

    params: Any  # parameters of the game
    rows: Any  # [N, 5] as in `NodeRow`, and the parent
    counts: Any  # [7] numbers of used elements, and the status
    states: Any  # [N, W] states of expanded nodes
    action: Any  # [N] action that leads to the node
    chance: Any  # [N] probability of that action, if chance acts
    utility: Any  # [N, P]
    call_arguments: Any  # [4] player, count, infoset key, unused
    child_range: Any  # [2]
    hash_table: Any  # [power of two] infosets by hash: see `hash_index`
    hash_keys: Any  # [I, 3] key, 0, player
    infoset_entries: Any  # [I, 2] first entry, number of entries
    history_actions: Any  # [.] actions to the first node of each infoset, concatenated
    history_end: Any  # [I + 1]
    chance_distributions: Any  # [., 2] first entry, number of entries
    policy: Any  # [S] as in `types.RegretTables`
    quantile: Any  # [1] argument of `sample_chance`


NUM_ARRAYS = len(LazyNodeStorage._fields)


@intrinsic
def as_pointer(context, address):
    """Return the address as a pointer."""

    def generate(context, builder, signature, operands):
        return builder.inttoptr(operands[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@kernel
def array_1d(addresses, k, dtype):
    """Return array `k`, of one dimension, of the arrays at `addresses` [3 * NUM_ARRAYS]."""
    return carray(as_pointer(addresses[k]), (addresses[NUM_ARRAYS + k],), dtype)


@kernel
def array_2d(addresses, k, dtype):
    """Return array `k`, of two dimensions, of the arrays at `addresses` [3 * NUM_ARRAYS]."""
    return carray(
        as_pointer(addresses[k]), (addresses[NUM_ARRAYS + k], addresses[2 * NUM_ARRAYS + k]), dtype
    )


@kernel
def load_storage(nodes):
    """Return the arrays of a game as a record."""
    at = carray(as_pointer(nodes.storage), (3 * NUM_ARRAYS,), int64)
    return LazyNodeStorage(
        array_1d(at, 0, int64),
        array_2d(at, 1, int64),
        array_1d(at, 2, int64),
        array_2d(at, 3, int32),
        array_1d(at, 4, int64),
        array_1d(at, 5, float64),
        array_2d(at, 6, float64),
        array_1d(at, 7, int64),
        array_1d(at, 8, int64),
        array_1d(at, 9, int32),
        array_2d(at, 10, int64),
        array_2d(at, 11, int64),
        array_1d(at, 12, int32),
        array_1d(at, 13, int64),
        array_2d(at, 14, int64),
        array_1d(at, 15, float64),
        array_1d(at, 16, float64),
    )


@no_alloc_kernel
def find_or_add_infoset(nodes, storage, n, player, count):
    """Return the first entry of a node's infoset; a new infoset gets the next entries."""
    counts, rows, arguments = storage.counts, storage.rows, storage.call_arguments
    arguments[0] = player
    if call_pointer(
        nodes.infoset_key,
        (storage.params, storage.states[n : n + 1], arguments[0:1], arguments[2:3]),
    ):
        counts[STATUS] = max(counts[STATUS], STATUS_BROKEN)
    key = arguments[2]
    slot = find_slot(key, 0, player, storage.hash_table, storage.hash_keys)
    if storage.hash_table[slot] >= 0:
        return storage.infoset_entries[storage.hash_table[slot], 0]
    number, first, depth, ancestor = counts[NUM_INFOSETS], counts[NUM_ENTRIES], 0, n
    while rows[ancestor, PARENT] >= 0:
        ancestor = rows[ancestor, PARENT]
        depth += 1
    full = first + count > storage.policy.size or number >= storage.infoset_entries.shape[0]
    full |= 10 * number > 9 * storage.hash_table.size
    if full or counts[NUM_HISTORY_ACTIONS] + depth > storage.history_actions.size:
        counts[STATUS] = max(counts[STATUS], STATUS_FULL)
        return 0
    storage.hash_table[slot] = number
    storage.hash_keys[number, 0], storage.hash_keys[number, 1], storage.hash_keys[number, 2] = (
        key,
        0,
        player,
    )
    storage.infoset_entries[number, 0], storage.infoset_entries[number, 1] = first, count
    position, ancestor = counts[NUM_HISTORY_ACTIONS] + depth, n
    while rows[ancestor, PARENT] >= 0:
        position -= 1
        storage.history_actions[position] = storage.action[ancestor]
        ancestor = rows[ancestor, PARENT]
    counts[NUM_INFOSETS] += 1
    counts[NUM_ENTRIES] += count
    counts[NUM_HISTORY_ACTIONS] += depth
    storage.history_end[number + 1] = counts[NUM_HISTORY_ACTIONS]
    for s in range(first, first + count):
        storage.policy[s] = 1.0 / count
    return first


@no_alloc_kernel
def find_or_add_chance_distribution(storage, child, count):
    """Return the first entry of a chance distribution in `policy`; equal ones share entries."""
    counts, policy = storage.counts, storage.policy
    for k in range(counts[NUM_CHANCE_DISTRIBUTIONS]):
        first, same = (
            storage.chance_distributions[k, 0],
            storage.chance_distributions[k, 1] == count,
        )
        for c in range(count if same else 0):
            same &= policy[first + c] == storage.chance[child + c]
        if same:
            return first
    first = counts[NUM_ENTRIES]
    if (
        first + count > policy.size
        or counts[NUM_CHANCE_DISTRIBUTIONS] >= storage.chance_distributions.shape[0]
    ):
        counts[STATUS] = max(counts[STATUS], STATUS_FULL)
        return 0
    total = 0.0
    for c in range(count):
        total += storage.chance[child + c] if storage.chance[child + c] >= 0.0 else 2.0
    if not abs(total - 1.0) <= CHANCE_TOLERANCE:
        counts[STATUS] = max(counts[STATUS], INVALID)
    storage.chance_distributions[counts[NUM_CHANCE_DISTRIBUTIONS], 0] = first
    storage.chance_distributions[counts[NUM_CHANCE_DISTRIBUTIONS], 1] = count
    for c in range(count):
        policy[first + c] = storage.chance[child + c]
    counts[NUM_CHANCE_DISTRIBUTIONS] += 1
    counts[NUM_ENTRIES] += count
    return first


@partial(no_alloc_kernel, inline=False)  # traversals read nodes at many points
def expand_node(nodes, n):
    """Compute the state, player, actions and utilities of a node at its first visit."""
    storage = load_storage(nodes)
    params, counts, arguments, rows = (
        storage.params,
        storage.counts,
        storage.call_arguments,
        storage.rows,
    )
    state, ancestor = storage.states[n : n + 1], rows[n, PARENT]
    if ancestor >= 0:
        for w in range(state.shape[1]):
            state[0, w] = storage.states[ancestor, w]
        arguments[0] = rows[ancestor, PLAYER]
        if call_pointer(nodes.step, (params, state, arguments[0:1], storage.action[n : n + 1])):
            counts[STATUS] = max(counts[STATUS], STATUS_BROKEN)
    if call_pointer(nodes.current_player, (params, state, arguments[0:1], arguments[1:2])):
        counts[STATUS] = max(counts[STATUS], STATUS_BROKEN)
    player, count = arguments[0], arguments[1]
    if player == CHANCE and nodes.sample_chance and not counts[STATUS]:
        # `sample_chance_child` makes the children that it draws
        rows[n, PLAYER], rows[n, FIRST], rows[n, CHILD], rows[n, COUNT] = CHANCE, 0, 0, 0
        return
    child = counts[NUM_NODES]
    last = child + count
    if last > rows.shape[0]:
        counts[STATUS] = max(counts[STATUS], STATUS_FULL)
    if counts[STATUS]:
        rows[n, PLAYER], rows[n, FIRST] = TERMINAL, 0
        return
    first = 0
    if player == TERMINAL:
        first = counts[NUM_TERMINALS]
        counts[NUM_TERMINALS] += 1
        if call_pointer(nodes.utilities, (params, state, storage.utility[first : first + 1])):
            counts[STATUS] = max(counts[STATUS], STATUS_BROKEN)
        for p in range(storage.utility.shape[1]):
            if not abs(storage.utility[first, p]) <= LARGEST_UTILITY:  # also catches NaN
                counts[STATUS] = max(counts[STATUS], INVALID)
    else:
        storage.child_range[0], storage.child_range[1] = 0, count
        action, chance = storage.action[child:last], storage.chance[child:last]
        if call_pointer(
            nodes.legal_actions,
            (params, state, arguments[0:1], storage.child_range, action, chance),
        ):
            counts[STATUS] = max(counts[STATUS], STATUS_BROKEN)
        counts[NUM_NODES] = last
        for c in range(child, last):
            rows[c, PLAYER], rows[c, PARENT] = UNEXPANDED, n
        if player == CHANCE:
            first = find_or_add_chance_distribution(storage, child, count)
        else:
            first = find_or_add_infoset(nodes, storage, n, player, count)
    rows[n, PLAYER], rows[n, FIRST], rows[n, CHILD], rows[n, COUNT] = player, first, child, count


@no_alloc_kernel
def get_node(nodes, n):
    """Return node `n`, expanded if necessary."""
    rows = load_storage(nodes).rows
    if rows[n, PLAYER] == UNEXPANDED:
        expand_node(nodes, n)
    return NodeRow(rows[n, PLAYER], rows[n, FIRST], rows[n, CHILD], rows[n, COUNT])


@partial(no_alloc_kernel, inline=False)
def sample_lazy_chance_child(nodes, n, policy, rng):
    """Return the child of chance node `n` at a random outcome.

    With the game's `sample_chance`, only this child is made; the other outcomes are not listed.
    """
    storage = load_storage(nodes)
    rows, counts = storage.rows, storage.counts
    if not nodes.sample_chance:
        return rows[n, CHILD] + sample_action(policy, rows[n, FIRST], rows[n, COUNT], 0.0, rng)
    child = counts[NUM_NODES]
    storage.quantile[0] = draw_uniform(rng)
    if child >= rows.shape[0]:
        counts[STATUS] = max(counts[STATUS], STATUS_FULL)
    elif call_pointer(
        nodes.sample_chance,
        (storage.params, storage.states[n : n + 1], storage.quantile, storage.action[child:]),
    ):
        counts[STATUS] = max(counts[STATUS], STATUS_BROKEN)
    if counts[STATUS]:
        rows[n, PLAYER], rows[n, FIRST] = TERMINAL, 0
        return n
    rows[child, PLAYER], rows[child, PARENT] = UNEXPANDED, n
    counts[NUM_NODES] += 1
    return child


def sample_chance_child(nodes, n, node, policy, rng):
    """Return the child of chance node `n`, whose row is `node`, at a random outcome."""
    return node.child + sample_action(policy, node.first, node.count, 0.0, rng)


@overload(sample_chance_child, jit_options={"error_model": "numpy", "forceinline": True})
def _sample_chance_child(nodes, n, node, policy, rng):
    if isinstance(nodes, types.BaseNamedTuple) and nodes.instance_class is LazyNodes:
        return lambda nodes, n, node, policy, rng: sample_lazy_chance_child(nodes, n, policy, rng)
    return lambda nodes, n, node, policy, rng: (
        node.child + sample_action(policy, node.first, node.count, 0.0, rng)
    )


@no_alloc_kernel
def reset_nodes(nodes):
    """Remove all nodes but the root."""
    storage = load_storage(nodes)
    storage.counts[NUM_NODES], storage.counts[NUM_TERMINALS] = 1, 0
    storage.rows[0, PLAYER], storage.rows[0, PARENT] = UNEXPANDED, -1


def node_at(nodes, n):
    """Return node `n` of the rows of a tree, or of a `LazyNodes`."""
    return nodes[n]


@overload(node_at, jit_options={"error_model": "numpy", "forceinline": True})
def _node_at(nodes, n):
    if isinstance(nodes, types.BaseNamedTuple) and nodes.instance_class is LazyNodes:
        return lambda nodes, n: get_node(nodes, n)
    return lambda nodes, n: nodes[n]


@no_alloc_kernel
def prepare_iteration(nodes, max_new_entries):
    """Remove the nodes of the last iteration if the tables have space for another one.

    An iteration adds at most `max_new_entries` infosets, entries or history actions. Returns False,
    and changes nothing, if the tables are too small.
    """
    storage = load_storage(nodes)
    counts = storage.counts
    if (
        counts[NUM_ENTRIES] + max_new_entries > storage.policy.size
        or counts[NUM_INFOSETS] + max_new_entries > storage.infoset_entries.shape[0]
        or 2 * counts[NUM_INFOSETS] > storage.hash_table.size
        or counts[NUM_HISTORY_ACTIONS] + max_new_entries > storage.history_actions.size
    ):
        return False
    reset_nodes(nodes)
    return True


@no_alloc_kernel
def has_failed(nodes):
    """Return True if the last iteration stopped with an error status."""
    return load_storage(nodes).counts[STATUS] != 0
