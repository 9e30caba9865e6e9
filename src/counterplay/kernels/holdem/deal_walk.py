"""Leaves of a street in a public tree: folds, showdowns, and the streets after a deal.

The opponent's reach against a hand is the sum over all hands that share no card with it: the total,
minus the hands with its first card, minus those with its second, plus the same hand, which was
subtracted twice. Showdowns do the same with the sums over weaker hands, adding hands in order of
strength. Leaves with the same reach, such as a call and a fold after a bet, share these sums, and
16 rows of reach are summed at once.
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.holdem.street_walk import MODE_JUDGE, ascend, descend
from counterplay.kernels.runtime.jit import fma_row_kernel as kernel
from counterplay.kernels.runtime.jit import noinline_kernel, outlined_row_kernel, sum_row_kernel
from counterplay.kernels.runtime.lanes import (
    LANES,
    all_lanes,
    fill,
    first_lanes,
    load,
    store,
    transpose,
)
from counterplay.kernels.runtime.references import dereference, reference

MIN_TOLERANCE = 1e-30  # smaller numbers lose precision and are slow (denormals)
ZERO, ONE, WIDTH = np.uint64(0), np.uint64(1), np.uint64(LANES)


@kernel
def clear(rows, count):
    """Set the first `count` rows of an array [., 16] to zero."""
    zero = fill(rows.dtype.type(0))
    for i in range(count):
        store(rows, i * WIDTH, all_lanes(), zero)


@kernel
def load_leaf_reach(numbers, first, last, size, reach, square, leaf_reach):
    """Set `leaf_reach` [hands, 16] to the rows `numbers[first:last]` of `reach`, at most 16."""
    like, width = reach.dtype.type(0), uint64(reach.shape[1])
    for h in range(ZERO, size, WIDTH):
        mask = first_lanes(min(size - h, WIDTH))
        for k in range(WIDTH):
            row = uint64(numbers[min(first + np.int64(k), last - 1)])
            store(square, k * WIDTH, all_lanes(), load(reach, row * width + h, mask, like))
        transpose(square, ZERO, leaf_reach, h * WIDTH)


@kernel
def add_hand(sums, cards, o, leaf_reach, total):
    """Add the reach of hand `o` to the sums of its cards; return the new total."""
    like = sums.dtype.type(0)
    x = load(leaf_reach, o * WIDTH, all_lanes(), like)
    low, high = uint64(cards[o, ZERO]) * WIDTH, uint64(cards[o, ONE]) * WIDTH
    store(sums, low, all_lanes(), load(sums, low, all_lanes(), like) + x)
    store(sums, high, all_lanes(), load(sums, high, all_lanes(), like) + x)
    return total + x


@kernel
def compatible_sum(sums, cards, o, total):
    """Return the reach so far of the hands that share no card with hand `o`, minus the same."""
    like = sums.dtype.type(0)
    low, high = uint64(cards[o, ZERO]) * WIDTH, uint64(cards[o, ONE]) * WIDTH
    return total - load(sums, low, all_lanes(), like) - load(sums, high, all_lanes(), like)


@kernel
def sum_weaker(
    live, order, rank, cards, same, against, opposite, opposite_rank, opposite_cards, leaf_reach,
    sums, weaker,
):  # fmt: skip
    """Set `weaker` [hands, 16] to the reach of weaker hands plus that of not stronger ones.

    `order[live[0]:live[1]]` are the hands that the board allows, by strength; `against` and
    `opposite` are the same of the opponent. `sums` are zero before and of all hands afterwards.
    """
    i, end, j, stop = uint64(live[0]), uint64(live[1]), uint64(against[0]), uint64(against[1])
    like = sums.dtype.type(0)
    total = fill(like)
    while i < end:
        level = rank[i]
        while j < stop and opposite_rank[j] < level:
            total = add_hand(sums, opposite_cards, uint64(opposite[j]), leaf_reach, total)
            j += ONE
        if j < stop and opposite_rank[j] == level:
            k = i
            while k < end and rank[k] == level:
                o = uint64(order[k])
                store(weaker, o * WIDTH, all_lanes(), compatible_sum(sums, cards, o, total))
                k += ONE
            while j < stop and opposite_rank[j] == level:
                total = add_hand(sums, opposite_cards, uint64(opposite[j]), leaf_reach, total)
                j += ONE
            while i < k:
                o = uint64(order[i])
                x = load(weaker, o * WIDTH, all_lanes(), like)
                x = x + compatible_sum(sums, cards, o, total)
                x = x + load(leaf_reach, uint64(same[o]) * WIDTH, all_lanes(), like)
                store(weaker, o * WIDTH, all_lanes(), x)
                i += ONE
        else:  # no ties
            while i < end and rank[i] == level:
                o = uint64(order[i])
                x = compatible_sum(sums, cards, o, total)
                store(weaker, o * WIDTH, all_lanes(), x + x)
                i += ONE
    while j < stop:
        total = add_hand(sums, opposite_cards, uint64(opposite[j]), leaf_reach, total)
        j += ONE
    return total


@kernel
def sum_all(against, opposite, opposite_cards, leaf_reach, sums):
    """Add all hands of the opponent to `sums`; return their total."""
    total = fill(sums.dtype.type(0))
    for j in range(uint64(against[0]), uint64(against[1])):
        total = add_hand(sums, opposite_cards, uint64(opposite[j]), leaf_reach, total)
    return total


@kernel
def set_leaf_values(
    leaves, lanes, payoff, base, lane, size, has_showdowns, mass, weaker, square, value
):
    """Set the values of the leaves whose reach is in lanes `lane` to `lane` + 15.

    value = lose * mass + (win - lose) / 2 * weaker; `add_uneven_ties` adds the rest of ties.
    """
    real, width = value.dtype.type, uint64(value.shape[1])
    like = real(0)
    start, end = leaves
    for h in range(ZERO, size, WIDTH):
        mask = first_lanes(min(size - h, WIDTH))
        transpose(mass, h * WIDTH, square, ZERO)
        if has_showdowns:
            transpose(weaker, h * WIDTH, square, WIDTH * WIDTH)
        for i in range(start, end):
            k = lanes[i, 1] - lane
            if k < 0 or k >= LANES:
                continue
            node, at = lanes[i, 0], uint64(k) * WIDTH
            x = fill(real(payoff[node, 2])) * load(square, at, all_lanes(), like)
            if has_showdowns:
                gain = load(square, WIDTH * WIDTH + at, all_lanes(), like)
                x = x + fill(real(payoff[node, 0])) * gain
            store(value, uint64(node - base) * width + h, mask, x)


@sum_row_kernel
def add_equity_of_hands(equity, at, reach, row, pot, value, to):
    """Add pot * equity @ reach to a row of values: the walk of player 0."""
    for i in range(uint64(equity.shape[1])):
        total = reach[row, ZERO] - reach[row, ZERO]
        for j in range(uint64(equity.shape[2])):
            total += equity[at, i, j] * reach[row, j]
        value[to, i] += pot * total


@kernel
def add_equity_against_hands(equity, at, reach, row, pot, value, to):
    """Add pot * reach @ equity to a row of values: the walk of player 1."""
    for i in range(uint64(equity.shape[1])):
        factor = pot * reach[row, i]
        if factor:
            for j in range(uint64(equity.shape[2])):
                value[to, j] += factor * equity[at, i, j]


@outlined_row_kernel
def add_runouts(walk, rows, block, board):
    """Add the pots won at the run-outs of a block; `evaluate_leaves` has set the rest."""
    walk, rows = dereference(walk), dereference(rows)
    pots, equity, at = walk.runout_pot, walk.equity, uint64(walk.equity_row[board])
    reach, value = rows.opponent_reach, rows.value
    base, player = walk.block[block], walk.player
    for i in range(walk.leaf_range[block, 2], walk.leaf_range[block, 3]):
        node = walk.leaf[i]
        row, to = uint64(walk.opponent_row[node]), uint64(node - base)
        pot = value.dtype.type(pots[node])
        if player == 0:
            add_equity_of_hands(equity, at, reach, row, pot, value, to)
        else:
            add_equity_against_hands(equity, at, reach, row, pot, value, to)


@outlined_row_kernel
def add_uneven_ties(walk, scratch, rows, block, board):
    """Add what ties pay beyond the mean of a win and a loss, as in tournaments.

    `evaluate_leaves` has counted ties as half of a win.
    """
    walk, scratch, rows = dereference(walk), dereference(scratch), dereference(rows)
    order, rank, cards, same = walk.order, walk.strength, walk.cards, walk.same_hand
    opposite, opposite_rank = walk.opponent_order, walk.opponent_strength
    opposite_cards, sums, value = walk.opponent_cards, scratch.card_sums, rows.value
    reach, other_size = rows.opponent_reach, uint64(walk.sizes[1])
    end, stop = uint64(walk.live_offset[board + 1]), uint64(walk.opponent_live_offset[board + 1])
    zero = value.dtype.type(0)
    for card in range(uint64(sums.shape[0])):
        sums[card, ZERO] = zero
    for leaf in range(walk.leaf_range[block, 0], walk.leaf_range[block, 1]):
        node = walk.leaf[leaf]
        extra = value.dtype.type(walk.payoff[node, 1])
        if extra == zero:
            continue
        row, to = uint64(walk.opponent_row[node]), uint64(node - walk.block[block])
        i, j = uint64(walk.live_offset[board]), uint64(walk.opponent_live_offset[board])
        while i < end:
            level, total = rank[i], zero
            while j < stop and opposite_rank[j] < level:
                j += ONE
            first = j
            while j < stop and opposite_rank[j] == level:
                o = uint64(opposite[j])
                sums[uint64(opposite_cards[o, ZERO]), ZERO] += reach[row, o]
                sums[uint64(opposite_cards[o, ONE]), ZERO] += reach[row, o]
                total += reach[row, o]
                j += ONE
            while i < end and rank[i] == level:
                o = uint64(order[i])
                x = total - sums[uint64(cards[o, ZERO]), ZERO] - sums[uint64(cards[o, ONE]), ZERO]
                if uint64(same[o]) < other_size:
                    x += reach[row, uint64(same[o])]
                value[to, o] += extra * x
                i += ONE
            for k in range(first, j):
                o = uint64(opposite[k])
                sums[uint64(opposite_cards[o, ZERO]), ZERO] = zero
                sums[uint64(opposite_cards[o, ONE]), ZERO] = zero


@kernel
def has_uneven_ties(walk, block):
    """Return True if a tie pays more or less than half of a win at a showdown of a block."""
    for leaf in range(walk.leaf_range[block, 0], walk.leaf_range[block, 1]):
        if walk.payoff[walk.leaf[leaf], 1] != 0.0:
            return True
    return False


@outlined_row_kernel
def evaluate_leaves(walk, scratch, rows, block, board):
    """Set the values of the showdowns, folds and run-outs of a block."""
    walk_reference, scratch_reference, rows_reference = walk, scratch, rows
    walk, rows = dereference(walk), dereference(rows)
    scratch = dereference(scratch)
    order, rank, cards, same = walk.order, walk.strength, walk.cards, walk.same_hand
    opposite, opposite_rank = walk.opponent_order, walk.opponent_strength
    opposite_cards, lanes, payoff = walk.opponent_cards, walk.leaf_lane, walk.payoff
    leaf_reach, weaker, mass = scratch.leaf_reach, scratch.leaf_weaker, scratch.leaf_mass
    sums, square, value = scratch.card_sums, scratch.square, rows.value
    live = (walk.live_offset[board], walk.live_offset[board + 1])
    against = (walk.opponent_live_offset[board], walk.opponent_live_offset[board + 1])
    size, other_size = uint64(walk.sizes[0]), uint64(walk.sizes[1])
    leaves = (walk.leaf_range[block, 0], walk.leaf_range[block, 3])
    start, first_fold, end = (
        walk.lane_range[block, 0],
        walk.lane_range[block, 1],
        walk.lane_range[block, 2],
    )
    for first in range(start, end, LANES):
        last = min(first + LANES, end)
        load_leaf_reach(
            walk.lane_row, first, last, other_size, rows.opponent_reach, square, leaf_reach
        )
        clear(sums, uint64(sums.shape[0]))
        clear(mass, size)
        has_showdowns = first < first_fold
        if has_showdowns:
            clear(weaker, size)
            total = sum_weaker(
                live, order, rank, cards, same, against, opposite, opposite_rank, opposite_cards,
                leaf_reach, sums, weaker,
            )  # fmt: skip
        else:
            total = sum_all(against, opposite, opposite_cards, leaf_reach, sums)
        for i in range(uint64(live[0]), uint64(live[1])):
            o = uint64(order[i])
            x = compatible_sum(sums, cards, o, total)
            x = x + load(leaf_reach, uint64(same[o]) * WIDTH, all_lanes(), mass.dtype.type(0))
            store(mass, o * WIDTH, all_lanes(), x)
        set_leaf_values(
            leaves, lanes, payoff, walk.block[block], first - start, size, has_showdowns, mass,
            weaker, square, value,
        )  # fmt: skip
    if walk.leaf_range[block, 2] < walk.leaf_range[block, 3]:
        add_runouts(walk_reference, rows_reference, block, board)
    if has_uneven_ties(walk, block):
        add_uneven_ties(walk_reference, scratch_reference, rows_reference, block, board)


@sum_row_kernel
def add_leaf_values(walk, rows, block, board, total):
    """Add own reach times value of a block's leaves to `total[0]`, for all boards it stands for."""
    walk, rows = dereference(walk), dereference(rows)
    own_reach, value, base = rows.own_reach, rows.value, walk.block[block]
    result = 0.0
    for i in range(walk.leaf_range[block, 0], walk.leaf_range[block, 3]):
        node = walk.leaf[i]
        row, own = uint64(node - base), uint64(walk.own_row[node])
        for h in range(uint64(walk.sizes[0])):
            result += np.float64(own_reach[own, h]) * np.float64(value[row, h])
    total[0] += result * walk.multiplicity[board]


