"""Sweeps over the sequence form: the kernels of full-tree algorithms and of exact evaluation.

Arrays over sequences have S + 1 entries; the last is the empty sequence, before a player's first
action. Kernels with arguments `first` and `last` process these infosets (or rows) only, so that
threads can share a level.

Indices are unsigned, and infosets of two and of three actions have their own branches: signed
indices and loops of unknown length cost half the speed (benchmarks/speed/speed.md).
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.runtime.jit import fma_call_kernel as call_kernel
from counterplay.kernels.runtime.jit import fma_kernel as kernel
from counterplay.kernels.runtime.tile_product import multiply_tile

ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@kernel
def clear(form, player, cf_value):
    """Set the player's part of `cf_value` [S + 1], and its last entry, to zero."""
    offset, player_infoset = form.offset, form.player_infoset
    for s in range(offset[player_infoset[player]], offset[player_infoset[player + 1]]):
        cf_value[s] = 0.0
    cf_value[cf_value.size - 1] = 0.0


@kernel
def payoff(form, first, last, reach, cf_value):
    """Set `cf_value` [S + 1] at the sequences of rows `first` to `last`, from their terminals:

    cf_value = sum over entries of weight * product of the other players' reach
    """
    row_offset, row_sequence = form.row_offset, form.row_sequence
    other, weight = form.other, form.weight
    num_others = other.shape[1]
    e = uint64(row_offset[first])
    for r in range(uint64(first), uint64(last)):
        end = uint64(row_offset[r + ONE])
        total = 0.0
        if num_others == 1 and end - e == ONE:
            total += weight[e] * reach[other[e, 0]]
            e = end
        elif num_others == 1 and end - e == TWO:
            total += weight[e] * reach[other[e, 0]]
            total += weight[e + ONE] * reach[other[e + ONE, 0]]
            e = end
        elif num_others == 1:
            while e < end:
                total += weight[e] * reach[other[e, 0]]
                e += ONE
        else:
            while e < end:
                product = weight[e]
                for j in range(num_others):
                    product *= reach[other[e, j]]
                total += product
                e += ONE
        cf_value[row_sequence[r]] = total


@kernel
def tile_payoff(form, first, last, reach, cf_value):
    """Set `cf_value` [S + 1] at the sequences of tiles `first` to `last` of a `SweepForm`.

    A tile takes a third of the time of its rows.
    """
    matrix, tile_matrix, sequence = form.matrix, form.tile_matrix, form.tile_sequence
    offset, column = form.tile_offset, form.tile_column
    for t in range(uint64(first), uint64(last)):
        end = offset[t + ONE]
        multiply_tile(matrix, tile_matrix[t], column, offset[t], end, reach, sequence, t, cf_value)


@call_kernel
def player_payoff(form, player, reach, cf_value):
    """Set the player's part of `cf_value` [S + 1], and its last entry, from all terminals.

    `form` is a `SweepForm`, here and in all kernels below that run whole iterations.
    """
    clear(form, player, cf_value)
    payoff(form, form.player_row[player], form.player_row[player + 1], reach, cf_value)
    tile_payoff(form, form.player_tile[player], form.player_tile[player + 1], reach, cf_value)


@kernel
def forward(form, first, last, policy, reach):
    """Set `reach` [S + 1] at infosets `first` to `last`, parents first: reach(parent) * policy."""
    offset, parent = form.offset, form.parent
    s = uint64(offset[first])
    for i in range(uint64(first), uint64(last)):
        end = uint64(offset[i + ONE])
        above = reach[parent[i]]
        if end - s == TWO:
            reach[s], reach[s + ONE] = above * policy[s], above * policy[s + ONE]
        else:
            for k in range(s, end):
                reach[k] = above * policy[k]
        s = end


