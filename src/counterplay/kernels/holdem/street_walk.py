"""Walks of a public tree: a vector over hands at every node, one street's block after another.

A walk is one player's. Down the tree go the opponent's reach, chance included, and the player's
own; up come its counterfactual values. What a policy is made of stands in tables, for each node and
board one piece [actions, hands]: see `public.layout` for their order, `ranges` for the names.

Kernels take the arrays they need out of these tuples once, and the loops inside have unsigned
indices and no slices: counting references and checking signs would cost more than the work.
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.runtime.jit import fma_kernel as kernel
from counterplay.kernels.runtime.jit import noinline_kernel

FOLD, SHOWDOWN, DEAL = 2, 3, 4  # as in `public.betting`
MODE_LEARN, MODE_BEST, MODE_MEAN = 0, 1, 2  # what happens on the way up
INT16_MAX = 32767.0  # the largest 16-bit number
ZERO, ONE = np.uint64(0), np.uint64(1)


@kernel
def normalise_positive(table, start, count, size, total, row, policy):
    """Set rows of `policy` to what is positive in a piece, scaled; returns hands without any.

    Afterwards `total[1]` is not zero at these. A total so small that its inverse overflows counts
    as none: in 32 bits that comes after some hundred raises.
    """
    real = policy.dtype.type
    zero, one = real(0), real(1)
    for h in range(size):
        total[ZERO, h] = zero
    for a in range(count):
        at, to = start + a * size, row + a
        for h in range(size):
            x = max(real(table[at + h]), zero)
            policy[to, h] = x
            total[ZERO, h] += x
    even, missing, infinity = one / real(count), 0, real(np.inf)
    for h in range(size):
        inverse = one / total[ZERO, h]
        some = inverse < infinity
        total[ZERO, h] = inverse if some else zero
        total[ONE, h] = zero if some else even
        missing += 0 if some else 1
    for a in range(count):
        to = row + a
        for h in range(size):
            policy[to, h] = policy[to, h] * total[ZERO, h] + total[ONE, h]
    return missing


@kernel
def override_policy(table, start, count, size, wanted, row, policy):
    """Set a hand's policy to its part of a piece, where that has any; only at `wanted` hands."""
    real = policy.dtype.type
    zero = real(0)
    for h in range(size):
        if wanted[ONE, h] > zero:
            total = zero
            for a in range(count):
                total += max(real(table[start + a * size + h]), zero)
            if total > zero:
                for a in range(count):
                    x = max(real(table[start + a * size + h]), zero)
                    policy[row + a, h] = x / total


@kernel
def quantise(values, length, table, start, scales, place):
    """Write a piece in 16 bits, with its scale."""
    real = values.dtype.type
    largest = real(0)
    for i in range(length):
        largest = max(largest, abs(values[i]))
    factor = real(INT16_MAX) / largest
    if not factor < real(np.inf):  # nothing, or too little to be scaled
        factor = largest = real(0)
    scales[place] = largest / real(INT16_MAX)
    half = real(0.5)
    for i in range(length):
        x = values[i] * factor
        table[start + i] = np.int16(x + half if x > real(0) else x - half)


@kernel
def multiply_reach(above, row, count, size, policy, reach):
    """Set the reach of a node's children, from the row above."""
    for a in range(count):
        to = row + a
        for h in range(size):
            reach[to, h] = reach[above, h] * policy[to, h]


@kernel
def add_average(start, row, count, size, reach, fade, more, k, sums):
    """Add the children's reach to a piece of the sums."""
    for a in range(count):
        at, to = start + a * size, row + a
        for h in range(size):
            sums[k, at + h] = sums[k, at + h] * fade + more * reach[to, h]


@kernel
def add_packed_average(start, row, count, size, reach, fade, more, k, sums, fresh):
    """The same into `fresh`, from a piece of 16 bits."""
    real = reach.dtype.type
    for a in range(count):
        at, to = start + a * size, row + a
        for h in range(size):
            fresh[a * size + h] = real(sums[k, at + h]) * fade + more * reach[to, h]


@noinline_kernel
def descend(walk, tables, room, rows, block, board, mode):
    """Set the reach of every node of a block, whose first row is given."""
    kind, first_child, counts, sizes = walk.kind, walk.first, walk.count, walk.sizes
    starts, strides, places = walk.start, walk.stride, walk.piece_index
    own_row, opponent_row, player = walk.own_row, walk.opponent_row, walk.player
    shown, otherwise, locked, lock = (
        tables.policy_weights,
        tables.fallback_weights,
        tables.lock_offset,
        tables.lock_weights,
    )
    sums, scales, fades, mores = (
        tables.policy_sum,
        tables.policy_sum_scale,
        tables.sum_decay,
        tables.sum_weight,
    )
    own, opponent, policy = rows.own_reach, rows.opponent_reach, rows.policy
    total, fresh = room.hand_total, room.piece
    real = policy.dtype.type
    base = walk.block[block]
    for node in range(base, walk.block[block + 1]):
        if kind[node] >= FOLD:
            continue
        mine = kind[node] == player
        row, count = uint64(first_child[node] - base), uint64(counts[node])
        size = uint64(sizes[0 if mine else 1])
        start = uint64(starts[node] + board * strides[node])
        missing = normalise_positive(shown, start, count, size, total, row, policy)
        if missing and otherwise.size:
            override_policy(otherwise, start, count, size, total, row, policy)
        if locked.size and locked[places[node] + board] >= 0:
            for h in range(size):
                total[ONE, h] = real(1)
            at = uint64(locked[places[node] + board])
            override_policy(lock, at, count, size, total, row, policy)
        if not mine:
            multiply_reach(uint64(opponent_row[node]), row, count, size, policy, opponent)
        elif mode == MODE_LEARN:
            multiply_reach(uint64(own_row[node]), row, count, size, policy, own)
            for k in range(mores.size):
                fade, more = real(fades[k]), real(mores[k])
                if scales.size:
                    place = places[node] + board
                    fade *= real(scales[k, place])
                    add_packed_average(start, row, count, size, own, fade, more, k, sums, fresh)
                    quantise(fresh, count * size, sums[k], start, scales[k], place)
                else:
                    add_average(start, row, count, size, own, fade, more, k, sums)


