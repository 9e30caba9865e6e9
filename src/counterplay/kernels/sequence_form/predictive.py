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

ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
NEWTON_STEPS = 30
SMALLEST_SQUARE = 1e-200  # avoids the division 0 / 0


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
    """RM+ that sets `policy` to the squared changes of the regret.

    `factors` are (largest alpha, rounding errors [S], inverse units [S], last instant regret [S +
    1], its squared change [S + 1], sums of squared errors [I + 1], sums of squared changes [I + 1],
    weights of predictions [I + 1]). Units keep squares from overflow.
    """
    tiny, scale, last, squared_error = factors[1], factors[2], factors[3], factors[4]
    for s in range(uint64(start), uint64(end)):
        gain = instant[s] if abs(instant[s]) > tiny[s] else 0.0
        r = max(regret[s] + gain, 0.0)
        r = r if r > tiny[s] else 0.0
        error, change = scale[s] * (gain - last[s]), scale[s] * (r - regret[s])
        squared_error[s] = error * error
        policy[s] = change * change
        regret[s] = r
        last[s] = gain


@kernel
def forward_asymmetric(form, first, last_infoset, factors, regret, policy, reach):
    """Set `policy` to regret matching of regret + last / (1 + alpha), and `reach`.

    alpha of an infoset is the root of its squared errors divided by its squared changes, at most
    the first of the `factors` of `update_asymmetric`. The roots are a loop of their own, which is
    vectorised: inside the last loop they would take as long as all of the rest.
    """
    offset, parent = form.offset, form.parent
    alpha_max, tiny, _, last, squared_error, errors, changes, weights = factors
    s = uint64(offset[first])
    for i in range(uint64(first), uint64(last_infoset)):
        end = uint64(offset[i + ONE])
        if end - s == TWO:
            error, change = squared_error[s] + squared_error[s + ONE], policy[s] + policy[s + ONE]
        elif end - s == THREE:
            error = squared_error[s] + squared_error[s + ONE] + squared_error[s + TWO]
            change = policy[s] + policy[s + ONE] + policy[s + TWO]
        else:
            error, change = 0.0, 0.0
            for k in range(s, end):
                error += squared_error[k]
                change += policy[k]
        errors[i] += error
        changes[i] += change
        s = end
    smallest = 1.0 / (1.0 + alpha_max)
    for i in range(uint64(first), uint64(last_infoset)):
        change = changes[i]
        weight = change / (change + np.sqrt(change * errors[i]) + SMALLEST_SQUARE)
        weights[i] = weight if weight > smallest else smallest
    s = uint64(offset[first])
    for i in range(uint64(first), uint64(last_infoset)):
        end = uint64(offset[i + ONE])
        above, weight = reach[parent[i]], weights[i]
        if end - s == TWO:
            x, y = regret[s] + weight * last[s], regret[s + ONE] + weight * last[s + ONE]
            x = x if x > tiny[s] else 0.0
            y = y if y > tiny[s + ONE] else 0.0
            total = x + y
            if total > 0.0:
                scale = 1.0 / total
                x, y = scale * x, scale * y
            else:
                x, y = 0.5, 0.5
            policy[s], policy[s + ONE] = x, y
            reach[s], reach[s + ONE] = above * x, above * y
        elif end - s == THREE:
            x, y = regret[s] + weight * last[s], regret[s + ONE] + weight * last[s + ONE]
            z = regret[s + TWO] + weight * last[s + TWO]
            x = x if x > tiny[s] else 0.0
            y = y if y > tiny[s + ONE] else 0.0
            z = z if z > tiny[s + TWO] else 0.0
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
                r = regret[k] + weight * last[k]
                policy[k] = r if r > tiny[k] else 0.0
                total += policy[k]
            scale = 1.0 / total if total > 0.0 else 0.0
            for k in range(s, end):
                policy[k] = scale * policy[k] if total > 0.0 else 1.0 / (end - s)
                reach[k] = above * policy[k]
        s = end


