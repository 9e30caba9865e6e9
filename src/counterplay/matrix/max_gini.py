"""Distributions of largest Gini impurity under linear inequalities: a quadratic programme."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterplay.core.arena import Floats

MAX_INTERIOR_STEPS = 60  # of the interior point method; 12 to 24 are usual
COMPLEMENTARITY_TOLERANCE = 1e-13  # mean product of a variable and its multiplier at the end
MAX_POLISH_ROUNDS = 20
MAX_DENSE_ENTRIES = 200_000  # matrices up to this size are stored densely
PROBABILITY_TOLERANCE = 1e-12  # smaller probabilities are rounding errors

Matrix = Any  # a dense array or a sparse csr_array
Bools = NDArray[np.bool_]


def max_gini_distribution(gains: Matrix, copies: Floats) -> Floats:
    """Return the q that maximises 1 - sum over a of q(a)^2 / copies(a).

    The constraints are q >= 0, sum q = 1 and gains q <= 0. An entry with m copies counts like m
    equal entries that share its probability. An interior point method (Mehrotra, 1992) finds the
    binding inequalities and the entries that are zero; these determine the solution by a linear
    system, which is solved to the accuracy of floats.

    Args:
        gains: a sparse matrix [m, n].
        copies: number of copies of each entry [n].
    """
    from scipy.sparse import diags_array

    if gains.shape[0]:
        gains = gains[gains.max(axis=1).toarray().ravel() > 0.0]  # other rows always hold
    if not gains.shape[0]:
        return copies / copies.sum()
    gains = (diags_array(1.0 / abs(gains).max(axis=1).toarray().ravel()) @ gains).tocsr()
    if gains.shape[0] * gains.shape[1] <= MAX_DENSE_ENTRIES:
        gains = gains.toarray()
    q, multiplier, slack, bound_multiplier = _interior_point(gains, copies / copies.mean())
    polished = _polish_solution(gains, copies, q > bound_multiplier, multiplier > slack)
    q = q / q.sum()
    return polished if (gains @ polished).max() <= max((gains @ q).max(), 1e-12) else q


def _interior_point(gains: Matrix, copies: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return an approximate solution: q, multipliers, slack, and multipliers of q >= 0.

    The multipliers are those of gains q + slack = 0. q sums to the number of its entries, so that
    all numbers are about 1.
    """
    from scipy.linalg import lu_factor, lu_solve

    rows, columns = gains.shape
    transposed = gains.T if isinstance(gains, np.ndarray) else gains.T.tocsr()
    q, z = np.ones(columns), np.ones(columns)
    multiplier, slack, level = np.ones(rows), np.ones(rows), 0.0
    for _ in range(MAX_INTERIOR_STEPS):
        dual = q / copies + transposed @ multiplier - level - z
        primal, total = gains @ q + slack, q.sum() - columns
        mean = (q @ z + slack @ multiplier) / (rows + columns)
        if (
            mean < COMPLEMENTARITY_TOLERANCE
            and max(np.abs(dual).max(), np.abs(primal).max(), abs(total)) < 1e-11
        ):
            break
        curve = 1.0 / (1.0 / copies + z / q)
        matrix = np.zeros((rows + 1, rows + 1))
        matrix[:rows, :rows] = _weighted_gram(gains, curve, transposed)
        matrix[np.arange(rows), np.arange(rows)] += slack / multiplier + 1e-14
        matrix[rows, :rows] = matrix[:rows, rows] = -(gains @ curve)
        matrix[rows, rows] = curve.sum()
        factors = lu_factor(matrix)
        aim_q, aim_s = np.zeros(columns), np.zeros(rows)
        for is_corrector in (False, True):  # the predictor step, then the corrected step
            first = -dual + (aim_q - q * z) / q
            other = -primal - aim_s / multiplier + slack
            right = np.append(gains @ (curve * first) - other, -total - curve @ first)
            step = lu_solve(factors, right)
            dm, dl = step[:-1], step[-1]
            dq = curve * (first - transposed @ dm + dl)
            ds = -primal - gains @ dq
            dz = (aim_q - q * z - z * dq) / q
            length = _max_step_length((q, dq), (z, dz), (multiplier, dm), (slack, ds))
            if not is_corrector:
                after = (q + length * dq) @ (z + length * dz)
                after += (slack + length * ds) @ (multiplier + length * dm)
                centre = mean * min(1.0, after / (rows + columns) / mean) ** 3
                aim_q, aim_s = centre - dq * dz, centre - ds * dm
        length *= 0.995
        q, z, level = q + length * dq, z + length * dz, level + length * dl
        multiplier, slack = multiplier + length * dm, slack + length * ds
    return q, multiplier, slack, z


def _weighted_gram(gains: Matrix, weights: Floats, transposed: Matrix) -> Floats:
    """Return gains * weights @ gains', as a dense matrix."""
    from scipy.sparse import diags_array

    if isinstance(gains, np.ndarray):
        return (gains * weights) @ transposed
    return (gains @ diags_array(weights) @ transposed).toarray()


def _max_step_length(*pairs: tuple[Floats, Floats]) -> float:
    """Return the largest step length up to 1 that keeps all (value, step) pairs non-negative."""
    length = 1.0
    for value, step in pairs:
        falls = step < 0.0
        length = min(length, float((-value[falls] / step[falls]).min(initial=length)))
    return length


def _polish_solution(gains: Matrix, copies: Floats, support: Bools, binding: Bools) -> Floats:
    """Return the solution with given positive entries (`support`) and binding inequalities.

    Entries that come out negative leave the support, and broken inequalities become binding, until
    the solution is consistent.
    """
    for _ in range(MAX_POLISH_ROUNDS):
        active = gains[binding][:, support]
        active = active if isinstance(active, np.ndarray) else active.toarray()
        rows = np.vstack([active, np.ones(support.sum())])
        right = np.append(np.zeros(len(rows) - 1), 1.0)
        root = np.sqrt(copies[support])
        joint = np.zeros(copies.size)
        joint[support] = root * np.linalg.lstsq(rows * root, right, rcond=1e-11)[0]
        broken = (gains @ joint > PROBABILITY_TOLERANCE) & ~binding
        negative = joint < -PROBABILITY_TOLERANCE
        if not (broken.any() or negative.any()) or not (support & ~negative).any():
            break
        binding, support = binding | broken, support & ~negative
    joint = np.where(joint > PROBABILITY_TOLERANCE, joint, 0.0)
    return joint / (joint.sum() or 1.0)