@kernel
def update_regrets(start, row, first, count, size, discounts, tolerance, value, regret):
    """Add a node's instant regrets, which are values less their mean, to its regrets."""
    zero, up, down = discounts[0] - discounts[0], discounts[0], discounts[1]
    for a in range(count):
        at, of = start + a * size, first + a
        for h in range(size):
            gain = value[of, h] - value[row, h]
            x = regret[at + h] + (gain if abs(gain) > tolerance else zero)
            x *= up if x > zero else down
            regret[at + h] = x if abs(x) > tolerance else zero


@kernel
def update_packed_regrets(
    start, row, first, count, size, discounts, tolerance, value, scale, regret, fresh
):
    """The same into `fresh`, from a piece of 16 bits."""
    zero, up, down = discounts[0] - discounts[0], discounts[0], discounts[1]
    real = value.dtype.type
    for a in range(count):
        at, of = start + a * size, first + a
        for h in range(size):
            gain = value[of, h] - value[row, h]
            x = real(regret[at + h]) * scale + (gain if abs(gain) > tolerance else zero)
            x *= up if x > zero else down
            fresh[a * size + h] = x if abs(x) > tolerance else zero


@kernel
def predict_regrets(
    start, row, first, count, size, discounts, tolerance, value, scale, regret, fresh
):
    """Set `fresh` to the regrets with the last instant ones counted again."""
    zero, again = discounts[0] - discounts[0], discounts[2]
    real = value.dtype.type
    for a in range(count):
        at, of = start + a * size, first + a
        for h in range(size):
            gain = value[of, h] - value[row, h]
            x = real(regret[at + h]) * scale + again * (gain if abs(gain) > tolerance else zero)
            fresh[a * size + h] = x if x > tolerance else zero


@kernel
def sum_children(first, count, size, row, value):
    """Set a row of values to the sum of the children's."""
    for h in range(size):
        value[row, h] = value[first, h]
    for a in range(ONE, count):
        for h in range(size):
            value[row, h] += value[first + a, h]


@kernel
def average_children(first, count, size, row, policy, value):
    """Set a row of values to the mean of the children's."""
    for h in range(size):
        value[row, h] = policy[first, h] * value[first, h]
    for a in range(ONE, count):
        for h in range(size):
            value[row, h] += policy[first + a, h] * value[first + a, h]


@kernel
def max_children(first, count, size, row, value):
    """Set a row of values to the best child's."""
    for h in range(size):
        value[row, h] = value[first, h]
    for a in range(ONE, count):
        for h in range(size):
            value[row, h] = max(value[row, h], value[first + a, h])


@kernel
def apply_lock_values(lock, at, first, count, size, row, policy, value):
    """Set the value of locked hands to that of what they must do."""
    for h in range(size):
        total, mean = 0.0, 0.0
        for a in range(count):
            total += lock[at + a * size + h]
            mean += policy[first + a, h] * value[first + a, h]
        if total > 0.0:
            value[row, h] = mean


@noinline_kernel
def ascend(walk, tables, room, rows, block, board, mode, tolerance):
    """Set the values of a block's nodes from those of its leaves; and learn, if that is wanted."""
    kind, first_child, counts, player = walk.kind, walk.first, walk.count, walk.player
    starts, strides, places = walk.start, walk.stride, walk.piece_index
    value, policy, fresh = rows.value, rows.policy, room.piece
    regret, scales, locked, lock = (
        tables.regret,
        tables.regret_scale,
        tables.lock_offset,
        tables.lock_weights,
    )
    shown, shown_scale = tables.policy_weights, tables.policy_weights_scale
    base, size, real = walk.block[block], uint64(walk.sizes[0]), value.dtype.type
    rule = (real(tables.discounts[0]), real(tables.discounts[1]), real(tables.discounts[2]))
    for node in range(walk.block[block + 1] - 1, base - 1, -1):
        if kind[node] >= FOLD:
            continue
        row, first = uint64(node - base), uint64(first_child[node] - base)
        count, place = uint64(counts[node]), places[node] + board
        start = uint64(starts[node] + board * strides[node])
        if kind[node] != player:
            sum_children(first, count, size, row, value)
        elif mode == MODE_BEST:
            max_children(first, count, size, row, value)
            if locked.size and locked[place] >= 0:
                at = uint64(locked[place])
                apply_lock_values(lock, at, first, count, size, row, policy, value)
        else:
            average_children(first, count, size, row, policy, value)
        if kind[node] != player or mode != MODE_LEARN:
            continue
        scale = real(1)
        if scales.size:
            scale = real(scales[place])
            update_packed_regrets(
                start, row, first, count, size, rule, tolerance, value, scale, regret, fresh
            )
            quantise(fresh, count * size, regret, start, scales, place)
            scale = real(scales[place])
        else:
            update_regrets(start, row, first, count, size, rule, tolerance, value, regret)
        if rule[2] != real(0):
            predict_regrets(
                start, row, first, count, size, rule, tolerance, value, scale, regret, fresh
            )
            if scales.size:
                quantise(fresh, count * size, shown, start, shown_scale, place)
            else:
                for i in range(count * size):
                    shown[start + i] = fresh[i]