@outlined_row_kernel
def walk_down(walk, tables, scratch, rows, block, board, mode):
    """Set reach and the values of leaves of a block. Records by reference."""
    descend(walk, tables, scratch, rows, block, board, mode)
    evaluate_leaves(walk, scratch, rows, block, board)
    if mode == MODE_JUDGE:
        add_leaf_values(walk, rows, block, board, dereference(scratch).leaf_total)


@kernel
def set_reach_after_deal(walk, above, node, board, below):
    """Set the first row of the next block to the reach after the deal that leads to `board`."""
    walk, above, below = dereference(walk), dereference(above), dereference(below)
    own_reach, next_own_reach = above.own_reach, below.own_reach
    opponent, next_opponent = above.opponent_reach, below.opponent_reach
    holders, opponent_holders = walk.holders, walk.opponent_holders
    card, chance = walk.card[board], next_opponent.dtype.type(walk.chance[board])
    row, other_row = uint64(walk.own_row[node]), uint64(walk.opponent_row[node])
    for h in range(uint64(walk.sizes[0])):
        next_own_reach[ZERO, h] = own_reach[row, h]
    for h in range(uint64(walk.sizes[1])):
        next_opponent[ZERO, h] = opponent[other_row, h] * chance
    for i in range(walk.holder_offset[card], walk.holder_offset[card + 1]):
        next_own_reach[ZERO, holders[i]] = 0.0
    for i in range(walk.opponent_holder_offset[card], walk.opponent_holder_offset[card + 1]):
        next_opponent[ZERO, opponent_holders[i]] = 0.0


