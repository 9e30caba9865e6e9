"""Sweeps over the sequence form: what full-tree algorithms and exact judgement are made of.

Arrays over sequences have S + 1 entries, the last for "has not acted yet". Kernels that take
`first` and `last` treat only these infosets (or rows), so that threads can share a level.

Indices are unsigned and most infosets have two or three actions: both are spelled out below,
because signed indices and loops of unknown length cost half the speed (benchmarks/speed/speed.md).
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.runtime.jit import fma_kernel as kernel

ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@kernel
def clear(form, player, cf_value):
    """Set the player's part of `cf_value` [S + 1], and its last entry, to zero."""
    offset, player_infoset = form.offset, form.player_infoset
    for s in range(offset[player_infoset[player]], offset[player_infoset[player + 1]]):
        cf_value[s] = 0.0
    cf_value[cf_value.size - 1] = 0.0


@kernel
def payoff(form, first, last, reach, cf_value):
    """Set `cf_value` [S + 1] at the sequences of rows `first` to `last` to what ends there."""
    row_offset, row_sequence, other, weight = (
        form.row_offset,
        form.row_sequence,
        form.other,
        form.weight,
    )
    num_others = other.shape[1]
    e = uint64(row_offset[first])
    for r in range(uint64(first), uint64(last)):
        end = uint64(row_offset[r + ONE])
        total = 0.0
        if num_others == 1:
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
def forward(form, first, last, policy, reach):
    """Set `reach` [S + 1] at infosets `first` to `last`, parents first."""
    offset, parent = form.offset, form.parent
    for i in range(first, last):
        above = reach[parent[i]]
        for s in range(offset[i], offset[i + 1]):
            reach[s] = above * policy[s]


@kernel
def backward_best(form, first, last, tolerance, cf_value, response):
    """Add to `cf_value` what comes later with the best actions; set `response` to these.

    Ties, up to differences of `tiny` [S], go to the first of the best actions.
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
    """Add to `cf_value` [S + 1] what comes later, and subtract each infoset's own value.

    What the player follows is `policy`; `cf_value` becomes the instant regret.
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
    """Scale `policy`, which holds positive regrets, to sum to one, and set `reach`."""
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
def forward_softmax(form, first, last, policy, reach):
    """Set `policy`, which holds logits, to their softmax, and set `reach`."""
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
    """Add `weight` [K] times `reach`, the sequence form of the policy, to the K sums of it."""
    for k in range(uint64(weight.size)):
        for s in range(uint64(start), uint64(end)):
            policy_sum[k, s] += weight[k] * reach[s]


@kernel
def update_regret_matching(start, end, factors, instant, regret, policy):
    """Add regrets, discount them, and set `policy` to their positive part, not yet scaled.

    `rule` is the factor of positive regrets, the factor of negative ones, how many times the last
    instant regret is counted again as a prediction of the next, and the size [S] up to which a
    regret is rounding error: one action tied with another must not seem better by its last bit.
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
    """Add regrets and set `policy` to the logits of Hedge; `rule` is the rate alone."""
    for s in range(uint64(start), uint64(end)):
        regret[s] += instant[s]
        policy[s] = factors[0] * regret[s]


@kernel
def compute_instant_regrets(form, p, weight, reach, cf_value, policy, policy_sum):
    """What every iteration does for player `p` before it learns; returns its sequences' range."""
    first, last = form.player_infoset[p], form.player_infoset[p + 1]
    clear(form, p, cf_value)
    payoff(form, form.player_row[p], form.player_row[p + 1], reach, cf_value)
    backward_regret(form, first, last, policy, cf_value)
    start, end = form.offset[first], form.offset[last]
    add_average(start, end, weight, reach, policy_sum)
    return start, end


@kernel
def alternate_matching(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """One iteration per row of the discounts [T, 3]; each player sees the earlier ones' new policy.

    `rules` are the discounts and what is rounding error [S]: see `match`.
    """
    discounts, tiny = factors
    for t in range(discounts.shape[0]):
        rule = (discounts[t, 0], discounts[t, 1], discounts[t, 2], tiny)
        for p in range(form.player_row.size - 1):
            start, end = compute_instant_regrets(
                form, p, weights[t], reach, cf_value, policy, policy_sum
            )
            update_regret_matching(start, end, rule, cf_value, regret, policy)
            forward_matching(
                form, form.player_infoset[p], form.player_infoset[p + 1], policy, reach
            )


@kernel
def simultaneous_matching(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """`alternate_matching`, but all players see each other's old policy."""
    discounts, tiny = factors
    for t in range(discounts.shape[0]):
        rule = (discounts[t, 0], discounts[t, 1], discounts[t, 2], tiny)
        for p in range(form.player_row.size - 1):
            start, end = compute_instant_regrets(
                form, p, weights[t], reach, cf_value, policy, policy_sum
            )
            update_regret_matching(start, end, rule, cf_value, regret, policy)
        forward_matching(form, 0, form.parent.size, policy, reach)


@kernel
def alternate_hedge(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """`alternate_matching` with Hedge as the local learner; `rules` are its rates [T, 1] alone."""
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
    """`simultaneous_matching` with Hedge: see `alternate_hedge`."""
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
    """Set every player's expected `value` [P], `best` response value [P] and `response` [S + 1]."""
    forward(form, 0, form.parent.size, policy, reach)
    for p in range(value.size):
        first, last = form.player_infoset[p], form.player_infoset[p + 1]
        clear(form, p, cf_value)
        payoff(form, form.player_row[p], form.player_row[p + 1], reach, cf_value)
        total = cf_value[cf_value.size - 1]
        for s in range(form.offset[first], form.offset[last]):
            total += reach[s] * cf_value[s]
        value[p] = total
        backward_best(form, first, last, tolerance, cf_value, response)
        best[p] = cf_value[cf_value.size - 1]


@kernel
def fictitious_play(form, steps, tolerance, reach, cf_value, response, response_reach):
    """One iteration per entry of `steps` [T]: `reach` moves so far towards best responses to it."""
    for t in range(steps.size):
        for p in range(form.player_row.size - 1):
            first, last = form.player_infoset[p], form.player_infoset[p + 1]
            clear(form, p, cf_value)
            payoff(form, form.player_row[p], form.player_row[p + 1], reach, cf_value)
            backward_best(form, first, last, tolerance, cf_value, response)
        forward(form, 0, form.parent.size, response, response_reach)
        for s in range(reach.size):
            reach[s] += steps[t] * (response_reach[s] - reach[s])
