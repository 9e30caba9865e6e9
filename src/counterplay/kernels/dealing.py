"""Ends of streets in a public tree: folds and showdowns, and what comes after a card is dealt.

A hand meets every hand of the opponent that shares no card with it: all of them, less those with
its first card, less those with its second, plus the same hand, which was taken away twice. Of the
weaker ones likewise, as hands are added in the order of their strength. Eight leaves go at once.
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.compiling import fused_kernel as kernel
from counterplay.kernels.compiling import large_kernel
from counterplay.kernels.lanes import LANES, add, add_product, add_rest
from counterplay.kernels.streets import ascend, descend

WHOLE = 52  # the row of sums for all cards, after those for each
SMALLEST = 1e-30  # what is less may lose its precision, and is slow
ZERO, ONE = np.uint64(0), np.uint64(1)


@kernel
def clear(rows):
    """Set all of an array [., 8] to zero."""
    for i in range(uint64(rows.shape[0])):
        for k in range(uint64(LANES)):
            rows[i, k] = 0.0


@kernel
def meet_all(live, order, cards, same, against, opposite, opposite_cards, reach, amount, sums, out):
    """Add to `out` what all hands of the opponent are worth that leave a hand its cards.

    Hands that the board allows are `order` from `live[0]` to `live[1]`; `against` and `opposite`
    are the opponent's.
    """
    for i in range(uint64(against[0]), uint64(against[1])):
        o = uint64(opposite[i])
        add(sums, opposite_cards[o, ZERO], reach, o)
        add(sums, opposite_cards[o, ONE], reach, o)
    for c in range(WHOLE):
        add(sums, WHOLE, sums, c)
    half = sums.dtype.type(0.5)
    for k in range(LANES):
        sums[WHOLE, k] *= half
    for i in range(uint64(live[0]), uint64(live[1])):
        o = uint64(order[i])
        add_rest(out, o, amount, 2, sums, WHOLE, cards[o, ZERO], cards[o, ONE])
        add_product(out, o, amount, 3, reach, same[o])


@kernel
def meet_weaker(
    live,
    order,
    rank,
    cards,
    against,
    opposite,
    opposite_rank,
    opposite_cards,
    reach,
    amount,
    sums,
    out,
):
    """Add to `out` what it is worth to be stronger, or as strong, at showdowns."""
    i, end, j, stop = uint64(live[0]), uint64(live[1]), uint64(against[0]), uint64(against[1])
    while i < end:
        level = rank[i]
        while j < stop and opposite_rank[j] < level:
            o = uint64(opposite[j])
            add(sums, opposite_cards[o, ZERO], reach, o)
            add(sums, opposite_cards[o, ONE], reach, o)
            add(sums, WHOLE, reach, o)
            j += ONE
        k = i
        while k < end and rank[k] == level:
            o = uint64(order[k])
            add_rest(out, o, amount, 0, sums, WHOLE, cards[o, ZERO], cards[o, ONE])
            k += ONE
        while j < stop and opposite_rank[j] == level:
            o = uint64(opposite[j])
            add(sums, opposite_cards[o, ZERO], reach, o)
            add(sums, opposite_cards[o, ONE], reach, o)
            add(sums, WHOLE, reach, o)
            j += ONE
        while i < k:
            o = uint64(order[i])
            add_rest(out, o, amount, 1, sums, WHOLE, cards[o, ZERO], cards[o, ONE])
            i += ONE


@large_kernel
def end_values(walk, room, rows, block, board):
    """Set the values of a block's showdowns and folds."""
    leaf, opponent_row, payoff = walk.leaf, walk.opponent_row, walk.payoff
    order, rank, cards, same = walk.order, walk.strength, walk.cards, walk.same
    opposite, opposite_rank = walk.opponent_order, walk.opponent_strength
    opposite_cards, opponent, value = walk.opponent_cards, rows.opponent, rows.value
    reach, out, sums, amount = room.reach, room.found, room.sums, room.amount
    live = (walk.live[board], walk.live[board + 1])
    against = (walk.opponent_live[board], walk.opponent_live[board + 1])
    size, other_size = uint64(walk.sizes[0]), uint64(walk.sizes[1])
    base, first_fold, end = walk.block[block], walk.ends[block, 1], walk.ends[block, 2]
    for first in range(walk.ends[block, 0], end, LANES):
        last = min(first + LANES, end)
        clear(amount)
        for k in range(uint64(last - first)):
            node = leaf[uint64(first) + k]
            row = uint64(opponent_row[node])
            for h in range(other_size):
                reach[h, k] = opponent[row, h]
            for j in range(uint64(4)):
                amount[j, k] = payoff[node, j]
        clear(out)
        clear(sums)
        meet_all(
            live, order, cards, same, against, opposite, opposite_cards, reach, amount, sums, out
        )
        if first < first_fold:
            clear(sums)
            meet_weaker(
                live,
                order,
                rank,
                cards,
                against,
                opposite,
                opposite_rank,
                opposite_cards,
                reach,
                amount,
                sums,
                out,
            )
        for k in range(uint64(last - first)):
            row = uint64(leaf[uint64(first) + k] - base)
            for h in range(size):
                value[row, h] = out[h, k]


