"""Ends of streets in a public tree: folds and showdowns, and what comes after a card is dealt.

A hand meets every hand of the opponent that shares no card with it: all of them, less those with
its first card, less those with its second, plus the same hand, which was taken away twice. Of the
weaker ones likewise, as hands are added in the order of their strength. Eight leaves go at once.
"""

from __future__ import annotations

import numpy as np

from counterplay.kernels.compiling import fused_kernel as kernel
from counterplay.kernels.compiling import large_kernel
from counterplay.kernels.lanes import LANES, add, add_product, add_rest
from counterplay.kernels.streets import ascend, descend

WHOLE = 52  # the row of sums for all cards, after those for each
WEAKER = 53  # where the rows for weaker hands begin


@kernel
def gather(walk, room, rows, first, last):
    """Bring the opponent's reach at leaves `first` to `last` side by side, and their payoffs."""
    size = walk.sizes[1]
    room.amount[:] = 0.0
    for k in range(last - first):
        node = walk.leaf[first + k]
        row = walk.opponent_row[node]
        for h in range(size):
            room.reach[h, k] = rows.opponent[row, h]
        for j in range(4):
            room.amount[j, k] = walk.payoff[node, j]


@kernel
def meet_all(walk, room, board):
    """Add to `found` what all hands of the opponent are worth that leave a hand its cards."""
    reach, sums, found, amount = room.reach, room.sums, room.found, room.amount
    sums[:] = 0.0
    for i in range(walk.opponent_live[board], walk.opponent_live[board + 1]):
        o = walk.opponent_order[i]
        add(sums, walk.opponent_cards[o, 0], reach, o)
        add(sums, walk.opponent_cards[o, 1], reach, o)
    for c in range(WHOLE):
        add(sums, WHOLE, sums, c)
    half = sums.dtype.type(0.5)
    for k in range(LANES):
        sums[WHOLE, k] *= half
    for i in range(walk.live[board], walk.live[board + 1]):
        o = walk.order[i]
        add_rest(found, o, amount, 2, sums, WHOLE, walk.cards[o, 0], walk.cards[o, 1])
        add_product(found, o, amount, 3, reach, walk.same[o])


@kernel
def add_weaker(walk, room, o):
    """Count a hand of the opponent among the weaker ones."""
    add(room.sums, WEAKER + walk.opponent_cards[o, 0], room.reach, o)
    add(room.sums, WEAKER + walk.opponent_cards[o, 1], room.reach, o)
    add(room.sums, WEAKER + WHOLE, room.reach, o)


@kernel
def meet_weaker(walk, room, board):
    """Add to `found` what it is worth to be stronger, or as strong, at showdowns."""
    i, end = walk.live[board], walk.live[board + 1]
    j, stop = walk.opponent_live[board], walk.opponent_live[board + 1]
    sums, found, amount = room.sums, room.found, room.amount
    while i < end:
        level = walk.strength[i]
        while j < stop and walk.opponent_strength[j] < level:
            add_weaker(walk, room, walk.opponent_order[j])
            j += 1
        k = i
        while k < end and walk.strength[k] == level:
            o = walk.order[k]
            a, b = WEAKER + walk.cards[o, 0], WEAKER + walk.cards[o, 1]
            add_rest(found, o, amount, 0, sums, WEAKER + WHOLE, a, b)
            k += 1
        while j < stop and walk.opponent_strength[j] == level:
            add_weaker(walk, room, walk.opponent_order[j])
            j += 1
        for m in range(i, k):
            o = walk.order[m]
            a, b = WEAKER + walk.cards[o, 0], WEAKER + walk.cards[o, 1]
            add_rest(found, o, amount, 1, sums, WEAKER + WHOLE, a, b)
        i = k


@kernel
def end_values(walk, room, rows, block, board):
    """Set the values of a block's showdowns and folds."""
    base, size = walk.block[block], walk.sizes[0]
    first_fold, end = walk.ends[block, 1], walk.ends[block, 2]
    for first in range(walk.ends[block, 0], end, LANES):
        last = min(first + LANES, end)
        gather(walk, room, rows, first, last)
        room.found[:] = 0.0
        meet_all(walk, room, board)
        if first < first_fold:
            meet_weaker(walk, room, board)
        for k in range(last - first):
            row = walk.leaf[first + k] - base
            for h in range(size):
                rows.value[row, h] = room.found[h, k]


@kernel
def enter(walk, above, node, board, below):
    """Set the first row of a block to the reach after a deal, with `board` as the next one."""
    card = walk.card[board]
    chance = below.opponent.dtype.type(walk.chance[board])
    own, opponent = walk.own_row[node], walk.opponent_row[node]
    for h in range(walk.sizes[0]):
        below.own[0, h] = above.own[own, h]
    for h in range(walk.sizes[1]):
        below.opponent[0, h] = above.opponent[opponent, h] * chance
    for i in range(walk.holding[card], walk.holding[card + 1]):
        below.own[0, walk.holders[i]] = 0.0
    for i in range(walk.opponent_holding[card], walk.opponent_holding[card + 1]):
        below.opponent[0, walk.opponent_holders[i]] = 0.0