@kernel
def add_values_after_deal(walk, value, row, board, total, to):
    """Add a row of values after a deal to row `to` of `total`, also for isomorphic cards."""
    walk = dereference(walk)
    renaming, renamed = walk.permutation_index, walk.hand_permutations
    size = uint64(walk.sizes[0])
    for h in range(size):
        total[to, h] += value[row, h]
    for i in range(walk.isomorphic_boards[board], walk.isomorphic_boards[board + 1]):
        by = uint64(renaming[i])
        for h in range(size):
            total[to, h] += value[row, renamed[by, h]]


@kernel
def value_tolerance(rows, size, rounding):
    """Return the size up to which differences of values are rounding errors."""
    rows = dereference(rows)
    opponent = rows.opponent_reach
    total = 0.0
    for h in range(uint64(size)):
        total += opponent[ZERO, h]
    return rows.value.dtype.type(max(total * rounding, MIN_TOLERANCE))


@outlined_row_kernel
def walk_block(walk, tables, scratch, rows, block, board, mode, rounding):
    """Walk a block without deals; the caller sets the first row of reach. Records by reference."""
    walk_down(walk, tables, scratch, rows, block, board, mode)
    tiny = value_tolerance(rows, dereference(walk).sizes[1], rounding)
    ascend(walk, tables, scratch, rows, block, board, mode, tiny)


