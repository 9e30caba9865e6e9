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

from counterplay.kernels.compiling import CHANCE, TERMINAL, bare_kernel, kernel
from counterplay.kernels.numbering import slot_of
from counterplay.kernels.pointers import call

PLAYER, FIRST, CHILD, COUNT, PARENT = range(5)  # columns of `rows`
UNKNOWN = -3  # player of a node that nobody has looked at
NODES, ENDS, INFOSETS, ENTRIES, LOTTERIES, WORDS, PROBLEM = range(7)  # places in `counts`
# problems: more nodes than there is room for; a function of the machine failed; its utilities or
# chance probabilities are not valid. The largest is told, even where what a failed function left
# behind then fills all room
FULL, BROKEN, INVALID = 1, 2, 3
LARGEST_UTILITY = 1e150  # as in `rule_checks`
CHANCE_TOLERANCE = 1e-9


class Node(NamedTuple):
    """What a walk sees of a node: see `bundles.Arena`."""

    player: Any
    first: Any
    child: Any
    count: Any


class Lazy(NamedTuple):
    """Where a machine's functions and arrays stand: N nodes, I infosets, S entries.

    There is no array in it, so that walks count no references; whoever calls a kernel keeps the
    arrays alive.
    """

    look: Any
    offer: Any
    step: Any
    pay: Any
    see: Any
    room: Any  # address of the addresses of all arrays of `Room`, their lengths and their widths


class Room(NamedTuple):
    """A machine's parameters, and what is made of them."""

    rules: Any
    rows: Any  # [N, 5] as in `Node`, and the parent
    counts: Any  # [7] how much is in use
    states: Any  # [N, W] once somebody has looked at the node
    action: Any  # [N] that leads there
    chance: Any  # [N] its probability
    utility: Any  # [N, P]
    one: Any  # [4] a player, a count, a key, nothing
    ends: Any  # [2]
    table: Any  # of hashes
    known: Any  # [I, 3] key, nothing, player
    place: Any  # [I, 2] first entry, and how many
    words: Any  # [.] the actions that lead to the first node of every infoset, one after another
    last_word: Any  # [I + 1]
    lotteries: Any  # [., 2] first entry, and how many
    policy: Any  # [S] as in `bundles.Table`


ARRAYS = len(Room._fields)


