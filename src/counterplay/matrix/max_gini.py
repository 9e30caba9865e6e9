"""The distribution of largest Gini impurity under linear inequalities: a quadratic programme."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplay.core.arena import Floats

MAX_INTERIOR_STEPS = 60  # of the interior point method; a dozen or two are usual
COMPLEMENTARITY_TOLERANCE = (
    1e-13  # mean product of a variable and its multiplier at which it is close enough
)
MAX_POLISH_ROUNDS = 20  # of polishing
MAX_DENSE_ENTRIES = 200_000  # entries up to which zeros are written out
PROBABILITY_TOLERANCE = 1e-12  # probability that is rounding


def max_gini_distribution(gains: Any, copies: Floats) -> Floats:
    """The q >= 0 with sum 1 and gains q <= 0 that maximises 1 - sum over a of q(a)^2 / copies(a).

    An entry with m copies counts like m equal ones that share its probability. An interior point
    method (Mehrotra, 1992) finds which inequalities bind and which entries are zero; with these
    given, the solution is that of a linear system, which is as accurate as floats are.
    """
    from scipy.sparse import diags_array

    if gains.shape[0]:
        gains = gains[gains.max(axis=1).toarray().ravel() > 0.0]  # others hold by themselves
    if not gains.shape[0]:
        return copies / copies.sum()
    gains = (diags_array(1.0 / abs(gains).max(axis=1).toarray().ravel()) @ gains).tocsr()
    if gains.shape[0] * gains.shape[1] <= MAX_DENSE_ENTRIES:
        gains = gains.toarray()
    near, multiplier, slack, cost = _interior_point(gains, copies / copies.mean())
    found = _polish_solution(gains, copies, near > cost, multiplier > slack)
    near = near / near.sum()
    return found if (gains @ found).max() <= max((gains @ near).max(), 1e-12) else near


def _interior_point(gains: Any, copies: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Near the solution: q, the multipliers of gains q + slack = 0, the slack, those of q >= 0.

    Here q sums to the number of its entries, so that all numbers are about 1.
    """
    from scipy.linalg import lu_factor, lu_solve

    rows, columns = gains.shape
    across = gains.T if isinstance(gains, np.ndarray) else gains.T.tocsr()
    q, z = np.ones(columns), np.ones(columns)
    multiplier, slack, level = np.ones(rows), np.ones(rows), 0.0
    for _ in range(MAX_INTERIOR_STEPS):
        dual = q / copies + across @ multiplier - level - z
        primal, total = gains @ q + slack, q.sum() - columns
        mean = (q @ z + slack @ multiplier) / (rows + columns)
        if (
            mean < COMPLEMENTARITY_TOLERANCE
            and max(np.abs(dual).max(), np.abs(primal).max(), abs(total)) < 1e-11
        ):
            break
        curve = 1.0 / (1.0 / copies + z / q)
        matrix = np.zeros((rows + 1, rows + 1))
        matrix[:rows, :rows] = _weighted_gram(gains, curve, across)
        matrix[np.arange(rows), np.arange(rows)] += slack / multiplier + 1e-14
        matrix[rows, :rows] = matrix[:rows, rows] = -(gains @ curve)
        matrix[rows, rows] = curve.sum()
        factors = lu_factor(matrix)
        aim_q, aim_s = np.zeros(columns), np.zeros(rows)
        for second in (False, True):  # where to go, and the same with its own error put right
            first = -dual + (aim_q - q * z) / q
            other = -primal - aim_s / multiplier + slack
            right = np.append(gains @ (curve * first) - other, -total - curve @ first)
            step = lu_solve(factors, right)
            dm, dl = step[:-1], step[-1]
            dq = curve * (first - across @ dm + dl)
            ds = -primal - gains @ dq
            dz = (aim_q - q * z - z * dq) / q
            far = _max_step_length((q, dq), (z, dz), (multiplier, dm), (slack, ds))
            if not second:
                after = (q + far * dq) @ (z + far * dz)
                after += (slack + far * ds) @ (multiplier + far * dm)
                centre = mean * min(1.0, after / (rows + columns) / mean) ** 3
                aim_q, aim_s = centre - dq * dz, centre - ds * dm
        far *= 0.995
        q, z, level = q + far * dq, z + far * dz, level + far * dl
        multiplier, slack = multiplier + far * dm, slack + far * ds
    return q, multiplier, slack, z


def _weighted_gram(gains: Any, weights: Floats, across: Any) -> Floats:
    """gains * weights @ gains', where most of gains may be zero."""
    from scipy.sparse import diags_array

    if isinstance(gains, np.ndarray):
        return (gains * weights) @ across
    return (gains @ diags_array(weights) @ across).toarray()


def _max_step_length(*pairs: tuple[Floats, Floats]) -> float:
    """How far along the steps everything stays positive, at most 1."""
    far = 1.0
    for value, step in pairs:
        falling = step < 0.0
        far = min(far, float((-value[falling] / step[falling]).min(initial=far)))
    return far


def _polish_solution(gains: Any, copies: Floats, there: Any, binding: Any) -> Floats:
    """The solution, given which entries are positive and which inequalities bind.

    What that gets wrong, entries below zero and inequalities that do not hold, changes sides.
    """
    for _ in range(MAX_POLISH_ROUNDS):
        kept = gains[binding][:, there]
        kept = kept if isinstance(kept, np.ndarray) else kept.toarray()
        rows = np.vstack([kept, np.ones(there.sum())])
        right = np.append(np.zeros(len(rows) - 1), 1.0)
        root = np.sqrt(copies[there])
        found = root * np.linalg.lstsq(rows * root, right, rcond=1e-11)[0]
        joint = np.zeros(copies.size)
        joint[there] = found
        broken = (gains @ joint > PROBABILITY_TOLERANCE) & ~binding
        negative = joint < -PROBABILITY_TOLERANCE
        if not (broken.any() or negative.any()) or not (there & ~negative).any():
            break
        binding, there = binding | broken, there & ~negative
    joint = np.where(joint > PROBABILITY_TOLERANCE, joint, 0.0)
    return joint / (joint.sum() or 1.0)