@outlined_row_kernel
def walk_blocks(walk, tables, scratch, rows, below, block, board, mode, rounding):
    """Walk a block and, for each next card, the blocks after its deals. Records by reference."""
    walk_down(walk, tables, scratch, rows, block, board, mode)
    walk_fields, value, next_value = (
        dereference(walk),
        dereference(rows).value,
        dereference(below).value,
    )
    base, leaf, next_boards = walk_fields.block[block], walk_fields.leaf, walk_fields.next_boards
    for i in range(walk_fields.leaf_range[block, 3], walk_fields.leaf_range[block, 4]):
        node = leaf[i]
        row, next_block = uint64(node - base), walk_fields.next_block[node]
        value[row] = 0.0
        for child in range(next_boards[board], next_boards[board + 1]):
            set_reach_after_deal(walk, rows, node, child, below)
            walk_block(walk, tables, scratch, below, next_block, child, mode, rounding)
            add_values_after_deal(walk, next_value, ZERO, child, value, row)
    tiny = value_tolerance(rows, walk_fields.sizes[1], rounding)
    ascend(walk, tables, scratch, rows, block, board, mode, tiny)


@outlined_row_kernel
def walk_last_street(walk, tables, scratch, rows, block, board, mode, rounding):
    """Do `walk_block` for records."""
    walk_block(
        reference(walk), reference(tables), reference(scratch), reference(rows), block, board, mode,
        rounding,
    )  # fmt: skip