@intrinsic
def pointer_to(context, address):
    """The address as a pointer."""

    def generate(context, builder, signature, given):
        return builder.inttoptr(given[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@kernel
def row_of(at, k, kind):
    """Array `k` of those whose addresses stand at `at`, which has one dimension."""
    return carray(pointer_to(at[k]), (at[ARRAYS + k],), kind)


@kernel
def rows_of(at, k, kind):
    """The same for two dimensions."""
    return carray(pointer_to(at[k]), (at[ARRAYS + k], at[2 * ARRAYS + k]), kind)


@kernel
def room_of(nodes):
    """The arrays."""
    at = carray(pointer_to(nodes.room), (3 * ARRAYS,), int64)
    return Room(
        row_of(at, 0, int64),
        rows_of(at, 1, int64),
        row_of(at, 2, int64),
        rows_of(at, 3, int32),
        row_of(at, 4, int64),
        row_of(at, 5, float64),
        rows_of(at, 6, float64),
        row_of(at, 7, int64),
        row_of(at, 8, int64),
        row_of(at, 9, int32),
        rows_of(at, 10, int64),
        rows_of(at, 11, int64),
        row_of(at, 12, int32),
        row_of(at, 13, int64),
        rows_of(at, 14, int64),
        row_of(at, 15, float64),
    )


@bare_kernel
def infoset_of(nodes, room, n, player, count):
    """Where the infoset of a node stands in the tables; a new one gets its place."""
    counts, rows, one = room.counts, room.rows, room.one
    one[0] = player
    if call(nodes.see, (room.rules, room.states[n : n + 1], one[0:1], one[2:3])):
        counts[PROBLEM] = max(counts[PROBLEM], BROKEN)
    key = one[2]
    slot = slot_of(key, 0, player, room.table, room.known)
    if room.table[slot] >= 0:
        return room.place[room.table[slot], 0]
    number, first, depth, above = counts[INFOSETS], counts[ENTRIES], 0, n
    while rows[above, PARENT] >= 0:
        above = rows[above, PARENT]
        depth += 1
    full = first + count > room.policy.size or number >= room.place.shape[0]
    full |= 10 * number > 9 * room.table.size
    if full or counts[WORDS] + depth > room.words.size:
        counts[PROBLEM] = max(counts[PROBLEM], FULL)
        return 0
    room.table[slot] = number
    room.known[number, 0], room.known[number, 1], room.known[number, 2] = key, 0, player
    room.place[number, 0], room.place[number, 1] = first, count
    word, above = counts[WORDS] + depth, n
    while rows[above, PARENT] >= 0:
        word -= 1
        room.words[word] = room.action[above]
        above = rows[above, PARENT]
    counts[INFOSETS] += 1
    counts[ENTRIES] += count
    counts[WORDS] += depth
    room.last_word[number + 1] = counts[WORDS]
    for s in range(first, first + count):
        room.policy[s] = 1.0 / count
    return first


@bare_kernel
def lottery_of(room, child, count):
    """Where the probabilities of chance stand in the policy; equal lotteries once."""
    counts, policy = room.counts, room.policy
    for k in range(counts[LOTTERIES]):
        first, same = room.lotteries[k, 0], room.lotteries[k, 1] == count
        for c in range(count if same else 0):
            same &= policy[first + c] == room.chance[child + c]
        if same:
            return first
    first = counts[ENTRIES]
    if first + count > policy.size or counts[LOTTERIES] >= room.lotteries.shape[0]:
        counts[PROBLEM] = max(counts[PROBLEM], FULL)
        return 0
    total = 0.0
    for c in range(count):
        total += room.chance[child + c] if room.chance[child + c] >= 0.0 else 2.0
    if not abs(total - 1.0) <= CHANCE_TOLERANCE:
        counts[PROBLEM] = max(counts[PROBLEM], INVALID)
    room.lotteries[counts[LOTTERIES], 0] = first
    room.lotteries[counts[LOTTERIES], 1] = count
    for c in range(count):
        policy[first + c] = room.chance[child + c]
    counts[LOTTERIES] += 1
    counts[ENTRIES] += count
    return first


@partial(bare_kernel, inline=False)  # walks look at nodes in many places
def make(nodes, n):
    """Look at a node for the first time."""
    room = room_of(nodes)
    rules, counts, one, rows = room.rules, room.counts, room.one, room.rows
    state, above = room.states[n : n + 1], rows[n, PARENT]
    if above >= 0:
        for w in range(state.shape[1]):
            state[0, w] = room.states[above, w]
        one[0] = rows[above, PLAYER]
        if call(nodes.step, (rules, state, one[0:1], room.action[n : n + 1])):
            counts[PROBLEM] = max(counts[PROBLEM], BROKEN)
    if call(nodes.look, (rules, state, one[0:1], one[1:2])):
        counts[PROBLEM] = max(counts[PROBLEM], BROKEN)
    player, count = one[0], one[1]
    child = counts[NODES]
    last = child + count
    if last > rows.shape[0]:
        counts[PROBLEM] = max(counts[PROBLEM], FULL)
    if counts[PROBLEM]:
        rows[n, PLAYER], rows[n, FIRST] = TERMINAL, 0
        return
    first = 0
    if player == TERMINAL:
        first = counts[ENDS]
        counts[ENDS] += 1
        if call(nodes.pay, (rules, state, room.utility[first : first + 1])):
            counts[PROBLEM] = max(counts[PROBLEM], BROKEN)
        for p in range(room.utility.shape[1]):
            if not abs(room.utility[first, p]) <= LARGEST_UTILITY:  # true of NaN too
                counts[PROBLEM] = max(counts[PROBLEM], INVALID)
    else:
        room.ends[0], room.ends[1] = 0, count
        action, chance = room.action[child:last], room.chance[child:last]
        if call(nodes.offer, (rules, state, one[0:1], room.ends, action, chance)):
            counts[PROBLEM] = max(counts[PROBLEM], BROKEN)
        counts[NODES] = last
        for c in range(child, last):
            rows[c, PLAYER], rows[c, PARENT] = UNKNOWN, n
        if player == CHANCE:
            first = lottery_of(room, child, count)
        else:
            first = infoset_of(nodes, room, n, player, count)
    rows[n, PLAYER], rows[n, FIRST], rows[n, CHILD], rows[n, COUNT] = player, first, child, count


@bare_kernel
def look_at(nodes, n):
    """The node as walks see it."""
    rows = room_of(nodes).rows
    if rows[n, PLAYER] == UNKNOWN:
        make(nodes, n)
    return Node(rows[n, PLAYER], rows[n, FIRST], rows[n, CHILD], rows[n, COUNT])


@bare_kernel
def forget(nodes):
    """Leave nothing but the root."""
    room = room_of(nodes)
    room.counts[NODES], room.counts[ENDS] = 1, 0
    room.rows[0, PLAYER], room.rows[0, PARENT] = UNKNOWN, -1


def node_at(nodes, n):
    """Node `n` of a tree's rows, or of compiled rules."""
    return nodes[n]


@overload(node_at, jit_options={"error_model": "numpy", "forceinline": True})
def _node_at(nodes, n):
    if isinstance(nodes, types.BaseNamedTuple) and nodes.instance_class is Lazy:
        return lambda nodes, n: look_at(nodes, n)
    return lambda nodes, n: nodes[n]


@bare_kernel
def is_ready(nodes, most):
    """Forget the last iteration, if tables can take what the next may meet; whether they can.

    That is at most `most` infosets or entries.
    """
    room = room_of(nodes)
    counts = room.counts
    if (
        counts[ENTRIES] + most > room.policy.size
        or counts[INFOSETS] + most > room.place.shape[0]
        or 2 * counts[INFOSETS] > room.table.size
        or counts[WORDS] + most > room.words.size
    ):
        return False
    forget(nodes)
    return True


@bare_kernel
def has_failed(nodes):
    """Whether there was not enough room for an iteration."""
    return room_of(nodes).counts[PROBLEM] != 0
