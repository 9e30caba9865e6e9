"""Nodes of compiled rules, made when a walk looks at them: to kernels they look like a tree's rows.

`node_at` asks either. What is made is forgotten after the iteration; infosets keep their place in
the tables. There is room for so many nodes in an iteration, and no walk goes beyond: past it, all
is over at once, and `counts[PROBLEM]` says so.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from numba import carray, float64, int32, int64, types  # type: ignore[attr-defined]
from numba.extending import intrinsic, overload

from counterplay.kernels.runtime.function_pointers import call_pointer
from counterplay.kernels.runtime.hash_index import find_slot
from counterplay.kernels.runtime.jit import CHANCE, TERMINAL, kernel, no_alloc_kernel

PLAYER, FIRST, CHILD, COUNT, PARENT = range(5)  # columns of `rows`
UNEXPANDED = -3  # player of a node that nobody has looked at
(
    NUM_NODES,
    NUM_TERMINALS,
    NUM_INFOSETS,
    NUM_ENTRIES,
    NUM_CHANCE_DISTRIBUTIONS,
    NUM_HISTORY_ACTIONS,
    STATUS,
) = range(7)  # places in `counts`
# problems: more nodes than there is room for; a function of the machine failed; its utilities or
# chance probabilities are not valid. The largest is told, even where what a failed function left
# behind then fills all room
STATUS_FULL, STATUS_BROKEN, INVALID = 1, 2, 3
LARGEST_UTILITY = 1e150  # as in `rule_checks`
CHANCE_TOLERANCE = 1e-9


class NodeRow(NamedTuple):
    """What a walk sees of a node: see `bundles.Arena`."""

    player: Any
    first: Any
    child: Any
    count: Any


class LazyNodes(NamedTuple):
    """Where a machine's functions and arrays stand: N nodes, I infosets, S entries.

    There is no array in it, so that walks count no references; whoever calls a kernel keeps the
    arrays alive.
    """

    current_player: Any
    legal_actions: Any
    step: Any
    utilities: Any
    infoset_key: Any
    storage: Any  # address of the addresses of all arrays of `Room`, their lengths and their widths


class LazyNodeStorage(NamedTuple):
    """A machine's parameters, and what is made of them."""

    params: Any
    rows: Any  # [N, 5] as in `Node`, and the parent
    counts: Any  # [7] how much is in use
    states: Any  # [N, W] once somebody has looked at the node
    action: Any  # [N] that leads there
    chance: Any  # [N] its probability
    utility: Any  # [N, P]
    call_arguments: Any  # [4] a player, a count, a key, nothing
    child_range: Any  # [2]
    hash_table: Any  # of hashes
    hash_keys: Any  # [I, 3] key, nothing, player
    infoset_entries: Any  # [I, 2] first entry, and how many
    history_actions: (
        Any  # [.] the actions that lead to the first node of every infoset, one after another
    )
    history_end: Any  # [I + 1]
    chance_distributions: Any  # [., 2] first entry, and how many
    policy: Any  # [S] as in `bundles.Table`


NUM_ARRAYS = len(LazyNodeStorage._fields)