@kernel
def leave(walk, value, board, total):
    """Add the values after a deal to a row, also for the cards that are like the one dealt."""
    for h in range(total.size):
        total[h] += value[h]
    for i in range(walk.twin[board], walk.twin[board + 1]):
        renamed = walk.renamed[walk.renaming[i]]
        for h in range(total.size):
            total[h] += value[renamed[h]]


@kernel
def negligible(rows, size, rounding):
    """Up to here, differences of values are rounding errors."""
    total = 0.0
    for h in range(size):
        total += rows.opponent[0, h]
    return rows.value.dtype.type(total * rounding)


@large_kernel
def last_street(walk, tables, room, rows, block, board, mode, rounding):
    """Walk a block without deals; the first row of the reach is given."""
    descend(walk, tables, room, rows, block, board, mode)
    end_values(walk, room, rows, block, board)
    tiny = negligible(rows, walk.sizes[1], rounding)
    ascend(walk, tables, room, rows, block, board, mode, tiny)


@large_kernel
def middle_street(walk, tables, room, block, board, mode, rounding):
    """Walk a block and, card by card, what comes after it."""
    rows, below = room.upper, room.lower
    descend(walk, tables, room, rows, block, board, mode)
    end_values(walk, room, rows, block, board)
    base = walk.block[block]
    for i in range(walk.ends[block, 2], walk.ends[block, 3]):
        node = walk.leaf[i]
        total = rows.value[node - base]
        total[:] = 0.0
        for child in range(walk.dealt[board], walk.dealt[board + 1]):
            enter(walk, rows, node, child, below)
            last_street(walk, tables, room, below, walk.next_block[node], child, mode, rounding)
            leave(walk, below.value[0], child, total)
    tiny = negligible(rows, walk.sizes[1], rounding)
    ascend(walk, tables, room, rows, block, board, mode, tiny)


@large_kernel
def after_card(walk, tables, room, top, block, board, mode, rounding, out):
    """Set `out` [deals of the block, hands] to the values once `board` has come."""
    first = walk.ends[block, 2]
    for i in range(first, walk.ends[block, 3]):
        node = walk.leaf[i]
        below = walk.next_block[node]
        if walk.ends[below, 2] < walk.ends[below, 3]:
            enter(walk, top, node, board, room.upper)
            middle_street(walk, tables, room, below, board, mode, rounding)
            out[i - first] = room.upper.value[0]
        else:
            enter(walk, top, node, board, room.lower)
            last_street(walk, tables, room, room.lower, below, board, mode, rounding)
            out[i - first] = room.lower.value[0]


@large_kernel
def begin(walk, tables, room, top, block, board, mode):
    """Walk down a block whose deals are left to others."""
    descend(walk, tables, room, top, block, board, mode)
    end_values(walk, room, top, block, board)


@large_kernel
def finish(walk, tables, room, top, block, board, mode, rounding, after):
    """Walk up again with the values `after` [boards, deals, hands] each next card."""
    base, first = walk.block[block], walk.ends[block, 2]
    for i in range(first, walk.ends[block, 3]):
        total = top.value[walk.leaf[i] - base]
        total[:] = 0.0
        for child in range(walk.dealt[board], walk.dealt[board + 1]):
            leave(walk, after[child - walk.dealt[board], i - first], child, total)
    tiny = negligible(top, walk.sizes[1], rounding)
    ascend(walk, tables, room, top, block, board, mode, tiny)


@large_kernel
def sort_hands(strength, other, order, other_order, rank, other_rank):
    """Put two players' hands in the order of their strengths, which become ranks 0, 1, ...

    Hands of strength -1 are left out; returns how many are left of each.
    """
    count, keys = 0, np.empty(strength.size + other.size, np.int64)
    for i in range(strength.size):
        if strength[i] >= 0:
            keys[count] = np.int64(strength[i]) << 12 | i
            count += 1
    for i in range(other.size):
        if other[i] >= 0:
            keys[count] = np.int64(other[i]) << 12 | 2048 | i
            count += 1
    keys = np.sort(keys[:count])
    last, level, one, two = np.int64(-1), -1, 0, 0
    for k in range(count):
        if keys[k] >> 12 != last:
            last = keys[k] >> 12
            level += 1
        if keys[k] & 2048:
            other_order[two], other_rank[two] = keys[k] & 2047, level
            two += 1
        else:
            order[one], rank[one] = keys[k] & 2047, level
            one += 1
    return one, two