@kernel
def dot(start, end, x, y):
    """Return the dot product of x[start:end] and y[start:end].

    Four sums hide the latency of additions, in the same order on all processors.
    """
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    s, end = uint64(start), uint64(end)
    while s + THREE < end:
        a += x[s] * y[s]
        b += x[s + ONE] * y[s + ONE]
        c += x[s + TWO] * y[s + TWO]
        d += x[s + THREE] * y[s + THREE]
        s += FOUR
    while s < end:
        a += x[s] * y[s]
        s += ONE
    return (a + b) + (c + d)


@kernel
def backward_best(form, first, last, tolerance, cf_value, response):
    """Add the best value of each infoset to `cf_value` of its parent; set `response` [S + 1].

    `response` is 1 at the best action of each infoset and 0 elsewhere. Values that differ by at
    most `tolerance` [S] are ties; the first of the best actions wins.
    """
    offset, parent = form.offset, form.parent
    for i in range(last - 1, first - 1, -1):
        best = cf_value[offset[i]]
        for s in range(offset[i], offset[i + 1]):
            response[s] = 0.0
            best = max(best, cf_value[s])
        chosen = offset[i]
        while cf_value[chosen] < best - tolerance[chosen]:
            chosen += 1
        response[chosen] = 1.0
        cf_value[parent[i]] += best


@kernel
def backward_regret(form, first, last, policy, cf_value):
    """Turn `cf_value` [S + 1] into instant regrets under `policy`, children first.

    The value of an infoset, policy . cf_value, is added to `cf_value` of its parent sequence and
    subtracted from `cf_value` of its actions.
    """
    offset, parent = form.offset, form.parent
    i = uint64(last)
    end = uint64(offset[i])
    while i > uint64(first):
        i -= ONE
        s = uint64(offset[i])
        if end - s == TWO:
            x, y = cf_value[s], cf_value[s + ONE]
            value = policy[s] * x + policy[s + ONE] * y
            cf_value[s] = x - value
            cf_value[s + ONE] = y - value
        elif end - s == THREE:
            x, y, z = cf_value[s], cf_value[s + ONE], cf_value[s + TWO]
            value = policy[s] * x + policy[s + ONE] * y + policy[s + TWO] * z
            cf_value[s] = x - value
            cf_value[s + ONE] = y - value
            cf_value[s + TWO] = z - value
        else:
            value = 0.0
            for k in range(s, end):
                value += policy[k] * cf_value[k]
            for k in range(s, end):
                cf_value[k] -= value
        cf_value[parent[i]] += value
        end = s


@kernel
def forward_matching(form, first, last, policy, reach):
    """Normalise `policy`, which holds positive regrets, at each infoset, and set `reach`."""
    offset, parent = form.offset, form.parent
    s = uint64(offset[first])
    for i in range(uint64(first), uint64(last)):
        end = uint64(offset[i + ONE])
        above = reach[parent[i]]
        if end - s == TWO:
            x, y = policy[s], policy[s + ONE]
            total = x + y
            if total > 0.0:
                scale = 1.0 / total
                x, y = scale * x, scale * y
            else:
                x, y = 0.5, 0.5
            policy[s], policy[s + ONE] = x, y
            reach[s], reach[s + ONE] = above * x, above * y
        elif end - s == THREE:
            x, y, z = policy[s], policy[s + ONE], policy[s + TWO]
            total = x + y + z
            if total > 0.0:
                scale = 1.0 / total
                x, y, z = scale * x, scale * y, scale * z
            else:
                x, y, z = 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0
            policy[s], policy[s + ONE], policy[s + TWO] = x, y, z
            reach[s], reach[s + ONE], reach[s + TWO] = above * x, above * y, above * z
        else:
            total = 0.0
            for k in range(s, end):
                total += policy[k]
            for k in range(s, end):
                policy[k] = policy[k] / total if total > 0.0 else 1.0 / (end - s)
                reach[k] = above * policy[k]
        s = end