@kernel
def enter(walk, above, node, board, below):
    """Set the first row of a block to the reach after a deal, with `board` as the next one."""
    own, next_own = above.own, below.own
    opponent, next_opponent = above.opponent, below.opponent
    holders, opponent_holders = walk.holders, walk.opponent_holders
    card, chance = walk.card[board], next_opponent.dtype.type(walk.chance[board])
    row, other_row = uint64(walk.own_row[node]), uint64(walk.opponent_row[node])
    for h in range(uint64(walk.sizes[0])):
        next_own[ZERO, h] = own[row, h]
    for h in range(uint64(walk.sizes[1])):
        next_opponent[ZERO, h] = opponent[other_row, h] * chance
    for i in range(walk.holding[card], walk.holding[card + 1]):
        next_own[ZERO, holders[i]] = 0.0
    for i in range(walk.opponent_holding[card], walk.opponent_holding[card + 1]):
        next_opponent[ZERO, opponent_holders[i]] = 0.0


@kernel
def leave(walk, value, row, board, total, to):
    """Add a row of values after a deal to another, also for the cards like the one dealt."""
    renaming, renamed = walk.renaming, walk.renamed
    size = uint64(walk.sizes[0])
    for h in range(size):
        total[to, h] += value[row, h]
    for i in range(walk.twin[board], walk.twin[board + 1]):
        by = uint64(renaming[i])
        for h in range(size):
            total[to, h] += value[row, renamed[by, h]]


@kernel
def negligible(rows, size, rounding):
    """Up to here, differences of values are rounding errors; never less than `SMALLEST`."""
    opponent = rows.opponent
    total = 0.0
    for h in range(uint64(size)):
        total += opponent[ZERO, h]
    return rows.value.dtype.type(max(total * rounding, SMALLEST))


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
        row = uint64(node - base)
        rows.value[row] = 0.0
        for child in range(walk.dealt[board], walk.dealt[board + 1]):
            enter(walk, rows, node, child, below)
            last_street(walk, tables, room, below, walk.next_block[node], child, mode, rounding)
            leave(walk, below.value, ZERO, child, rows.value, row)
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
def after_flop(walk, tables, room, top, block, board, live, mode, rounding, out):
    """Add to `out` [deals of the block, hands] the values once three cards have come.

    Hands have new numbers then; `live` has their old ones.
    """
    leaf, ends, next_block, rows = walk.leaf, walk.ends, walk.next_block, room.lower
    own, opponent, value, chance = rows.own, rows.opponent, rows.value, walk.chance[board]
    size, first = uint64(walk.sizes[0]), ends[block, 2]
    for i in range(first, ends[block, 3]):
        node = leaf[i]
        own_row, opponent_row = walk.own_row[node], walk.opponent_row[node]
        for h in range(size):
            own[ZERO, h] = top.own[own_row, live[h]]
            opponent[ZERO, h] = top.opponent[opponent_row, live[h]] * chance
        last_street(walk, tables, room, rows, next_block[node], board, mode, rounding)
        for h in range(size):
            out[i - first, live[h]] += value[ZERO, h]


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
        row = uint64(walk.leaf[i] - base)
        top.value[row] = 0.0
        for child in range(walk.dealt[board], walk.dealt[board + 1]):
            values = after[child - walk.dealt[board]]
            leave(walk, values, uint64(i - first), child, top.value, row)
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
