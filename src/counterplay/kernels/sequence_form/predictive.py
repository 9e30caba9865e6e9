"""Sweeps of predictive regret matching with more memory than `sweeps.update_regret_matching`.

The layout of arrays and the meaning of arguments are those of `sweeps`. Every variant has an
`update_*` kernel over sequences, which may be cut anywhere between threads and which is vectorised,
a `forward_*` kernel over infosets, if it is not `sweeps.forward_matching`, and an `alternate_*`
kernel that runs whole iterations. Infosets of two and of three actions call the kernels of a row
with a length that the compiler knows.
"""

from __future__ import annotations

import numpy as np
from numpy import uint64

from counterplay.kernels.runtime.jit import fma_kernel as kernel
from counterplay.kernels.runtime.jit import fma_row_kernel as row_kernel
from counterplay.kernels.runtime.jit import outlined_row_kernel as outlined_kernel
from counterplay.kernels.sequence_form import sweeps

ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
NEWTON_STEPS = 30
NORM_ACCURACY = 1e-15  # relative, at which Newton's method ends
SMALLEST_SQUARE = 1e-200  # avoids the division 0 / 0


@kernel
def update_prediction(start, end, factors, instant, regret, policy):
    """Set `policy` to the instant regrets, without rounding errors; `factors` start with these."""
    tiny = factors[0]
    for s in range(uint64(start), uint64(end)):
        policy[s] = instant[s] if abs(instant[s]) > tiny[s] else 0.0


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
            first, last = form.player_group[p], form.player_group[p + 1]
            sweeps.match_groups(form, first, last, policy, reach)


@kernel
def update_asymmetric(start, end, factors, instant, regret, policy):
    """RM+ that sets `policy` to the squared changes of the regret.

    `factors` are (rounding errors [S], largest alpha [1], last instant regret [S + 1], its
    squared change [S + 1], sums of squared errors [I + 1], sums of squared changes [I + 1], weights
    of predictions [I + 1]).
    """
    tiny, last, squared_error = factors[0], factors[2], factors[3]
    for s in range(uint64(start), uint64(end)):
        gain = instant[s] if abs(instant[s]) > tiny[s] else 0.0
        r = regret[s] + gain
        r = r if r > tiny[s] else 0.0
        error, change = gain - last[s], r - regret[s]
        squared_error[s] = error * error
        policy[s] = change * change
        regret[s] = r
        last[s] = gain


@row_kernel
def sum_rows(s, end, x, y):
    """Return the sums of x[s:end] and y[s:end]."""
    a, b = 0.0, 0.0
    for k in range(s, end):
        a += x[k]
        b += y[k]
    return a, b


@row_kernel
def normalise_row(s, end, total, above, policy, reach):
    """Divide policy[s:end] by its sum, or make it uniform if that is zero, and set `reach`."""
    if total > 0.0:
        scale = 1.0 / total
        for k in range(s, end):
            policy[k] *= scale
            reach[k] = above * policy[k]
    else:
        for k in range(s, end):
            policy[k] = 1.0 / (end - s)
            reach[k] = above * policy[k]


@row_kernel
def predict_row(s, end, weight, tiny, above, prediction, regret, policy, reach):
    """Match regret + weight * prediction at the sequences `s` to `end` of an infoset."""
    total = 0.0
    for k in range(s, end):
        r = regret[k] + weight * prediction[k]
        policy[k] = r if r > tiny else 0.0
        total += policy[k]
    normalise_row(s, end, total, above, policy, reach)


@kernel
def forward_asymmetric(form, first, last_infoset, factors, regret, policy, reach):
    """Set `policy` to regret matching of regret + last / (1 + alpha), and `reach`.

    alpha of an infoset is the root of its squared errors divided by its squared changes, at most
    the second of the `factors` of `update_asymmetric`. The roots are a loop of their own, which is
    vectorised: inside the last loop they would take as long as all of the rest.
    """
    offset, parent = form.offset, form.parent
    tiny, alpha_max, last, squared_error, errors, changes, weights = factors
    s = uint64(offset[first])
    for i in range(uint64(first), uint64(last_infoset)):
        end = uint64(offset[i + ONE])
        if end - s == TWO:
            error, change = sum_rows(s, s + TWO, squared_error, policy)
        elif end - s == THREE:
            error, change = sum_rows(s, s + THREE, squared_error, policy)
        else:
            error, change = sum_rows(s, end, squared_error, policy)
        errors[i] += error
        changes[i] += change
        s = end
    smallest = 1.0 / (1.0 + alpha_max[0])
    for i in range(uint64(first), uint64(last_infoset)):
        change = changes[i]
        weight = change / (change + np.sqrt(change * errors[i]) + SMALLEST_SQUARE)
        weights[i] = weight if weight > smallest else smallest
    s = uint64(offset[first])
    for i in range(uint64(first), uint64(last_infoset)):
        end, above, weight = uint64(offset[i + ONE]), reach[parent[i]], weights[i]
        if end - s == TWO:
            predict_row(s, s + TWO, weight, tiny[s], above, last, regret, policy, reach)
        elif end - s == THREE:
            predict_row(s, s + THREE, weight, tiny[s], above, last, regret, policy, reach)
        else:
            predict_row(s, end, weight, tiny[s], above, last, regret, policy, reach)
        s = end