@kernel
def multiply_groups(form, first, last, policy, reach):
    """`forward` at the infosets of groups `first` to `last` of a `SweepForm`."""
    group, start, above = form.group, form.group_start, form.group_parent
    for g in range(first, last):
        size = uint64(group[g, 2])
        if size == TWO:
            for k in range(uint64(group[g, 0]), uint64(group[g, 1])):
                s, r = uint64(start[k]), reach[above[k]]
                reach[s], reach[s + ONE] = r * policy[s], r * policy[s + ONE]
        else:
            for k in range(uint64(group[g, 0]), uint64(group[g, 1])):
                s, r = uint64(start[k]), reach[above[k]]
                for a in range(s, s + size):
                    reach[a] = r * policy[a]


@kernel
def match_groups(form, first, last, policy, reach):
    """`forward_matching` at the infosets of groups `first` to `last` of a `SweepForm`.

    A constant is added instead of a branch where all regrets are zero, because the processor
    cannot predict where that is.
    """
    group, start, above = form.group, form.group_start, form.group_parent
    for g in range(first, last):
        size = uint64(group[g, 2])
        if size == TWO:
            for k in range(uint64(group[g, 0]), uint64(group[g, 1])):
                s, r = uint64(start[k]), reach[above[k]]
                x, y = policy[s], policy[s + ONE]
                total = x + y
                scale = 1.0 / (total if total > 0.0 else 1.0)
                added = 0.0 if total > 0.0 else 0.5
                x, y = scale * x + added, scale * y + added
                policy[s], policy[s + ONE] = x, y
                reach[s], reach[s + ONE] = r * x, r * y
        elif size == THREE:
            for k in range(uint64(group[g, 0]), uint64(group[g, 1])):
                s, r = uint64(start[k]), reach[above[k]]
                x, y, z = policy[s], policy[s + ONE], policy[s + TWO]
                total = x + y + z
                scale = 1.0 / (total if total > 0.0 else 1.0)
                added = 0.0 if total > 0.0 else 1.0 / 3.0
                x, y, z = scale * x + added, scale * y + added, scale * z + added
                policy[s], policy[s + ONE], policy[s + TWO] = x, y, z
                reach[s], reach[s + ONE], reach[s + TWO] = r * x, r * y, r * z
        elif size == ONE:
            for k in range(uint64(group[g, 0]), uint64(group[g, 1])):
                policy[start[k]], reach[start[k]] = 1.0, reach[above[k]]
        else:
            for k in range(uint64(group[g, 0]), uint64(group[g, 1])):
                s, r = uint64(start[k]), reach[above[k]]
                total = 0.0
                for a in range(s, s + size):
                    total += policy[a]
                for a in range(s, s + size):
                    policy[a] = policy[a] / total if total > 0.0 else 1.0 / size
                    reach[a] = r * policy[a]


@kernel
def subtract_values(form, first, last, policy, cf_value):
    """`backward_regret` at the infosets of groups `first` to `last` of a `SweepForm`.

    Values are added to their parents in the order of groups, also by threads.
    """
    group, start, above = form.group, form.group_start, form.group_parent
    for g in range(last - 1, first - 1, -1):
        size, stop = uint64(group[g, 2]), uint64(group[g, 0])
        k = uint64(group[g, 1])
        if size == TWO:
            while k > stop:
                k -= ONE
                s = uint64(start[k])
                x, y = cf_value[s], cf_value[s + ONE]
                value = policy[s] * x + policy[s + ONE] * y
                cf_value[s], cf_value[s + ONE] = x - value, y - value
                cf_value[above[k]] += value
        elif size == THREE:
            while k > stop:
                k -= ONE
                s = uint64(start[k])
                x, y, z = cf_value[s], cf_value[s + ONE], cf_value[s + TWO]
                value = policy[s] * x + policy[s + ONE] * y + policy[s + TWO] * z
                cf_value[s], cf_value[s + ONE], cf_value[s + TWO] = x - value, y - value, z - value
                cf_value[above[k]] += value
        elif size == ONE:
            while k > stop:
                k -= ONE
                cf_value[above[k]] += cf_value[start[k]]
                cf_value[start[k]] = 0.0
        else:
            while k > stop:
                k -= ONE
                s = uint64(start[k])
                value = 0.0
                for a in range(s, s + size):
                    value += policy[a] * cf_value[a]
                for a in range(s, s + size):
                    cf_value[a] -= value
                cf_value[above[k]] += value


