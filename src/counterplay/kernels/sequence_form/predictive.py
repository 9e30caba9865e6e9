"""Sweeps of predictive regret matching with more memory than `sweeps.update_regret_matching`.

The layout of arrays and the meaning of arguments are those of `sweeps`. Every variant has an
`update_*` kernel over sequences, which may be cut anywhere between threads, a `forward_*` kernel
over infosets, if it is not `sweeps.forward_matching`, and an `alternate_*` kernel that runs whole
iterations.
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.runtime.jit import fma_kernel as kernel
from counterplay.kernels.sequence_form import sweeps

ONE = np.uint64(1)


@kernel
def update_averaged_prediction(start, end, factors, instant, regret, policy):
    """RM+ whose prediction is an exponential average of the instant regrets.

    `factors` are (weight of the prediction, rate of the average, rounding errors [S], prediction
    [S + 1]). `policy` becomes max((1 - weight) * regret + weight * prediction, 0).
    """
    weight, rate, tiny, prediction = factors
    for s in range(uint64(start), uint64(end)):
        gain = instant[s] if abs(instant[s]) > tiny[s] else 0.0
        r = max(regret[s] + gain, 0.0)
        regret[s] = r if r > tiny[s] else 0.0
        p = (1.0 - rate) * prediction[s] + rate * gain
        prediction[s] = p if abs(p) > tiny[s] else 0.0
        r = (1.0 - weight) * regret[s] + weight * prediction[s]
        policy[s] = r if r > tiny[s] else 0.0


@kernel
def alternate_averaged_prediction(
    form, factors, weights, reach, cf_value, regret, policy, policy_sum
):
    """Run T iterations with `update_averaged_prediction`; `factors` are ([T, 2], [S], [S + 1])."""
    table, tiny, prediction = factors
    for t in range(table.shape[0]):
        factors_t = (table[t, 0], table[t, 1], tiny, prediction)
        for p in range(form.player_row.size - 1):
            start, end = sweeps.compute_instant_regrets(
                form, p, weights[t], reach, cf_value, policy, policy_sum
            )
            update_averaged_prediction(start, end, factors_t, cf_value, regret, policy)
            sweeps.forward_matching(
                form, form.player_infoset[p], form.player_infoset[p + 1], policy, reach
            )


@kernel
def update_asymmetric(start, end, factors, instant, regret, policy):
    """RM+ that also sums the squares of prediction errors and of changes of the regret.

    `factors` are (largest alpha, rounding errors [S], inverse units [S], last instant regret [S +
    1], squared errors [S + 1], squared changes [S + 1]). Units keep squares from overflow.
    """
    tiny, scale, last, errors, changes = factors[1], factors[2], factors[3], factors[4], factors[5]
    for s in range(uint64(start), uint64(end)):
        gain = instant[s] if abs(instant[s]) > tiny[s] else 0.0
        r = max(regret[s] + gain, 0.0)
        r = r if r > tiny[s] else 0.0
        error, change = scale[s] * (gain - last[s]), scale[s] * (r - regret[s])
        errors[s] += error * error
        changes[s] += change * change
        regret[s] = r
        last[s] = gain


@kernel
def forward_asymmetric(form, first, last_infoset, factors, regret, policy, reach):
    """Set `policy` to regret matching of regret + last / (1 + alpha), and `reach`.

    alpha of an infoset is the root of its squared errors divided by its squared changes, at most
    the first of the `factors` of `update_asymmetric`.
    """
    offset, parent = form.offset, form.parent
    alpha_max, tiny, _, last, errors, changes = factors
    start = uint64(offset[first])
    for i in range(uint64(first), uint64(last_infoset)):
        end = uint64(offset[i + ONE])
        error, change = 0.0, 0.0
        for s in range(start, end):
            error += errors[s]
            change += changes[s]
        alpha = alpha_max
        if error < alpha_max * alpha_max * change:
            alpha = np.sqrt(error / change)
        weight, total = 1.0 / (1.0 + alpha), 0.0
        for s in range(start, end):
            r = regret[s] + weight * last[s]
            r = r if r > tiny[s] else 0.0
            policy[s] = r
            total += r
        above = reach[parent[i]]
        if total > 0.0:
            scale = 1.0 / total
            for s in range(start, end):
                policy[s] *= scale
                reach[s] = above * policy[s]
        else:
            for s in range(start, end):
                policy[s] = 1.0 / (end - start)
                reach[s] = above * policy[s]
        start = end


@kernel
def alternate_asymmetric(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """Run T iterations with `update_asymmetric`; the first of the `factors` is a table [T, 1]."""
    table, tiny, scale, last, errors, changes = factors
    for t in range(table.shape[0]):
        factors_t = (table[t, 0], tiny, scale, last, errors, changes)
        for p in range(form.player_row.size - 1):
            start, end = sweeps.compute_instant_regrets(
                form, p, weights[t], reach, cf_value, policy, policy_sum
            )
            update_asymmetric(start, end, factors_t, cf_value, regret, policy)
            first, end_infoset = form.player_infoset[p], form.player_infoset[p + 1]
            forward_asymmetric(form, first, end_infoset, factors_t, regret, policy, reach)


@kernel
def update_smooth(start, end, factors, instant, regret, policy):
    """Add scaled instant regrets to `regret`, and set `policy` to them as the prediction.

    `factors` are (step size, inverse unit of each sequence [S], rounding errors [S]). The
    projections of both follow in `forward_smooth`.
    """
    eta, scale, tiny = factors
    for s in range(uint64(start), uint64(end)):
        gain = instant[s] if abs(instant[s]) > tiny[s] else 0.0
        policy[s] = eta * scale[s] * gain
        regret[s] += policy[s]


@kernel
def project_above_simplex(x, start, end):
    """Project x[start:end] onto the vectors with x >= 0 and sum at least 1."""
    total = 0.0
    for s in range(start, end):
        total += max(x[s], 0.0)
    if total >= 1.0:
        for s in range(start, end):
            x[s] = max(x[s], 0.0)
        return
    # the projection onto the simplex is max(x - shift, 0); drop negative entries until none is left
    shift, count = -np.inf, end - start + ONE
    while True:
        total, remaining = -1.0, uint64(0)
        for s in range(start, end):
            if x[s] > shift:
                total += x[s]
                remaining += ONE
        if remaining >= count:  # more than before only by rounding
            break
        shift, count = total / remaining, remaining
    for s in range(start, end):
        x[s] = max(x[s] - shift, 0.0)


@kernel
def forward_smooth(form, first, last, regret, policy, reach):
    """Project `regret`, then regret + the prediction in `policy`; normalise it and set `reach`."""
    offset, parent = form.offset, form.parent
    for i in range(uint64(first), uint64(last)):
        start, end = uint64(offset[i]), uint64(offset[i + ONE])
        project_above_simplex(regret, start, end)
        for s in range(start, end):
            policy[s] += regret[s]
        project_above_simplex(policy, start, end)
        total = 0.0
        for s in range(start, end):
            total += policy[s]
        above, scale = reach[parent[i]], 1.0 / total
        for s in range(start, end):
            policy[s] *= scale
            reach[s] = above * policy[s]


@kernel
def alternate_smooth(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """Run T iterations with `update_smooth`; the first of the `factors` is a table [T, 1]."""
    table, scale, tiny = factors
    for t in range(table.shape[0]):
        factors_t = (table[t, 0], scale, tiny)
        for p in range(form.player_row.size - 1):
            start, end = sweeps.compute_instant_regrets(
                form, p, weights[t], reach, cf_value, policy, policy_sum
            )
            update_smooth(start, end, factors_t, cf_value, regret, policy)
            first, end_infoset = form.player_infoset[p], form.player_infoset[p + 1]
            forward_smooth(form, first, end_infoset, regret, policy, reach)


@kernel
def alternate_transformed(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """Run T iterations of reward-transformed CFR+; see `algorithms.cfr.rt_cfr_plus`.

    `factors` are ([T, 2] of the weight mu and the smallest probability gamma, unit of each sequence
    [S], rounding errors [S], reach of the reference [S + 1], scratch [S + 1]). `policy` and
    `reach` are those of the perturbed policy, against which the others' values are computed.
    """
    table, unit, tiny, reference, unperturbed = factors
    offset, parent = form.offset, form.parent
    match_regrets(form, 0, form.parent.size, regret, unperturbed)
    for t in range(table.shape[0]):
        mu, gamma = table[t, 0], table[t, 1]
        for p in range(form.player_row.size - 1):
            first, last = form.player_infoset[p], form.player_infoset[p + 1]
            start, end = uint64(offset[first]), uint64(offset[last])
            sweeps.clear(form, p, cf_value)
            sweeps.payoff(form, form.player_row[p], form.player_row[p + 1], reach, cf_value)
            sweeps.add_average(start, end, weights[t], reach, policy_sum)
            for s in range(start, end):
                cf_value[s] -= mu * unit[s] * (reach[s] - reference[s])
            sweeps.backward_regret(form, first, last, unperturbed, cf_value)
            for s in range(start, end):
                gain = cf_value[s] if abs(cf_value[s]) > tiny[s] else 0.0
                r = max(regret[s] + gain, 0.0)
                regret[s] = r if r > tiny[s] else 0.0
            match_regrets(form, first, last, regret, unperturbed)
            s = start
            for i in range(uint64(first), uint64(last)):
                e = uint64(offset[i + ONE])
                above, share = reach[parent[i]], 1.0 - gamma * (e - s)
                for k in range(s, e):
                    policy[k] = share * unperturbed[k] + gamma
                    reach[k] = above * policy[k]
                s = e


@kernel
def match_regrets(form, first, last, regret, policy):
    """Set `policy` to regret matching of non-negative regrets; uniform where all are zero."""
    offset = form.offset
    start = uint64(offset[first])
    for i in range(uint64(first), uint64(last)):
        end = uint64(offset[i + ONE])
        total = 0.0
        for s in range(start, end):
            total += regret[s]
        if total > 0.0:
            scale = 1.0 / total
            for s in range(start, end):
                policy[s] = scale * regret[s]
        else:
            for s in range(start, end):
                policy[s] = 1.0 / (end - start)
        start = end