@kernel
def alternate_asymmetric(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """Run T iterations with `update_asymmetric`; `factors` are a table [T, 0] and those of it."""
    for t in range(weights.shape[0]):
        for p in range(form.player_row.size - 1):
            start, end = sweeps.compute_instant_regrets(
                form, p, weights[t], reach, cf_value, policy, policy_sum
            )
            update_asymmetric(start, end, factors[1:], cf_value, regret, policy)
            first, last = form.player_infoset[p], form.player_infoset[p + 1]
            forward_asymmetric(form, first, last, factors[1:], regret, policy, reach)


@row_kernel
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


@row_kernel
def match_smooth_row(s, end, step, above, regret, policy, reach):
    """`forward_smooth` at the sequences `s` to `end` of an infoset."""
    size, total = 0.0, 0.0
    for k in range(s, end):
        move = step * policy[k]
        r = max(regret[k] + move, 0.0)
        size += r
        total += max(r + move, 0.0)
    if size >= 1.0 and total >= 1.0:
        share = 1.0 / total
        for k in range(s, end):
            move = step * policy[k]
            r = max(regret[k] + move, 0.0)
            regret[k] = r
            policy[k] = share * max(r + move, 0.0)
            reach[k] = above * policy[k]
    else:
        for k in range(s, end):
            policy[k] *= step
            regret[k] += policy[k]
        project_above_simplex(regret, s, end)
        for k in range(s, end):
            policy[k] += regret[k]
        project_above_simplex(policy, s, end)
        total = 0.0
        for k in range(s, end):
            total += policy[k]
        normalise_row(s, end, total, above, policy, reach)


@kernel
def forward_smooth(form, first, last, factors, regret, policy, reach):
    """Project regret + eta * instant, then the same sum again as the policy, above the simplex.

    `policy` holds the instant regrets. `factors` are (rounding errors [S], step size eta [1],
    inverse unit of each sequence [S]). Far from the origin the projections are those of RM+.
    """
    offset, parent = form.offset, form.parent
    eta, units = factors[1][0], factors[2]
    s = uint64(offset[first])
    for i in range(uint64(first), uint64(last)):
        end, step, above = uint64(offset[i + ONE]), eta * units[s], reach[parent[i]]
        if end - s == TWO:
            match_smooth_row(s, s + TWO, step, above, regret, policy, reach)
        elif end - s == THREE:
            match_smooth_row(s, s + THREE, step, above, regret, policy, reach)
        else:
            match_smooth_row(s, end, step, above, regret, policy, reach)
        s = end


@kernel
def alternate_smooth(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """Run T iterations with `forward_smooth`; `factors` are a table [T, 0] and those of it."""
    for t in range(weights.shape[0]):
        for p in range(form.player_row.size - 1):
            start, end = sweeps.compute_instant_regrets(
                form, p, weights[t], reach, cf_value, policy, policy_sum
            )
            update_prediction(start, end, factors[1:], cf_value, regret, policy)
            first, last = form.player_infoset[p], form.player_infoset[p + 1]
            forward_smooth(form, first, last, factors[1:], regret, policy, reach)


@kernel
def alternate_transformed(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """Run T iterations of reward-transformed CFR+; see `algorithms.cfr.rt_cfr_plus`.

    `factors` are ([T, 2] of the weight mu and the smallest probability gamma, unit of each sequence
    [S], rounding errors [S], reach of the reference [S + 1], scratch [S + 1]). `policy` and
    `reach` are those of the perturbed policy, against which the others' values are computed.
    """
    table, unit, tiny, reference, unperturbed = factors
    offset, parent = form.offset, form.parent
    for s in range(uint64(offset[form.parent.size])):
        unperturbed[s] = regret[s]
    sweeps.forward_matching(form, 0, form.parent.size, unperturbed, reach)
    sweeps.forward(form, 0, form.parent.size, policy, reach)
    for t in range(table.shape[0]):
        mu, gamma = table[t, 0], table[t, 1]
        for p in range(form.player_row.size - 1):
            first, last = form.player_infoset[p], form.player_infoset[p + 1]
            start, end = uint64(offset[first]), uint64(offset[last])
            sweeps.player_payoff(form, p, reach, cf_value)
            sweeps.add_average(start, end, weights[t], reach, policy_sum)
            for s in range(start, end):
                cf_value[s] -= mu * unit[s] * (reach[s] - reference[s])
            sweeps.backward_regret(form, first, last, unperturbed, cf_value)
            for s in range(start, end):
                gain = cf_value[s] if abs(cf_value[s]) > tiny[s] else 0.0
                r = max(regret[s] + gain, 0.0)
                regret[s] = r if r > tiny[s] else 0.0
                unperturbed[s] = regret[s]
            sweeps.forward_matching(form, first, last, unperturbed, reach)
            s = start
            for i in range(uint64(first), uint64(last)):
                e = uint64(offset[i + ONE])
                above, share = reach[parent[i]], 1.0 - gamma * (e - s)
                for k in range(s, e):
                    policy[k] = share * unperturbed[k] + gamma
                    reach[k] = above * policy[k]
                s = e


@row_kernel
def match_increasing_row(s, end, tiny, above, regret, policy, reach):
    """`forward_increasing` at the sequences `s` to `end` of an infoset."""
    old, new = 0.0, 0.0
    for k in range(s, end):
        r = max(regret[k] + policy[k], 0.0)
        old += regret[k] * regret[k]
        new += r * r
    shift = norm_shift(s, end, np.sqrt(old), regret, policy) if new < old else 0.0
    total = 0.0
    for k in range(s, end):
        gain = policy[k]
        r = regret[k] + gain + shift
        r = r if r > tiny else 0.0
        regret[k] = r
        policy[k] = r + gain if r + gain > tiny else 0.0
        total += policy[k]
    normalise_row(s, end, total, above, policy, reach)


@kernel
def forward_increasing(form, first, last, factors, regret, policy, reach):
    """Add the instant regrets in `policy` to `regret`, whose norm does not fall; match regrets.

    The policy is regret matching of regret + instant regret. `factors` are (rounding errors [S],).
    """
    offset, parent, tiny = form.offset, form.parent, factors[0]
    s = uint64(offset[first])
    for i in range(uint64(first), uint64(last)):
        end, above = uint64(offset[i + ONE]), reach[parent[i]]
        if end - s == TWO:
            match_increasing_row(s, s + TWO, tiny[s], above, regret, policy, reach)
        elif end - s == THREE:
            match_increasing_row(s, s + THREE, tiny[s], above, regret, policy, reach)
        else:
            match_increasing_row(s, end, tiny[s], above, regret, policy, reach)
        s = end


@outlined_kernel
def norm_shift(start, end, norm, x, y):
    """Return the shift with which the positive part of (x + y)[start:end] has a Euclidean norm.

    The norm is convex in the shift, so Newton's method from the right falls to the solution. With
    two or three entries it is the root of a quadratic equation.
    """
    largest = x[start] + y[start]
    for k in range(start, end):
        largest = max(largest, x[k] + y[k])
    shift = norm - largest
    if end - start <= THREE:
        smallest, total = largest, 0.0
        for k in range(start, end):
            smallest = min(smallest, x[k] + y[k])
            total += x[k] + y[k]
        middle = total - largest - smallest if end - start == THREE else smallest
        if middle + shift > 0.0:
            gap = largest - middle
            shift = 0.5 * (np.sqrt(2.0 * norm * norm - gap * gap) - largest - middle)
            if end - start == THREE and smallest + shift > 0.0:
                spread = gap * gap + (largest - smallest) ** 2 + (middle - smallest) ** 2
                shift = (np.sqrt(3.0 * norm * norm - spread) - total) / 3.0
        return shift
    for _ in range(NEWTON_STEPS):
        total, square = 0.0, 0.0
        for k in range(start, end):
            r = max(x[k] + y[k] + shift, 0.0)
            total += r
            square += r * r
        size = np.sqrt(square)
        if size <= (1.0 + NORM_ACCURACY) * norm:
            break
        shift -= (size - norm) * size / total
    return shift


@kernel
def alternate_increasing(form, factors, weights, reach, cf_value, regret, policy, policy_sum):
    """Run T iterations with `forward_increasing`; `factors` are a table [T, 0] and those of it."""
    for t in range(weights.shape[0]):
        for p in range(form.player_row.size - 1):
            start, end = sweeps.compute_instant_regrets(
                form, p, weights[t], reach, cf_value, policy, policy_sum
            )
            update_prediction(start, end, factors[1:], cf_value, regret, policy)
            first, last = form.player_infoset[p], form.player_infoset[p + 1]
            forward_increasing(form, first, last, factors[1:], regret, policy, reach)


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
                sweeps.player_payoff(form, p, reach, cf_value)
                first, last = form.player_group[p], form.player_group[p + 1]
                sweeps.subtract_values(form, first, last, policy, cf_value)
            for s in range(size):
                gain = cf_value[s] if abs(cf_value[s]) > tiny[s] else 0.0
                trial[s] = regret[s] + table[t, 0] * units[s] * gain
            s = uint64(0)
            for i in range(uint64(form.parent.size)):
                end = uint64(offset[i + ONE])
                project_above_simplex(trial, s, end)
                total = 0.0
                for k in range(s, end):
                    policy[k] = trial[k]
                    total += policy[k]
                normalise_row(s, end, total, reach[parent[i]], policy, reach)
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
            sweeps.player_payoff(form, p, reach, cf_value)
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
