"""Correlated and coarse correlated equilibria: by linear programming, or the most random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError, RunError
from counterplay.matrix.linear_program import solve_lp
from counterplay.matrix.max_gini import max_gini_distribution
from counterplay.matrix.normal_form import NormalForm
from counterplay.matrix.verification import (
    PROBABILITY_TOLERANCE,
    CorrelatedEquilibrium,
    verify_correlated_equilibrium,
)

WELFARE, ENTROPY, GINI = "welfare", "entropy", "gini"
MAX_CONSTRAINT_ENTRIES = 5_000_000  # of the constraints
MAX_DUAL_ROUNDS = 3  # of the dual of the most random equilibrium


def correlated_equilibrium(
    form: NormalForm, objective: str | int = WELFARE, copies: Floats | None = None
) -> CorrelatedEquilibrium:
    """The best correlated equilibrium (Aumann, 1974) for an objective.

    A device draws a joint action from q and tells each player its own part of it:

        for all i, a, b:   sum over a_-i of   q(a, a_-i) * (u_i(b, a_-i) - u_i(a, a_-i))   <= 0

    Args:
        objective: "welfare", the sum of all utilities; a player, whose value is maximised; or
            "entropy" or "gini", the most random equilibrium by that measure, which is unique.
        copies: for "gini", how many equal joint actions each one stands for (Marris et al., 2021).
    """
    return _optimise(form, objective, copies, coarse=False)


def coarse_correlated_equilibrium(
    form: NormalForm, objective: str | int = WELFARE, copies: Floats | None = None
) -> CorrelatedEquilibrium:
    """The best coarse correlated equilibrium (Moulin and Vial, 1978) for the same objectives.

    Players decide whether to follow the device before they hear from it:

        for all i, b:   sum over a of   q(a) * (u_i(b, a_-i) - u_i(a))   <= 0
    """
    return _optimise(form, objective, copies, coarse=True)


def _optimise(
    form: NormalForm, objective: str | int, copies: Floats | None, coarse: bool
) -> CorrelatedEquilibrium:
    name = "coarse_correlated_equilibrium" if coarse else "correlated_equilibrium"
    weight = _objective_weights(form, objective)
    entries = form.num_joint_actions * sum(n if coarse else n - 1 for n in form.shape)
    if entries > MAX_CONSTRAINT_ENTRIES:
        raise ConfigError(
            f"{name} would have {entries:,} entries in its constraints, at most {MAX_CONSTRAINT_ENTRIES:,} "
            "are taken; learners find approximate ones of larger games"
        )
    gains = (_coarse_gains if coarse else _correlated_gains)(form)
    if objective == GINI:
        many = (
            np.ones(form.num_joint_actions) if copies is None else np.asarray(copies, float).ravel()
        )
        return verify_correlated_equilibrium(form, max_gini_distribution(gains, many), coarse, name)
    gains, size = _equilibrate(gains)
    if weight is None:
        joint = _max_entropy_distribution(gains, size, name)
    else:
        bound = (gains, np.zeros(gains.shape[0])) if gains.shape[0] else None
        goal = -weight.ravel() * size
        equal = (size[None, :] / size.max(), np.array([1.0 / size.max()]))
        joint = size * solve_lp(goal, inequalities=bound, equalities=equal, name=name).x
    try:
        return verify_correlated_equilibrium(form, joint, coarse, name)
    except RunError:  # a pure outcome, perhaps, and what rounding left beside it
        joint = np.where(joint > PROBABILITY_TOLERANCE * joint.sum(), joint, 0.0)
        return verify_correlated_equilibrium(form, joint, coarse, name)


def _objective_weights(form: NormalForm, objective: str | int) -> Floats | None:
    """What the objective makes of each joint action; None where that is not linear."""
    if objective in (ENTROPY, GINI):
        return None
    if objective == WELFARE:
        return (form.zero_min_form.utility / form.utility_range.max()).sum(axis=0).ravel()
    if isinstance(objective, int) and 0 <= objective < form.num_players:
        return form.unit_utility[objective].ravel()
    known = f"'welfare', 'entropy', 'gini' or a player from 0 to {form.num_players - 1}"
    raise ConfigError(f"objective is {objective!r}, must be {known}")


def _correlated_gains(form: NormalForm) -> Any:
    """One sparse row per player and pair of actions: what following b instead of a gains."""
    from scipy.sparse import coo_array

    joint = np.arange(form.num_joint_actions).reshape(form.shape)
    rows, columns, values = [], [], []
    row = 0
    for player, count in enumerate(form.shape):
        table = form.relative_form.payoff_matrix(player) / form.utility_range[player]
        index = np.moveaxis(joint, player, 0).reshape(count, -1)
        for recommended in range(count):
            for action in range(count):
                if action == recommended:
                    continue
                rows.append(np.full(index.shape[1], row))
                columns.append(index[recommended])
                values.append(table[action] - table[recommended])
                row += 1
    if not rows:
        return coo_array((0, form.num_joint_actions)).tocsr()
    parts = (np.concatenate(rows), np.concatenate(columns))
    return coo_array((np.concatenate(values), parts), shape=(row, form.num_joint_actions)).tocsr()


def _coarse_gains(form: NormalForm) -> Any:
    """One row per player and action: what committing to the action gains."""
    from scipy.sparse import csr_array

    rows = []
    for player, count in enumerate(form.shape):
        utility = form.relative_form.utility[player] / form.utility_range[player]
        for action in range(count):
            committed = np.take(utility, [action], axis=player)
            rows.append((committed - utility).ravel())
    return csr_array(np.array(rows))


def _equilibrate(gains: Any) -> tuple[Any, Floats]:
    """The inequalities in numbers that are alike: joint actions with much to gain count in less.

    Rows may be divided by anything, since they are compared with 0, and each joint action may be
    measured in units of its own: those are returned too. So the accuracy of a linear programme is
    that of every single inequality, however large utilities are elsewhere (Ruiz, 2001).
    """
    from scipy.sparse import coo_array

    parts = gains.tocoo()
    places, entries = (parts.row, parts.col), np.abs(parts.data)
    units = [np.ones(count) for count in gains.shape]
    for _ in range(10):
        scaled = entries / (units[0][places[0]] * units[1][places[1]])
        for unit, place in zip(units, places, strict=True):
            largest = np.zeros(unit.size)
            np.maximum.at(largest, place, scaled)
            unit *= np.sqrt(np.where(largest > 0.0, largest, 1.0))
    values = parts.data / (units[0][places[0]] * units[1][places[1]])
    return coo_array((values, places), shape=gains.shape).tocsr(), 1.0 / units[1]


def _max_entropy_distribution(gains: Any, size: Floats, name: str) -> Floats:
    """The q = size r with gains r <= 0 of largest entropy.

    A joint action that is impossible in every equilibrium is left out first. On the others the
    dual problem has a solution: with l >= 0 per inequality,

        minimise log sum over a of exp(-(gains' l)(a)),   q(a) proportional to exp(-(gains' l)(a))
    """
    possible = _possible_joint_actions(gains, size.size, name)
    matrix = gains[:, possible].toarray() / size[possible]
    matrix = matrix[np.abs(matrix).max(axis=1, initial=0.0) > 0.0]
    joint = np.zeros(size.size)
    joint[possible] = _solve_dual(matrix) if matrix.size else 1.0 / possible.size
    return joint


def _possible_joint_actions(gains: Any, num_joint: int, name: str) -> Any:
    """The joint actions that some equilibrium gives a positive probability.

    Equilibria are a cone cut at sum 1. In the cone, maximise the sum of min(q, 1): it can be 1 for
    all possible joint actions at once, because the cone contains sums and multiples.
    """
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    one = eye_array(num_joint)
    upper = vstack([hstack([gains, csr_array(gains.shape)]), hstack([-one, one])]).tocsr()
    result = solve_lp(
        np.append(np.zeros(num_joint), -np.ones(num_joint)),
        inequalities=(upper, np.zeros(upper.shape[0])),
        upper_bounds=np.append(np.full(num_joint, np.inf), np.ones(num_joint)),
        name=name,
    )
    return np.flatnonzero(result.x[num_joint:] > 0.5)


def _solve_dual(matrix: Floats) -> Floats:
    """The distribution at the solution of the dual.

    A row counts in units of the mean size of its entries, which depends on the distribution: so it
    is solved again, from where it was, until these are right.
    """
    joint = np.full(matrix.shape[1], 1.0 / matrix.shape[1])
    point = np.zeros(matrix.shape[0])
    for _ in range(MAX_DUAL_ROUNDS):
        mean = np.maximum(np.abs(matrix) @ joint, 1e-6 * np.abs(matrix).max(axis=1))
        matrix, point = matrix / mean[:, None], point * mean
        point = _minimise_dual(matrix, point)
        joint = _log_sum_exp(-point @ matrix)[1]
        if np.abs(mean - 1.0).max() < 0.1:
            break
    return joint


def _minimise_dual(matrix: Floats, start: Floats) -> Floats:
    """The multipliers of the dual, by L-BFGS-B and then projected Newton steps."""
    from scipy.optimize import minimize

    def value_and_gradient(multiplier: Floats) -> tuple[float, Floats]:
        value, joint = _log_sum_exp(-multiplier @ matrix)
        return value, -matrix @ joint

    bounds = [(0.0, None)] * matrix.shape[0]
    options = {"maxiter": 300, "ftol": 1e-16, "gtol": 1e-12}
    point = minimize(
        value_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    ).x
    for _ in range(200):
        value, joint = _log_sum_exp(-point @ matrix)
        slope = -matrix @ joint
        free = (point > 0.0) | (slope < 0.0)
        if np.abs(slope[free]).max(initial=0.0) < 1e-13:
            break
        centred = matrix[free] - (matrix[free] @ joint)[:, None]
        curvature = (centred * joint) @ centred.T
        step = np.zeros_like(point)
        step[free] = np.linalg.lstsq(curvature, -slope[free], rcond=1e-12)[0]
        size = 1.0
        while (
            size > 1e-10 and _log_sum_exp(-np.maximum(point + size * step, 0.0) @ matrix)[0] > value
        ):
            size /= 2.0
        if size <= 1e-10:
            break
        point = np.maximum(point + size * step, 0.0)
    return point


def _log_sum_exp(exponent: Floats) -> tuple[float, Floats]:
    """log sum exp, and the distribution proportional to exp."""
    top = exponent.max()
    weight = np.exp(exponent - top)
    total = weight.sum()
    return float(top + np.log(total)), weight / total
