"""Walks of a public tree: a vector over hands at every node, one block (street) after another.

A walk belongs to one player. On the way down it computes the opponent's reach, chance included, and
the player's own reach; on the way up the player's counterfactual values. The tables of a policy
have one piece [actions, hands] for each node and board: see `arenas.holdem.array_layout` for their
order and `types` for the records.

Kernels unpack the records once; inner loops have unsigned indices and no slices, because reference
counting and sign checks would cost more than the arithmetic.
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.runtime.jit import fma_kernel as kernel
from counterplay.kernels.runtime.jit import noinline_kernel

FOLD, SHOWDOWN, DEAL = 2, 3, 4  # as in `arenas.holdem.betting`
MODE_LEARN, MODE_BEST, MODE_MEAN = 0, 1, 2  # update regrets; best responses; values of the policy
INT16_MAX = 32767.0  # largest signed number of 16 bits
ZERO, ONE = np.uint64(0), np.uint64(1)


@kernel
def normalise_positive(table, start, count, size, total, row, policy):
    """Set rows of `policy` to the normalised positive part of a piece, or to uniform if it is zero.

    Returns the number of hands whose positive part is zero; `total[1]` is not zero at these. A sum
    whose inverse overflows counts as zero: in 32 bits that happens after some hundred raises.
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
    uniform, missing, infinity = one / real(count), 0, real(np.inf)
    for h in range(size):
        inverse = one / total[ZERO, h]
        is_positive = inverse < infinity
        total[ZERO, h] = inverse if is_positive else zero
        total[ONE, h] = zero if is_positive else uniform
        missing += 0 if is_positive else 1
    for a in range(count):
        to = row + a
        for h in range(size):
            policy[to, h] = policy[to, h] * total[ZERO, h] + total[ONE, h]
    return missing


@kernel
def override_policy(table, start, count, size, wanted, row, policy):
    """Set `policy` to the normalised piece at hands with `wanted[1] > 0` and a positive sum."""
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
def quantise(values, length, table, start, scales, piece):
    """Write a piece to `table` in 16 bits, and its scale to `scales`."""
    real = values.dtype.type
    largest = real(0)
    for i in range(length):
        largest = max(largest, abs(values[i]))
    factor = real(INT16_MAX) / largest
    if not factor < real(np.inf):  # all zeros, or too small to be scaled
        factor = largest = real(0)
    scales[piece] = largest / real(INT16_MAX)
    half = real(0.5)
    for i in range(length):
        x = values[i] * factor
        table[start + i] = np.int16(x + half if x > real(0) else x - half)


@kernel
def multiply_reach(above, row, count, size, policy, reach):
    """Set the reach of a node's children to the reach in row `above` times the policy."""
    for a in range(count):
        to = row + a
        for h in range(size):
            reach[to, h] = reach[above, h] * policy[to, h]


@kernel
def add_average(start, row, count, size, reach, decay, weight, k, sums):
    """Add the children's reach to a piece of the sums: sums = sums * decay + weight * reach."""
    for a in range(count):
        at, to = start + a * size, row + a
        for h in range(size):
            sums[k, at + h] = sums[k, at + h] * decay + weight * reach[to, h]


@kernel
def add_packed_average(start, row, count, size, reach, decay, weight, k, sums, fresh):
    """`add_average` for sums of 16 bits; writes the result to `fresh`."""
    real = reach.dtype.type
    for a in range(count):
        at, to = start + a * size, row + a
        for h in range(size):
            fresh[a * size + h] = real(sums[k, at + h]) * decay + weight * reach[to, h]


@noinline_kernel
def descend(walk, tables, scratch, rows, block, board, mode):
    """Set the reach of every node of a block; the caller sets its first row."""
    kind, first_child, counts, sizes = walk.kind, walk.first, walk.count, walk.sizes
    starts, strides, pieces = walk.start, walk.stride, walk.piece_index
    own_row, opponent_row, player = walk.own_row, walk.opponent_row, walk.player
    weights, fallback = tables.policy_weights, tables.fallback_weights
    lock_offset, lock = tables.lock_offset, tables.lock_weights
    sums, scales = tables.policy_sum, tables.policy_sum_scale
    decays, sum_weights = tables.sum_decay, tables.sum_weight
    own_reach, opponent, policy = rows.own_reach, rows.opponent_reach, rows.policy
    total, fresh = scratch.hand_total, scratch.piece
    real = policy.dtype.type
    base = walk.block[block]
    for node in range(base, walk.block[block + 1]):
        if kind[node] >= FOLD:
            continue
        mine = kind[node] == player
        row, count = uint64(first_child[node] - base), uint64(counts[node])
        size = uint64(sizes[0 if mine else 1])
        start = uint64(starts[node] + board * strides[node])
        missing = normalise_positive(weights, start, count, size, total, row, policy)
        if missing and fallback.size:
            override_policy(fallback, start, count, size, total, row, policy)
        if lock_offset.size and lock_offset[pieces[node] + board] >= 0:
            for h in range(size):
                total[ONE, h] = real(1)
            at = uint64(lock_offset[pieces[node] + board])
            override_policy(lock, at, count, size, total, row, policy)
        if not mine:
            multiply_reach(uint64(opponent_row[node]), row, count, size, policy, opponent)
        elif mode == MODE_LEARN:
            multiply_reach(uint64(own_row[node]), row, count, size, policy, own_reach)
            for k in range(sum_weights.size):
                decay, weight = real(decays[k]), real(sum_weights[k])
                if scales.size:
                    piece = pieces[node] + board
                    decay *= real(scales[k, piece])
                    add_packed_average(
                        start, row, count, size, own_reach, decay, weight, k, sums, fresh
                    )
                    quantise(fresh, count * size, sums[k], start, scales[k], piece)
                else:
                    add_average(start, row, count, size, own_reach, decay, weight, k, sums)


