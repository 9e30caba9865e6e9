"""Walks of a public tree: a vector over hands at every node, one block (street) after another.

A walk belongs to one player. On the way down it computes the opponent's reach, chance included, and
the player's own reach; on the way up the player's counterfactual values. The tables of a policy
have one piece [actions, hands] for each node and board: see `arenas.holdem.array_layout` for their
order and `types` for the records.

Kernels take records or references to them (`kernels.runtime.references`) and unpack them once.
Inner loops have unsigned indices and no slices, because sign checks would cost more than the
arithmetic.
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.runtime.jit import fma_row_kernel as kernel
from counterplay.kernels.runtime.jit import outlined_row_kernel
from counterplay.kernels.runtime.lanes import (
    LANES,
    all_lanes,
    any_lane,
    fill,
    first_lanes,
    largest_lane,
    load,
    prefetch,
    select,
    store,
)
from counterplay.kernels.runtime.references import dereference

FOLD, SHOWDOWN, DEAL = 2, 3, 4  # as in `arenas.holdem.betting`
# update regrets; best responses; values of the policy; best responses and the value of the policy
MODE_LEARN, MODE_BEST, MODE_MEAN, MODE_JUDGE = 0, 1, 2, 3
INT16_MAX = 32767.0  # largest signed number of 16 bits
PREFETCH_STEP = np.uint64(16)  # numbers of 32 bits in a cache line
ZERO, ONE, WIDTH = np.uint64(0), np.uint64(1), np.uint64(LANES)


@kernel
def positive(x):
    """Return the positive part of lanes."""
    zero = x - x
    return select(x > zero, x, zero)


@kernel
def magnitude(x):
    """Return the absolute values of lanes."""
    zero = x - x
    return select(x < zero, zero - x, x)


@kernel
def round_lanes(x, half):
    """Return lanes that are cut off to the nearest integers."""
    zero = x - x
    return select(x > zero, x + half, x - half)


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
def override_policy_lanes(table, at, count, size, wanted, row, policy, h, mask):
    """Do `override_policy` for 16 hands."""
    like = policy.dtype.type(0)
    zero, width = fill(like), uint64(policy.shape[1])
    is_wanted = load(wanted, uint64(wanted.shape[1]) + h, mask, like) > zero
    if any_lane(is_wanted):
        total = zero
        for a in range(count):
            total = total + positive(load(table, at + a * size + h, mask, like))
        is_set = total > zero
        for a in range(count):
            x = positive(load(table, at + a * size + h, mask, like)) / total
            before = load(policy, (row + a) * width + h, mask, like)
            after = select(is_wanted, select(is_set, x, before), before)
            store(policy, (row + a) * width + h, mask, after)


@kernel
def override_policy(table, start, count, size, wanted, row, policy):
    """Set `policy` to the normalised piece at hands with `wanted[1] > 0` and a positive sum."""
    whole = size - size % WIDTH
    for h in range(ZERO, whole, WIDTH):
        override_policy_lanes(
            table, start, count, size, wanted, row, policy, uint64(h), all_lanes()
        )
    if whole < size:
        rest = first_lanes(size - whole)
        override_policy_lanes(table, start, count, size, wanted, row, policy, whole, rest)


@kernel
def larger(x, y):
    """Return the larger ones of two lanes."""
    return select(x > y, x, y)


@kernel
def quantise(values, length, largest_lanes, table, start, scales, piece):
    """Write a piece to `table` in 16 bits, and its scale to `scales`.

    `largest_lanes` are lanes whose maximum is the largest magnitude of `values`.
    """
    real = values.dtype.type
    like, whole, largest = real(0), length - length % WIDTH, largest_lane(largest_lanes)
    rest = first_lanes(length - whole)
    factor = real(INT16_MAX) / largest
    if not factor < real(np.inf):  # all zeros, or too small to be scaled
        factor = largest = real(0)
    scales[piece] = largest / real(INT16_MAX)
    scale, half = fill(factor), fill(real(0.5))
    for i in range(ZERO, whole, WIDTH):
        x = load(values, i, all_lanes(), like) * scale
        store(table, start + i, all_lanes(), round_lanes(x, half))
    store(table, start + whole, rest, round_lanes(load(values, whole, rest, like) * scale, half))


@kernel
def largest_magnitudes(values, length):
    """Return lanes whose maximum is the largest magnitude of the first numbers of `values`."""
    like, whole = values.dtype.type(0), length - length % WIDTH
    largest = fill(like)
    for i in range(ZERO, whole, WIDTH):
        largest = larger(magnitude(load(values, i, all_lanes(), like)), largest)
    return larger(magnitude(load(values, whole, first_lanes(length - whole), like)), largest)


@kernel
def normalise_lanes(table, start, count, size, reach, h, mask):
    """Return factor and offset of 16 hands: a policy is factor * positive part + offset.

    The offset is not zero at hands whose positive parts are all zero; see `normalise_positive`.
    """
    real = reach.dtype.type
    like, zero, total = real(0), fill(real(0)), fill(real(0))
    for a in range(count):
        total = total + positive(load(table, start + a * size + h, mask, like))
    inverse = fill(real(1)) / total
    is_positive = inverse < fill(real(np.inf))
    uniform = fill(real(1) / real(count))
    return select(is_positive, inverse, zero), select(is_positive, zero, uniform)


@kernel
def multiply_opponent_lanes(table, start, count, size, above, row, reach, h, mask):
    """Set the opponent's reach of a node's children at 16 hands to that above times the policy.

    Returns True if a hand with positive reach has a policy that is uniform for want of another.
    """
    like, width = reach.dtype.type(0), uint64(reach.shape[1])
    factor, offset = normalise_lanes(table, start, count, size, reach, h, mask)
    before = load(reach, above * width + h, mask, like)
    for a in range(count):
        x = positive(load(table, start + a * size + h, mask, like))
        store(reach, (row + a) * width + h, mask, before * (x * factor + offset))
    return any_lane(before * offset > fill(like))


@kernel
def multiply_opponent(table, start, count, size, above, row, reach):
    """Set the opponent's reach of a node's children; see `multiply_opponent_lanes`."""
    whole, is_missing = size - size % WIDTH, False
    for h in range(ZERO, whole, WIDTH):
        is_missing |= multiply_opponent_lanes(
            table, start, count, size, above, row, reach, uint64(h), all_lanes()
        )
    if whole < size:
        rest = first_lanes(size - whole)
        is_missing |= multiply_opponent_lanes(
            table, start, count, size, above, row, reach, whole, rest
        )
    return is_missing


@kernel
def act_lanes(table, start, count, size, above, row, policy, reach, averages, h, mask):
    """Do `act` for 16 hands."""
    source, target, decay, weight, sums, fresh = averages
    like, width = reach.dtype.type(0), uint64(reach.shape[1])
    policy_width, has_sums, largest = uint64(policy.shape[1]), sums.size > 0, fill(like)
    factor, offset = normalise_lanes(table, start, count, size, reach, h, mask)
    before = load(reach, above * width + h, mask, like)
    decay_lanes, weight_lanes = fill(decay), fill(weight)
    for a in range(count):
        x = positive(load(table, start + a * size + h, mask, like)) * factor + offset
        after = before * x
        store(policy, (row + a) * policy_width + h, mask, x)
        store(reach, (row + a) * width + h, mask, after)
        if has_sums:
            total = load(sums, source + a * size + h, mask, like) * decay_lanes
            total = total + weight_lanes * after
            store(fresh, target + a * size + h, mask, total)
            largest = larger(total, largest)  # sums are not negative
    return any_lane(before * offset > fill(like)), largest


@kernel
def act(table, start, count, size, above, row, policy, reach, averages):
    """Set policy and own reach of a node's children, and add the reach to one average.

    `averages` has the starts of the piece in the sums so far and in the new ones, decay and weight,
    the sums so far, and the array of the new ones. If the sums are empty, nothing is added.

    Returns True if a hand with positive reach has a policy that is uniform for want of another, and
    lanes whose maximum is the largest new sum.
    """
    whole, is_missing, largest = size - size % WIDTH, False, fill(reach.dtype.type(0))
    for h in range(ZERO, whole, WIDTH):
        missing, x = act_lanes(
            table, start, count, size, above, row, policy, reach, averages, uint64(h), all_lanes()
        )
        is_missing, largest = is_missing | missing, larger(x, largest)
    if whole < size:
        rest = first_lanes(size - whole)
        missing, x = act_lanes(
            table, start, count, size, above, row, policy, reach, averages, whole, rest
        )
        is_missing, largest = is_missing | missing, larger(x, largest)
    return is_missing, largest


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


@kernel
def prefetch_piece(table, start, length):
    """Bring a piece into the cache while others are processed."""
    for i in range(ZERO, length, PREFETCH_STEP):
        prefetch(table, start + i)


@outlined_row_kernel
def descend(walk, tables, scratch, rows, block, board, mode):
    """Set the reach of every node of a block; the caller sets its first row."""
    walk, tables = dereference(walk), dereference(tables)
    scratch, rows = dereference(scratch), dereference(rows)
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
    is_fused = mode == MODE_JUDGE or (
        mode == MODE_LEARN and sum_weights.size == 1 and fallback.size == 0
    )
    for node in range(base, walk.block[block + 1]):
        if kind[node] >= FOLD:
            continue
        mine = kind[node] == player
        is_locked = lock_offset.size > 0 and lock_offset[pieces[node] + board] >= 0
        if mine and mode == MODE_BEST and not is_locked:
            continue
        row, count = uint64(first_child[node] - base), uint64(counts[node])
        size = uint64(sizes[0 if mine else 1])
        start = uint64(starts[node] + board * strides[node])
        above = uint64(own_row[node] if mine else opponent_row[node])
        following = start + uint64(strides[node])
        prefetch_piece(weights, following, count * size)
        if mine and mode == MODE_LEARN and sum_weights.size:
            prefetch_piece(sums, following, count * size)
        if not mine and not is_locked:
            is_missing = multiply_opponent(weights, start, count, size, above, row, opponent)
            if not (is_missing and fallback.size):
                continue
        elif is_fused and not is_locked:
            decay = real(decays[0]) if decays.size else real(0)
            weight = real(sum_weights[0]) if decays.size else real(0)
            if scales.size:
                piece = pieces[node] + board
                averages = (start, ZERO, decay * real(scales[ZERO, piece]), weight, sums, fresh)
                _, largest = act(
                    weights, start, count, size, above, row, policy, own_reach, averages
                )
                quantise(fresh, count * size, largest, sums[ZERO], start, scales[ZERO], piece)
                continue
            is_missing, _ = act(
                weights, start, count, size, above, row, policy, own_reach,
                (start, start, decay, weight, sums, sums),
            )  # fmt: skip
            if not (is_missing and fallback.size):
                continue
        missing = normalise_positive(weights, start, count, size, total, row, policy)
        if missing and fallback.size:
            override_policy(fallback, start, count, size, total, row, policy)
        if is_locked:
            for h in range(size):
                total[ONE, h] = real(1)
            at = uint64(lock_offset[pieces[node] + board])
            override_policy(lock, at, count, size, total, row, policy)
        if not mine:
            multiply_reach(above, row, count, size, policy, opponent)
        elif mode in (MODE_LEARN, MODE_JUDGE):
            multiply_reach(above, row, count, size, policy, own_reach)
            for k in range(sum_weights.size):
                decay, weight = real(decays[k]), real(sum_weights[k])
                if scales.size:
                    piece = pieces[node] + board
                    decay *= real(scales[k, piece])
                    add_packed_average(
                        start, row, count, size, own_reach, decay, weight, k, sums, fresh
                    )
                    largest = largest_magnitudes(fresh, count * size)
                    quantise(fresh, count * size, largest, sums[k], start, scales[k], piece)
                else:
                    add_average(start, row, count, size, own_reach, decay, weight, k, sums)


@kernel
def learn_lanes(
    start, row, first, count, size, discounts, tolerance, policy, value, scale, table, target, h,
    mask,
):  # fmt: skip
    """Do `learn` for 16 hands."""
    largest = fill(value.dtype.type(0))
    at, regret = start
    like, width, policy_width = value.dtype.type(0), uint64(value.shape[1]), uint64(policy.shape[1])
    zero, tiny = fill(like), fill(tolerance)
    up, down, factor = fill(discounts[0]), fill(discounts[1]), fill(scale)
    mean = zero
    for a in range(count):
        share = load(policy, (first + a) * policy_width + h, mask, like)
        mean = mean + share * load(value, (first + a) * width + h, mask, like)
    store(value, row * width + h, mask, mean)
    for a in range(count):
        gain = load(value, (first + a) * width + h, mask, like) - mean
        x = load(table, at + a * size + h, mask, like) * factor
        x = x + select(magnitude(gain) > tiny, gain, zero)
        x = x * select(x > zero, up, down)
        x = select(magnitude(x) > tiny, x, zero)
        store(target, regret + a * size + h, mask, x)
        largest = larger(magnitude(x), largest)
    return largest


@kernel
def learn(
    start, row, first, count, size, discounts, tolerance, policy, value, scale, table, target
):
    """Set a node's values; add its instant regrets, value(action) - value(node), and discount.

    `start` has the start of the node's piece in `table`, where the regrets are divided by `scale`,
    and in `target`, where the new regrets go. Returns lanes whose maximum is the largest magnitude.
    """
    whole, largest = size - size % WIDTH, fill(value.dtype.type(0))
    for h in range(ZERO, whole, WIDTH):
        x = learn_lanes(
            start, row, first, count, size, discounts, tolerance, policy, value, scale, table,
            target, uint64(h), all_lanes(),
        )  # fmt: skip
        largest = larger(x, largest)
    if whole < size:
        x = learn_lanes(
            start, row, first, count, size, discounts, tolerance, policy, value, scale, table,
            target, whole, first_lanes(size - whole),
        )  # fmt: skip
        largest = larger(x, largest)
    return largest


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
def sum_children_lanes(first, count, row, value, h, mask):
    """Do `sum_children` for 16 hands."""
    like, width = value.dtype.type(0), uint64(value.shape[1])
    total = load(value, first * width + h, mask, like)
    for a in range(ONE, count):
        total = total + load(value, (first + a) * width + h, mask, like)
    store(value, row * width + h, mask, total)


@kernel
def sum_children(first, count, size, row, value):
    """Set a row of values to the sum over the children."""
    whole = size - size % WIDTH
    for h in range(ZERO, whole, WIDTH):
        sum_children_lanes(first, count, row, value, uint64(h), all_lanes())
    if whole < size:
        sum_children_lanes(first, count, row, value, whole, first_lanes(size - whole))


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


@outlined_row_kernel
def ascend(walk, tables, scratch, rows, block, board, mode, tolerance):
    """Set the values of a block's nodes from its leaves; update regrets if `mode` is MODE_LEARN."""
    walk, tables = dereference(walk), dereference(tables)
    scratch, rows = dereference(scratch), dereference(rows)
    kind, first_child, counts, player = walk.kind, walk.first, walk.count, walk.player
    starts, strides, pieces = walk.start, walk.stride, walk.piece_index
    value, policy, fresh = rows.value, rows.policy, scratch.piece
    regret, scales = tables.regret, tables.regret_scale
    lock_offset, lock = tables.lock_offset, tables.lock_weights
    weights, weights_scale = tables.policy_weights, tables.policy_weights_scale
    base, size, real = walk.block[block], uint64(walk.sizes[0]), value.dtype.type
    discounts = (real(tables.discounts[0]), real(tables.discounts[1]), real(tables.discounts[2]))
    tiny = real(tolerance)
    for node in range(walk.block[block + 1] - 1, base - 1, -1):
        if kind[node] >= FOLD:
            continue
        row, first = uint64(node - base), uint64(first_child[node] - base)
        count, piece = uint64(counts[node]), pieces[node] + board
        start = uint64(starts[node] + board * strides[node])
        if kind[node] != player:
            sum_children(first, count, size, row, value)
        elif mode in (MODE_BEST, MODE_JUDGE):
            max_children(first, count, size, row, value)
            if lock_offset.size and lock_offset[piece] >= 0:
                at = uint64(lock_offset[piece])
                apply_lock_values(lock, at, first, count, size, row, policy, value)
        elif mode == MODE_MEAN:
            average_children(first, count, size, row, policy, value)
        if kind[node] != player or mode != MODE_LEARN:
            continue
        scale = real(1)
        if scales.size:
            largest = learn(
                (start, ZERO), row, first, count, size, discounts, tiny, policy, value,
                real(scales[piece]), regret, fresh,
            )  # fmt: skip
            quantise(fresh, count * size, largest, regret, start, scales, piece)
            scale = real(scales[piece])
        else:
            learn(
                (start, start), row, first, count, size, discounts, tiny, policy, value,
                scale, regret, regret,
            )  # fmt: skip
        if discounts[2] != real(0):
            predict_regrets(
                start, row, first, count, size, discounts, tiny, value, scale, regret, fresh
            )
            if scales.size:
                largest = largest_magnitudes(fresh, count * size)
                quantise(fresh, count * size, largest, weights, start, weights_scale, piece)
            else:
                for i in range(count * size):
                    weights[start + i] = fresh[i]