@kernel
def add_maxima(form, first, last, cf_value):
    """Add the best value of the infosets of groups `first` to `last` to that of their parents."""
    group, start, above = form.group, form.group_start, form.group_parent
    for g in range(last - 1, first - 1, -1):
        size, stop = uint64(group[g, 2]), uint64(group[g, 0])
        k = uint64(group[g, 1])
        if size == TWO:
            while k > stop:
                k -= ONE
                x, y = cf_value[start[k]], cf_value[start[k] + ONE]
                cf_value[above[k]] += x if x > y else y
        else:
            while k > stop:
                k -= ONE
                s = uint64(start[k])
                best = cf_value[s]
                for a in range(s + ONE, s + size):
                    best = cf_value[a] if cf_value[a] > best else best
                cf_value[above[k]] += best


@kernel
def forward_softmax(form, first, last, policy, reach):
    """Replace the logits in `policy` by their softmax at each infoset, and set `reach`."""
    offset, parent = form.offset, form.parent
    for i in range(uint64(first), uint64(last)):
        start, end = uint64(offset[i]), uint64(offset[i + ONE])
        top = policy[start]
        for s in range(start, end):
            top = max(top, policy[s])
        total = 0.0
        for s in range(start, end):
            policy[s] = np.exp(policy[s] - top)
            total += policy[s]
        above = reach[parent[i]]
        for s in range(start, end):
            policy[s] /= total
            reach[s] = above * policy[s]


@kernel
def add_average(start, end, weight, reach, policy_sum):
    """Add `weight[k] * reach` to row k of `policy_sum` [K, S + 1] at sequences `start` to `end`."""
    for k in range(uint64(weight.size)):
        for s in range(uint64(start), uint64(end)):
            policy_sum[k, s] += weight[k] * reach[s]


@kernel
def update_regret_matching(start, end, factors, instant, regret, policy):
    """Add and discount regrets, and set `policy` to their positive part, not yet normalised.

    `factors` are (positive, negative, prediction, tiny): the discount of positive regrets, the
    discount of negative ones, the weight of the last instant regret as a prediction of the next,
    and the size [S] up to which a regret counts as a rounding error. Without `tiny`, rounding
    would break ties between equally good actions.
    """
    positive, negative, prediction, tiny = factors
    for s in range(uint64(start), uint64(end)):
        gain = instant[s] if abs(instant[s]) > tiny[s] else 0.0
        r = regret[s] + gain
        r = positive * max(r, 0.0) + negative * min(r, 0.0)
        regret[s] = r if abs(r) > tiny[s] else 0.0
        r += prediction * gain
        policy[s] = r if r > tiny[s] else 0.0


@kernel
def update_hedge(start, end, factors, instant, regret, policy):
    """Add regrets and set `policy` to the logits of Hedge, rate * regret; `factors` is (rate,)."""
    for s in range(uint64(start), uint64(end)):
        regret[s] += instant[s]
        policy[s] = factors[0] * regret[s]


@call_kernel
def compute_instant_regrets(form, p, weight, reach, cf_value, policy, policy_sum):
    """Set `cf_value` to the instant regrets of player `p` and add its policy to the average.

    Returns the range of the player's sequences.
    """
    first, last = form.player_infoset[p], form.player_infoset[p + 1]
    player_payoff(form, p, reach, cf_value)
    subtract_values(form, form.player_group[p], form.player_group[p + 1], policy, cf_value)
    start, end = form.offset[first], form.offset[last]
    add_average(start, end, weight, reach, policy_sum)
    return start, end