@kernel
def alternate_asymmetric(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """Run T iterations with `update_asymmetric`; the first of the `factors` is a table [T, 1]."""
    table, tiny, scale, last, squared_error, errors, changes, prediction_weights = factors
    for t in range(table.shape[0]):
        factors_t = (
            table[t, 0],
            tiny,
            scale,
            last,
            squared_error,
            errors,
            changes,
            prediction_weights,
        )
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
def match_smooth(form, first, last, factors, instant, regret, policy, reach):
    """`update_smooth` and `forward_smooth` in one pass, without projections far from the origin."""
    offset, parent = form.offset, form.parent
    eta, units, tiny = factors
    s = uint64(offset[first])
    for i in range(uint64(first), uint64(last)):
        end = uint64(offset[i + ONE])
        above = reach[parent[i]]
        if end - s == TWO:
            x, y = instant[s], instant[s + ONE]
            x = eta * units[s] * (x if abs(x) > tiny[s] else 0.0)
            y = eta * units[s + ONE] * (y if abs(y) > tiny[s + ONE] else 0.0)
            u, v = max(regret[s] + x, 0.0), max(regret[s + ONE] + y, 0.0)
            x, y = max(u + x, 0.0), max(v + y, 0.0)
            total = x + y
            if u + v >= 1.0 and total >= 1.0:
                scale = 1.0 / total
                x, y = scale * x, scale * y
                regret[s], regret[s + ONE] = u, v
                policy[s], policy[s + ONE] = x, y
                reach[s], reach[s + ONE] = above * x, above * y
            else:
                update_smooth(s, end, factors, instant, regret, policy)
                forward_smooth(form, i, i + ONE, regret, policy, reach)
            s = end
            continue
        size, total = 0.0, 0.0
        for k in range(s, end):
            move = eta * units[k] * (instant[k] if abs(instant[k]) > tiny[k] else 0.0)
            r = max(regret[k] + move, 0.0)
            p = max(r + move, 0.0)
            size += r
            total += p
            policy[k] = p
        if size >= 1.0 and total >= 1.0:
            scale = 1.0 / total
            for k in range(s, end):
                move = eta * units[k] * (instant[k] if abs(instant[k]) > tiny[k] else 0.0)
                regret[k] = max(regret[k] + move, 0.0)
                policy[k] *= scale
                reach[k] = above * policy[k]
        else:
            update_smooth(s, end, factors, instant, regret, policy)
            forward_smooth(form, i, i + ONE, regret, policy, reach)
        s = end


@kernel
def alternate_smooth(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """Run T iterations with `match_smooth`; the first of the `factors` is a table [T, 1]."""
    table, scale, tiny = factors
    for t in range(table.shape[0]):
        factors_t = (table[t, 0], scale, tiny)
        for p in range(form.player_row.size - 1):
            sweeps.compute_instant_regrets(form, p, weights[t], reach, cf_value, policy, policy_sum)
            first, end = form.player_infoset[p], form.player_infoset[p + 1]
            match_smooth(form, first, end, factors_t, cf_value, regret, policy, reach)


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


@kernel
def update_increasing(start, end, factors, instant, regret, policy):
    """Set `policy` to the instant regrets, for `forward_increasing`; `factors` end with `tiny`."""
    tiny = factors[1]
    for s in range(uint64(start), uint64(end)):
        policy[s] = instant[s] if abs(instant[s]) > tiny[s] else 0.0


@kernel
def forward_increasing(form, first, last, tiny, regret, policy, reach):
    """Add the instant regrets in `policy` to `regret`, whose norm does not fall; match regrets.

    The policy is regret matching of regret + instant regret.
    """
    offset, parent = form.offset, form.parent
    s = uint64(offset[first])
    for i in range(uint64(first), uint64(last)):
        end = uint64(offset[i + ONE])
        old, new = 0.0, 0.0
        for k in range(s, end):
            old += regret[k] * regret[k]
            r = regret[k] + policy[k]
            regret[k] = r
            new += max(r, 0.0) * max(r, 0.0)
        shift = norm_shift(regret, s, end, np.sqrt(old)) if new < old else 0.0
        above, total = reach[parent[i]], 0.0
        for k in range(s, end):
            r = max(regret[k] + shift, 0.0)
            regret[k] = r if r > tiny[k] else 0.0
            r = regret[k] + policy[k]
            policy[k] = r if r > tiny[k] else 0.0
            total += policy[k]
        scale = 1.0 / total if total > 0.0 else 0.0
        for k in range(s, end):
            policy[k] = scale * policy[k] if total > 0.0 else 1.0 / (end - s)
            reach[k] = above * policy[k]
        s = end


@kernel
def norm_shift(x, start, end, norm):
    """Return the shift with which the positive part of x[start:end] has a Euclidean norm.

    The norm is convex in the shift, so Newton's method from the right falls to the solution.
    """
    largest = x[start]
    for k in range(start, end):
        largest = max(largest, x[k])
    shift = norm - largest
    for _ in range(NEWTON_STEPS):
        total, square = 0.0, 0.0
        for k in range(start, end):
            r = max(x[k] + shift, 0.0)
            total += r
            square += r * r
        size = np.sqrt(square)
        if size <= norm:
            break
        shift -= (size - norm) * size / total
    return shift


@kernel
def alternate_increasing(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """Run T iterations with `forward_increasing`; `factors` are (table [T, 1], tiny [S])."""
    tiny = factors[1]
    for t in range(factors[0].shape[0]):
        for p in range(form.player_row.size - 1):
            start, end = sweeps.compute_instant_regrets(
                form, p, weights[t], reach, cf_value, policy, policy_sum
            )
            update_increasing(start, end, factors, cf_value, regret, policy)
            first, last = form.player_infoset[p], form.player_infoset[p + 1]
            forward_increasing(form, first, last, tiny, regret, policy, reach)


@kernel
def iterate_clairvoyant(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """Run T iterations of clairvoyant CFR; see `algorithms.cfr.clairvoyant_cfr`.

    `factors` are (table [T, 1] of step sizes, number of fixed-point steps, inverse unit of each
    sequence [S], rounding errors [S], scratch [S + 1]).
    """
    table, steps, units, tiny, trial = factors
    offset, parent = form.offset, form.parent
    num_players = form.player_row.size - 1
    size = uint64(offset[form.parent.size])
    for t in range(table.shape[0]):
        for step in range(steps):
            if step == steps - 1:
                sweeps.add_average(0, size, weights[t], reach, policy_sum)
            for p in range(num_players):
                sweeps.clear(form, p, cf_value)
                sweeps.payoff(form, form.player_row[p], form.player_row[p + 1], reach, cf_value)
                sweeps.backward_regret(
                    form, form.player_infoset[p], form.player_infoset[p + 1], policy, cf_value
                )
            for s in range(size):
                gain = cf_value[s] if abs(cf_value[s]) > tiny[s] else 0.0
                trial[s] = regret[s] + table[t, 0] * units[s] * gain
            s = uint64(0)
            for i in range(uint64(form.parent.size)):
                end = uint64(offset[i + ONE])
                project_above_simplex(trial, s, end)
                total = 0.0
                for k in range(s, end):
                    total += trial[k]
                above, scale = reach[parent[i]], 1.0 / total
                for k in range(s, end):
                    policy[k] = scale * trial[k]
                    reach[k] = above * policy[k]
                s = end
        for s in range(size):
            regret[s] = trial[s]


@kernel
def iterate_regularised(form, factors, weights, reach, cf_value, centre, policy, policy_sum):
    """Run T iterations of regularised CFR; see `algorithms.cfr.reg_cfr`.

    `factors` are (table [T, 2] of eta and tau, inverse unit of each sequence [S]). `centre` [S + 1]
    are logits.
    """
    table, units = factors
    offset, parent = form.offset, form.parent
    size = uint64(offset[form.parent.size])
    for t in range(table.shape[0]):
        eta, tau = table[t, 0], table[t, 1]
        shrink = 1.0 / (1.0 + eta * tau)
        sweeps.add_average(0, size, weights[t], reach, policy_sum)
        for p in range(form.player_row.size - 1):
            sweeps.clear(form, p, cf_value)
            sweeps.payoff(form, form.player_row[p], form.player_row[p + 1], reach, cf_value)
            for i in range(form.player_infoset[p + 1] - 1, form.player_infoset[p] - 1, -1):
                value, entropy = 0.0, 0.0
                for s in range(offset[i], offset[i + 1]):
                    value += policy[s] * cf_value[s]
                    if policy[s] > 0.0:
                        entropy -= policy[s] * np.log(policy[s])
                cf_value[parent[i]] += value + tau / units[offset[i]] * entropy
        for i in range(form.parent.size):
            top = -np.inf
            for s in range(offset[i], offset[i + 1]):
                change = eta * units[s] * cf_value[s]
                centre[s] = (centre[s] + change) * shrink
                policy[s] = (centre[s] + change) * shrink
                top = max(top, policy[s])
            total, largest = 0.0, centre[offset[i]]
            for s in range(offset[i], offset[i + 1]):
                policy[s] = np.exp(policy[s] - top)
                total += policy[s]
                largest = max(largest, centre[s])
            for s in range(offset[i], offset[i + 1]):
                centre[s] -= largest  # the softmax does not change, and logits stay bounded
                policy[s] /= total
                reach[s] = reach[parent[i]] * policy[s]
