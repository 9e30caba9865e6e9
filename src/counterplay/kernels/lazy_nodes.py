"""Nodes of compiled rules, made when a walk looks at them: to kernels they look like a tree's rows.

`Lazy` is indexed as the rows of a tree are. What is made is forgotten after the iteration; infosets
keep their place in the tables. There is room for so many nodes in an iteration, and no walk goes
beyond: past it, all is over at once, and `counts[PROBLEM]` says so.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any, NamedTuple

from numba import types
from numba.extending import overload

from counterplay.kernels.compiling import CHANCE, TERMINAL, kernel
from counterplay.kernels.numbering import slot_of

UNKNOWN = -3  # player of a node that nobody has looked at
NODES, ENDS, INFOSETS, ENTRIES, LOTTERIES, WORDS, PROBLEM = range(7)  # places in `counts`


class Node(NamedTuple):
    """What a walk sees of a node: see `bundles.Arena`."""

    player: Any
    first: Any
    child: Any
    count: Any


class Lazy(NamedTuple):
    """A machine, its functions as pointers, and room: N nodes, I infosets, S entries, K of a row"""

    rules: Any
    look: Any
    spread: Any
    pay: Any
    see: Any
    states: Any  # [N, W]
    player: Any  # [N]
    first: Any  # [N] as in `Node`
    child: Any  # [N]
    count: Any  # [N]
    parent: Any  # [N]
    action: Any  # [N] that led there
    chance: Any  # [N] its probability
    utility: Any  # [N, P]
    one: Any  # [4, 1] room for a player, a count and a key
    ends: Any  # [2]
    counts: Any  # [7] how much is in use
    table: Any  # of hashes
    known: Any  # [I, 3] key, nothing, player
    place: Any  # [I, 2] first entry, and how many
    words: Any  # [.] the actions that lead to the first node of every infoset, one after another
    last_word: Any  # [I + 1]
    lotteries: Any  # [., 2] first entry, and how many
    policy: Any  # [S] as in `bundles.Table`


@kernel
def infoset_of(nodes, n, player, count):
    """Where the infoset of a node stands in the tables; a new one gets its place."""
    counts = nodes.counts
    nodes.one[0, 0] = player
    nodes.see(nodes.rules, nodes.states[n : n + 1], nodes.one[0], nodes.one[2])
    key = nodes.one[2, 0]
    slot = slot_of(key, 0, player, nodes.table, nodes.known)
    if nodes.table[slot] >= 0:
        return nodes.place[nodes.table[slot], 0]
    number, first, depth, above = counts[INFOSETS], counts[ENTRIES], 0, n
    while nodes.parent[above] >= 0:
        above = nodes.parent[above]
        depth += 1
    full = first + count > nodes.policy.size or number >= nodes.place.shape[0]
    if full or counts[WORDS] + depth > nodes.words.size:
        counts[PROBLEM] = 1
        return 0
    nodes.table[slot] = number
    nodes.known[number, 0], nodes.known[number, 1], nodes.known[number, 2] = key, 0, player
    nodes.place[number, 0], nodes.place[number, 1] = first, count
    word, above = counts[WORDS] + depth, n
    while nodes.parent[above] >= 0:
        word -= 1
        nodes.words[word] = nodes.action[above]
        above = nodes.parent[above]
    counts[INFOSETS] += 1
    counts[ENTRIES] += count
    counts[WORDS] += depth
    nodes.last_word[number + 1] = counts[WORDS]
    for s in range(first, first + count):
        nodes.policy[s] = 1.0 / count
    return first


@kernel
def lottery_of(nodes, child, count):
    """Where the probabilities of chance stand in the policy; equal lotteries once."""
    counts, policy = nodes.counts, nodes.policy
    for k in range(counts[LOTTERIES]):
        first, same = nodes.lotteries[k, 0], nodes.lotteries[k, 1] == count
        for c in range(count if same else 0):
            same &= policy[first + c] == nodes.chance[child + c]
        if same:
            return first
    first = counts[ENTRIES]
    if first + count > policy.size or counts[LOTTERIES] >= nodes.lotteries.shape[0]:
        counts[PROBLEM] = 1
        return 0
    nodes.lotteries[counts[LOTTERIES], 0] = first
    nodes.lotteries[counts[LOTTERIES], 1] = count
    for c in range(count):
        policy[first + c] = nodes.chance[child + c]
    counts[LOTTERIES] += 1
    counts[ENTRIES] += count
    return first


@partial(kernel, inline=False)  # walks look at nodes in many places
def make(nodes, n):
    """Look at a node for the first time."""
    counts, one = nodes.counts, nodes.one
    state = nodes.states[n : n + 1]
    nodes.look(nodes.rules, state, one[0], one[1])
    player, count = one[0, 0], one[1, 0]
    child = counts[NODES]
    if child + count > nodes.player.size:
        counts[PROBLEM] = 1
    if counts[PROBLEM]:
        nodes.player[n], nodes.first[n], nodes.child[n], nodes.count[n] = TERMINAL, 0, 0, 0
        return
    first = 0
    if player == TERMINAL:
        first = counts[ENDS]
        counts[ENDS] += 1
        nodes.pay(nodes.rules, state, nodes.utility[first : first + 1])
    else:
        last = child + count
        nodes.ends[0], nodes.ends[1] = 0, count
        nodes.spread(
            nodes.rules,
            state,
            one[0],
            nodes.ends,
            nodes.states[child:last],
            nodes.action[child:last],
            nodes.chance[child:last],
        )
        counts[NODES] = last
        for c in range(child, last):
            nodes.player[c], nodes.parent[c] = UNKNOWN, n
        if player == CHANCE:
            first = lottery_of(nodes, child, count)
        else:
            first = infoset_of(nodes, n, player, count)
    nodes.player[n], nodes.first[n], nodes.child[n], nodes.count[n] = player, first, child, count


@kernel
def look_at(nodes, n):
    """The node as walks see it."""
    if nodes.player[n] == UNKNOWN:
        make(nodes, n)
    return Node(nodes.player[n], nodes.first[n], nodes.child[n], nodes.count[n])


@kernel
def forget(nodes):
    """Leave nothing but the root."""
    nodes.counts[NODES], nodes.counts[ENDS] = 1, 0
    nodes.player[0], nodes.parent[0] = UNKNOWN, -1


@overload(operator.getitem)
def _of_lazy(nodes, n):
    if isinstance(nodes, types.NamedTuple) and nodes.instance_class is Lazy:
        return lambda nodes, n: look_at(nodes, n)
    return None


@kernel
def has_room(nodes, room):
    """Whether tables can take what an iteration may meet, at most `room` infosets or entries."""
    counts = nodes.counts
    return (
        counts[ENTRIES] + room <= nodes.policy.size
        and counts[INFOSETS] + room <= nodes.place.shape[0]
        and 2 * (counts[INFOSETS] + room) <= nodes.table.size
        and counts[WORDS] + room <= nodes.words.size
    )
