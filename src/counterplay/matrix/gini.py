"""The distribution of largest Gini impurity under linear inequalities, by its dual."""

from __future__ import annotations

import numpy as np

from counterplay.tree import Floats

STEPS = 200  # of Newton's method; it ends after finitely many
NEAR = 1e-9  # how much a step is held back, in units of the curvature
NOTHING = 1e-12  # probability that is rounding


def largest_gini(gains: Floats, copies: Floats) -> Floats:
    """The q >= 0 with sum 1 and gains q <= 0 that maximises 1 - sum over a of q(a)^2 / copies(a).

    An entry with m copies counts like m equal ones that share its probability. With multipliers
    l >= 0 of the inequalities and t of the sum,

        q(a) = copies(a) * max(t - (gains' l)(a), 0)

    The dual is convex and piecewise quadratic in l: every step solves the piece where it stands,
    which is a least-squares problem with l >= 0, until the piece stays the same.
    """
    size = np.abs(gains).max(axis=1, initial=0.0)
    gains = gains[size > 0.0] / size[size > 0.0, None]
    point = np.zeros(gains.shape[0])
    joint = _primal(point @ gains, copies)
    value, left = _value(point, gains, joint, copies), _residual(point, gains, joint)
    for _ in range(STEPS if point.size else 0):
        if left <= 1e-16:
            break
        step = _piece(gains, joint > 0.0, copies, point) - point
        length = 1.0
        while length > 1e-9:
            moved = np.maximum(point + length * step, 0.0)
            other = _primal(moved @ gains, copies)
            least, rest = _value(moved, gains, other, copies), _residual(moved, gains, other)
            if least < value or rest < left:  # values differ by the square of what is left
                break
            length /= 2.0
        else:
            break
        point, joint, value, left = moved, other, least, rest
    return _polished(gains, joint, copies, point)


def _residual(point: Floats, gains: Floats, joint: Floats) -> float:
    """How far from optimal: gains that are positive, or that are not 0 where they bind."""
    gain = gains @ joint
    return float(np.where(point > 0.0, np.abs(gain), gain).max(initial=0.0))


def _polished(gains: Floats, joint: Floats, copies: Floats, point: Floats) -> Floats:
    """The nearest distribution in which what binds, binds up to rounding."""
    joint = np.where(joint > NOTHING, joint, 0.0)
    there = joint > 0.0
    binding = gains[(point > 0.0) | (gains @ joint > 0.0)]
    rows = np.vstack([binding[:, there], np.ones(there.sum())])
    error = rows @ joint[there] - np.append(np.zeros(len(binding)), 1.0)
    root = np.sqrt(copies[there])
    joint[there] -= root * np.linalg.lstsq(rows * root, error, rcond=1e-10)[0]
    joint = np.maximum(joint, 0.0)
    return joint / joint.sum()


def _value(point: Floats, gains: Floats, joint: Floats, copies: Floats) -> float:
    """The dual, to be minimised."""
    return -float(point @ (gains @ joint)) - 0.5 * float((joint**2 / copies).sum())


def _primal(cost: Floats, copies: Floats) -> Floats:
    """copies * max(t - cost, 0), with the t that makes it sum to 1."""
    order = np.argsort(cost, kind="stable")
    level = (1.0 + np.cumsum(copies[order] * cost[order])) / np.cumsum(copies[order])
    last = np.flatnonzero(level > cost[order])[-1]
    joint = copies * np.maximum(level[last] - cost, 0.0)
    return joint / joint.sum()


def _piece(gains: Floats, there: Floats, copies: Floats, point: Floats) -> Floats:
    """The multipliers that minimise the quadratic piece of this support, near where they were."""
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    weight, inside = copies[there], gains[:, there]
    mean = inside @ weight / weight.sum()
    centred = inside - mean[:, None]
    curvature = (centred * weight) @ centred.T
    held = NEAR * max(float(curvature.diagonal().max()), 1e-3)
    curvature[np.diag_indices_from(curvature)] += held
    root = np.linalg.cholesky(curvature)
    target = solve_triangular(root, mean + held * point, lower=True)
    return nnls(root.T, target, maxiter=100 * point.size)[0]