@kernel
def update_regrets(start, row, first, count, size, discounts, tolerance, value, regret):
    """Add a node's instant regrets, value(action) - value(node), and discount the sums."""
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
    """`update_regrets` for regrets of 16 bits; writes the result to `fresh`."""
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
    """Set `fresh` to regret + prediction weight * instant regret, its positive part."""
    zero, prediction = discounts[0] - discounts[0], discounts[2]
    real = value.dtype.type
    for a in range(count):
        at, of = start + a * size, first + a
        for h in range(size):
            gain = value[of, h] - value[row, h]
            x = real(regret[at + h]) * scale + prediction * (
                gain if abs(gain) > tolerance else zero
            )
            fresh[a * size + h] = x if x > tolerance else zero


@kernel
def sum_children(first, count, size, row, value):
    """Set a row of values to the sum over the children."""
    for h in range(size):
        value[row, h] = value[first, h]
    for a in range(ONE, count):
        for h in range(size):
            value[row, h] += value[first + a, h]


@kernel
def average_children(first, count, size, row, policy, value):
    """Set a row of values to the mean of the children under the policy."""
    for h in range(size):
        value[row, h] = policy[first, h] * value[first, h]
    for a in range(ONE, count):
        for h in range(size):
            value[row, h] += policy[first + a, h] * value[first + a, h]


@kernel
def max_children(first, count, size, row, value):
    """Set a row of values to the maximum over the children."""
    for h in range(size):
        value[row, h] = value[first, h]
    for a in range(ONE, count):
        for h in range(size):
            value[row, h] = max(value[row, h], value[first + a, h])


@kernel
def apply_lock_values(lock, at, first, count, size, row, policy, value):
    """Set the value of locked hands to the mean of the children under the locked policy."""
    for h in range(size):
        total, mean = 0.0, 0.0
        for a in range(count):
            total += lock[at + a * size + h]
            mean += policy[first + a, h] * value[first + a, h]
        if total > 0.0:
            value[row, h] = mean


@noinline_kernel
def ascend(walk, tables, scratch, rows, block, board, mode, tolerance):
    """Set the values of a block's nodes from its leaves; update regrets if `mode` is MODE_LEARN."""
    kind, first_child, counts, player = walk.kind, walk.first, walk.count, walk.player
    starts, strides, pieces = walk.start, walk.stride, walk.piece_index
    value, policy, fresh = rows.value, rows.policy, scratch.piece
    regret, scales = tables.regret, tables.regret_scale
    lock_offset, lock = tables.lock_offset, tables.lock_weights
    weights, weights_scale = tables.policy_weights, tables.policy_weights_scale
    base, size, real = walk.block[block], uint64(walk.sizes[0]), value.dtype.type
    discounts = (real(tables.discounts[0]), real(tables.discounts[1]), real(tables.discounts[2]))
    for node in range(walk.block[block + 1] - 1, base - 1, -1):
        if kind[node] >= FOLD:
            continue
        row, first = uint64(node - base), uint64(first_child[node] - base)
        count, piece = uint64(counts[node]), pieces[node] + board
        start = uint64(starts[node] + board * strides[node])
        if kind[node] != player:
            sum_children(first, count, size, row, value)
        elif mode == MODE_BEST:
            max_children(first, count, size, row, value)
            if lock_offset.size and lock_offset[piece] >= 0:
                at = uint64(lock_offset[piece])
                apply_lock_values(lock, at, first, count, size, row, policy, value)
        else:
            average_children(first, count, size, row, policy, value)
        if kind[node] != player or mode != MODE_LEARN:
            continue
        scale = real(1)
        if scales.size:
            scale = real(scales[piece])
            update_packed_regrets(
                start, row, first, count, size, discounts, tolerance, value, scale, regret, fresh
            )
            quantise(fresh, count * size, regret, start, scales, piece)
            scale = real(scales[piece])
        else:
            update_regrets(start, row, first, count, size, discounts, tolerance, value, regret)
        if discounts[2] != real(0):
            predict_regrets(
                start, row, first, count, size, discounts, tolerance, value, scale, regret, fresh
            )
            if scales.size:
                quantise(fresh, count * size, weights, start, weights_scale, piece)
            else:
                for i in range(count * size):
                    weights[start + i] = fresh[i]