@outlined_row_kernel
def walk_middle_street(walk, tables, scratch, block, board, mode, rounding):
    """Do `walk_blocks` for records, in the rows of `scratch`."""
    walk_blocks(
        reference(walk), reference(tables), reference(scratch), reference(scratch.upper),
        reference(scratch.lower), block, board, mode, rounding,
    )  # fmt: skip


@kernel
def copy_first_row(value, row, out):
    """Set a row of `out` to the first row of `value`."""
    for h in range(uint64(out.shape[1])):
        out[row, h] = value[ZERO, h]


@outlined_row_kernel
def walk_after_cards(walk, tables, scratch, top, block, boards, mode, rounding, out, totals):
    """Set the values after the deals of a block, for the boards `boards[0]` to `boards[1]` - 1.

    `out` [boards, deals of the block, hands] has the values of all boards of the next street, and
    `totals` [boards] their sums of `add_leaf_values`. One call walks several boards because a call
    from Python takes 25 us, as long as a small block.
    """
    first, first_leaf, upper, lower = (
        walk.next_boards[0],
        walk.leaf_range[block, 3],
        scratch.upper,
        scratch.lower,
    )
    by_walk, by_tables, by_scratch = reference(walk), reference(tables), reference(scratch)
    by_top, by_upper, by_lower = reference(top), reference(upper), reference(lower)
    for board in range(boards[0], boards[1]):
        values = out[board - first]
        scratch.leaf_total[0] = 0.0
        for i in range(first_leaf, walk.leaf_range[block, 4]):
            node, to = walk.leaf[i], uint64(i - first_leaf)
            below = walk.next_block[node]
            if walk.leaf_range[below, 3] < walk.leaf_range[below, 4]:
                set_reach_after_deal(by_walk, by_top, node, board, by_upper)
                walk_blocks(
                    by_walk, by_tables, by_scratch, by_upper, by_lower, below, board, mode, rounding
                )
                copy_first_row(upper.value, to, values)
            else:
                set_reach_after_deal(by_walk, by_top, node, board, by_lower)
                walk_block(by_walk, by_tables, by_scratch, by_lower, below, board, mode, rounding)
                copy_first_row(lower.value, to, values)
        totals[board - first] = scratch.leaf_total[0]