@kernel
def alternate_matching(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """Run T iterations of regret matching with alternating updates.

    Each player plays against the new policies of the players before it. `factors` are the rows of
    discounts [T, 3] and the sizes [S] of rounding errors: see `update_regret_matching`. `weights`
    [T, K] are those of the average: see `add_average`.
    """
    discounts, tiny = factors
    for t in range(discounts.shape[0]):
        factors_t = (discounts[t, 0], discounts[t, 1], discounts[t, 2], tiny)
        for p in range(form.player_row.size - 1):
            start, end = compute_instant_regrets(
                form, p, weights[t], reach, cf_value, policy, policy_sum
            )
            update_regret_matching(start, end, factors_t, cf_value, regret, policy)
            match_groups(form, form.player_group[p], form.player_group[p + 1], policy, reach)


@kernel
def simultaneous_matching(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """`alternate_matching` with simultaneous updates: all play against the old policies."""
    discounts, tiny = factors
    for t in range(discounts.shape[0]):
        factors_t = (discounts[t, 0], discounts[t, 1], discounts[t, 2], tiny)
        for p in range(form.player_row.size - 1):
            start, end = compute_instant_regrets(
                form, p, weights[t], reach, cf_value, policy, policy_sum
            )
            update_regret_matching(start, end, factors_t, cf_value, regret, policy)
        match_groups(form, 0, form.group.shape[0], policy, reach)


@kernel
def alternate_hedge(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """`alternate_matching` with Hedge as the local learner; `factors` are its rates ([T, 1],)."""
    rates = factors[0]
    for t in range(rates.shape[0]):
        for p in range(form.player_row.size - 1):
            start, end = compute_instant_regrets(
                form, p, weights[t], reach, cf_value, policy, policy_sum
            )
            update_hedge(start, end, (rates[t, 0],), cf_value, regret, policy)
            forward_softmax(form, form.player_infoset[p], form.player_infoset[p + 1], policy, reach)


@kernel
def simultaneous_hedge(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """`simultaneous_matching` with Hedge; `factors` as in `alternate_hedge`."""
    rates = factors[0]
    for t in range(rates.shape[0]):
        for p in range(form.player_row.size - 1):
            start, end = compute_instant_regrets(
                form, p, weights[t], reach, cf_value, policy, policy_sum
            )
            update_hedge(start, end, (rates[t, 0],), cf_value, regret, policy)
        forward_softmax(form, 0, form.parent.size, policy, reach)


@kernel
def judge(form, tolerance, policy, reach, cf_value, response, value, best):
    """Set each player's `value` [P], `best` response value [P] and best `response` [S + 1]."""
    forward(form, 0, form.parent.size, policy, reach)
    for p in range(value.size):
        first, last = form.player_infoset[p], form.player_infoset[p + 1]
        player_payoff(form, p, reach, cf_value)
        own = dot(form.offset[first], form.offset[last], reach, cf_value)
        value[p] = cf_value[cf_value.size - 1] + own
        backward_best(form, first, last, tolerance, cf_value, response)
        best[p] = cf_value[cf_value.size - 1]


@kernel
def judge_values(form, policy, reach, cf_value, value, best):
    """Set each player's `value` [P] and `best` response value [P]: `judge` without responses."""
    multiply_groups(form, 0, form.group.shape[0], policy, reach)
    for p in range(value.size):
        first, last = form.player_infoset[p], form.player_infoset[p + 1]
        player_payoff(form, p, reach, cf_value)
        own = dot(form.offset[first], form.offset[last], reach, cf_value)
        value[p] = cf_value[cf_value.size - 1] + own
        add_maxima(form, form.player_group[p], form.player_group[p + 1], cf_value)
        best[p] = cf_value[cf_value.size - 1]


@kernel
def fictitious_play(form, steps, tolerance, reach, cf_value, response, response_reach):
    """Run T iterations of fictitious play: reach += steps[t] * (best response's reach - reach)."""
    for t in range(steps.size):
        for p in range(form.player_row.size - 1):
            first, last = form.player_infoset[p], form.player_infoset[p + 1]
            player_payoff(form, p, reach, cf_value)
            backward_best(form, first, last, tolerance, cf_value, response)
        forward(form, 0, form.parent.size, response, response_reach)
        for s in range(reach.size):
            reach[s] += steps[t] * (response_reach[s] - reach[s])