@intrinsic
def as_pointer(context, address):
    """The address as a pointer."""

    def generate(context, builder, signature, given):
        return builder.inttoptr(given[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@kernel
def array_1d(addresses, k, dtype):
    """Array `k` of those whose addresses stand at `at`, which has one dimension."""
    return carray(as_pointer(addresses[k]), (addresses[NUM_ARRAYS + k],), dtype)


@kernel
def array_2d(addresses, k, dtype):
    """The same for two dimensions."""
    return carray(
        as_pointer(addresses[k]), (addresses[NUM_ARRAYS + k], addresses[2 * NUM_ARRAYS + k]), dtype
    )


@kernel
def load_storage(nodes):
    """The arrays."""
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
    )


@no_alloc_kernel
def find_or_add_infoset(nodes, room, n, player, count):
    """Where the infoset of a node stands in the tables; a new one gets its place."""
    counts, rows, one = room.counts, room.rows, room.call_arguments
    one[0] = player
    if call_pointer(nodes.infoset_key, (room.params, room.states[n : n + 1], one[0:1], one[2:3])):
        counts[STATUS] = max(counts[STATUS], STATUS_BROKEN)
    key = one[2]
    slot = find_slot(key, 0, player, room.hash_table, room.hash_keys)
    if room.hash_table[slot] >= 0:
        return room.infoset_entries[room.hash_table[slot], 0]
    number, first, depth, above = counts[NUM_INFOSETS], counts[NUM_ENTRIES], 0, n
    while rows[above, PARENT] >= 0:
        above = rows[above, PARENT]
        depth += 1
    full = first + count > room.policy.size or number >= room.infoset_entries.shape[0]
    full |= 10 * number > 9 * room.hash_table.size
    if full or counts[NUM_HISTORY_ACTIONS] + depth > room.history_actions.size:
        counts[STATUS] = max(counts[STATUS], STATUS_FULL)
        return 0
    room.hash_table[slot] = number
    room.hash_keys[number, 0], room.hash_keys[number, 1], room.hash_keys[number, 2] = key, 0, player
    room.infoset_entries[number, 0], room.infoset_entries[number, 1] = first, count
    word, above = counts[NUM_HISTORY_ACTIONS] + depth, n
    while rows[above, PARENT] >= 0:
        word -= 1
        room.history_actions[word] = room.action[above]
        above = rows[above, PARENT]
    counts[NUM_INFOSETS] += 1
    counts[NUM_ENTRIES] += count
    counts[NUM_HISTORY_ACTIONS] += depth
    room.history_end[number + 1] = counts[NUM_HISTORY_ACTIONS]
    for s in range(first, first + count):
        room.policy[s] = 1.0 / count
    return first


@no_alloc_kernel
def find_or_add_chance_distribution(room, child, count):
    """Where the probabilities of chance stand in the policy; equal lotteries once."""
    counts, policy = room.counts, room.policy
    for k in range(counts[NUM_CHANCE_DISTRIBUTIONS]):
        first, same = room.chance_distributions[k, 0], room.chance_distributions[k, 1] == count
        for c in range(count if same else 0):
            same &= policy[first + c] == room.chance[child + c]
        if same:
            return first
    first = counts[NUM_ENTRIES]
    if (
        first + count > policy.size
        or counts[NUM_CHANCE_DISTRIBUTIONS] >= room.chance_distributions.shape[0]
    ):
        counts[STATUS] = max(counts[STATUS], STATUS_FULL)
        return 0
    total = 0.0
    for c in range(count):
        total += room.chance[child + c] if room.chance[child + c] >= 0.0 else 2.0
    if not abs(total - 1.0) <= CHANCE_TOLERANCE:
        counts[STATUS] = max(counts[STATUS], INVALID)
    room.chance_distributions[counts[NUM_CHANCE_DISTRIBUTIONS], 0] = first
    room.chance_distributions[counts[NUM_CHANCE_DISTRIBUTIONS], 1] = count
    for c in range(count):
        policy[first + c] = room.chance[child + c]
    counts[NUM_CHANCE_DISTRIBUTIONS] += 1
    counts[NUM_ENTRIES] += count
    return first


@partial(no_alloc_kernel, inline=False)  # walks look at nodes in many places
def expand_node(nodes, n):
    """Look at a node for the first time."""
    room = load_storage(nodes)
    rules, counts, one, rows = room.params, room.counts, room.call_arguments, room.rows
    state, above = room.states[n : n + 1], rows[n, PARENT]
    if above >= 0:
        for w in range(state.shape[1]):
            state[0, w] = room.states[above, w]
        one[0] = rows[above, PLAYER]
        if call_pointer(nodes.step, (rules, state, one[0:1], room.action[n : n + 1])):
            counts[STATUS] = max(counts[STATUS], STATUS_BROKEN)
    if call_pointer(nodes.current_player, (rules, state, one[0:1], one[1:2])):
        counts[STATUS] = max(counts[STATUS], STATUS_BROKEN)
    player, count = one[0], one[1]
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
        if call_pointer(nodes.utilities, (rules, state, room.utility[first : first + 1])):
            counts[STATUS] = max(counts[STATUS], STATUS_BROKEN)
        for p in range(room.utility.shape[1]):
            if not abs(room.utility[first, p]) <= LARGEST_UTILITY:  # true of NaN too
                counts[STATUS] = max(counts[STATUS], INVALID)
    else:
        room.child_range[0], room.child_range[1] = 0, count
        action, chance = room.action[child:last], room.chance[child:last]
        if call_pointer(
            nodes.legal_actions, (rules, state, one[0:1], room.child_range, action, chance)
        ):
            counts[STATUS] = max(counts[STATUS], STATUS_BROKEN)
        counts[NUM_NODES] = last
        for c in range(child, last):
            rows[c, PLAYER], rows[c, PARENT] = UNEXPANDED, n
        if player == CHANCE:
            first = find_or_add_chance_distribution(room, child, count)
        else:
            first = find_or_add_infoset(nodes, room, n, player, count)
    rows[n, PLAYER], rows[n, FIRST], rows[n, CHILD], rows[n, COUNT] = player, first, child, count


@no_alloc_kernel
def get_node(nodes, n):
    """The node as walks see it."""
    rows = load_storage(nodes).rows
    if rows[n, PLAYER] == UNEXPANDED:
        expand_node(nodes, n)
    return NodeRow(rows[n, PLAYER], rows[n, FIRST], rows[n, CHILD], rows[n, COUNT])


@no_alloc_kernel
def reset_nodes(nodes):
    """Leave nothing but the root."""
    room = load_storage(nodes)
    room.counts[NUM_NODES], room.counts[NUM_TERMINALS] = 1, 0
    room.rows[0, PLAYER], room.rows[0, PARENT] = UNEXPANDED, -1


def node_at(nodes, n):
    """Node `n` of a tree's rows, or of compiled rules."""
    return nodes[n]


@overload(node_at, jit_options={"error_model": "numpy", "forceinline": True})
def _node_at(nodes, n):
    if isinstance(nodes, types.BaseNamedTuple) and nodes.instance_class is LazyNodes:
        return lambda nodes, n: get_node(nodes, n)
    return lambda nodes, n: nodes[n]


@no_alloc_kernel
def prepare_iteration(nodes, max_new_entries):
    """Forget the last iteration, if tables can take what the next may meet; whether they can.

    That is at most `most` infosets or entries.
    """
    room = load_storage(nodes)
    counts = room.counts
    if (
        counts[NUM_ENTRIES] + max_new_entries > room.policy.size
        or counts[NUM_INFOSETS] + max_new_entries > room.infoset_entries.shape[0]
        or 2 * counts[NUM_INFOSETS] > room.hash_table.size
        or counts[NUM_HISTORY_ACTIONS] + max_new_entries > room.history_actions.size
    ):
        return False
    reset_nodes(nodes)
    return True


@no_alloc_kernel
def has_failed(nodes):
    """Whether there was not enough room for an iteration."""
    return load_storage(nodes).counts[STATUS] != 0