@outlined_row_kernel
def iterate_last_street(walks, tables, scratches, tops, rounding, mode, factors, decays, weights):
    """Run iterations on a tree of one block, both players in turn.

    Args:
        walks: by player, and so are `scratches` and `tops`. The caller sets the first rows of
            reach.
        tables: its factors are overwritten.
        rounding: see `value_tolerance`.
        mode: MODE_LEARN.
        factors: [T, 3] discounts of each iteration.
        decays: [T, K] factors of the averages so far.
        weights: [T, K] weights of the current policy.
    """
    by_tables = reference(tables)
    first, second = reference(walks[0]), reference(walks[1])
    first_scratch, second_scratch = reference(scratches[0]), reference(scratches[1])
    first_top, second_top = reference(tops[0]), reference(tops[1])
    for t in range(factors.shape[0]):
        for k in range(factors.shape[1]):
            tables.discounts[k] = factors[t, k]
        for k in range(decays.shape[1]):
            tables.sum_decay[k] = decays[t, k]
            tables.sum_weight[k] = weights[t, k]
        walk_block(first, by_tables, first_scratch, first_top, 0, 0, mode, rounding)
        walk_block(second, by_tables, second_scratch, second_top, 0, 0, mode, rounding)


@outlined_row_kernel
def descend_block(walk, tables, scratch, rows, block, board, mode):
    """Walk down a block whose deals are walked by other calls."""
    walk_down(
        reference(walk), reference(tables), reference(scratch), reference(rows), block, board, mode
    )


@outlined_row_kernel
def ascend_first_block(walk, tables, scratch, top, block, board, mode, rounding, after):
    """Walk up the first block with the values `after` [boards, deals, hands] of its deals."""
    base, first = walk.block[block], walk.leaf_range[block, 3]
    for i in range(first, walk.leaf_range[block, 4]):
        row = uint64(walk.leaf[i] - base)
        top.value[row] = 0.0
        for child in range(walk.next_boards[board], walk.next_boards[board + 1]):
            values = after[child - walk.next_boards[board]]
            add_values_after_deal(walk, values, uint64(i - first), child, top.value, row)
    ascend_block(walk, tables, scratch, top, block, board, mode, rounding)


@outlined_row_kernel
def ascend_block(walk, tables, scratch, rows, block, board, mode, rounding):
    """Walk up a block whose deals have their values."""
    tiny = value_tolerance(rows, walk.sizes[1], rounding)
    ascend(
        reference(walk), reference(tables), reference(scratch), reference(rows), block, board, mode,
        tiny,
    )  # fmt: skip


@noinline_kernel
def sort_hands(strength, other, order, other_order, rank, other_rank):
    """Sort two players' hands by strength and number the strengths 0, 1, ... in `rank`.

    Hands of strength -1 are left out. Returns the number of hands of each player.
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
    last, level, count_first, count_other = np.int64(-1), -1, 0, 0
    for k in range(count):
        if keys[k] >> 12 != last:
            last = keys[k] >> 12
            level += 1
        if keys[k] & 2048:
            other_order[count_other], other_rank[count_other] = keys[k] & 2047, level
            count_other += 1
        else:
            order[count_first], rank[count_first] = keys[k] & 2047, level
            count_first += 1
    return count_first, count_other
