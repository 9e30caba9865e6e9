"""Correlated and coarse correlated equilibria: optimal for an objective, or most random."""

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
MAX_CONSTRAINT_ENTRIES = 5_000_000
MAX_DUAL_ROUNDS = 3  # solutions of the maximum-entropy dual, with new units each time


def correlated_equilibrium(
    form: NormalForm, objective: str | int = WELFARE, copies: Floats | None = None
) -> CorrelatedEquilibrium:
    """Return the correlated equilibrium (Aumann, 1974) that is optimal for an objective.

    A device draws a joint action from q and recommends to each player its action. No player gains
    by deviating from a recommendation:

        for all i, a, b:   sum over a_-i of   q(a, a_-i) * (u_i(b, a_-i) - u_i(a, a_-i))   <= 0

    Args:
        form: the normal form of the game.
        objective: "welfare", the sum of all utilities; a player, whose value is maximised; or
            "entropy" or "gini", the most random equilibrium by that measure, which is unique.
        copies: for "gini", the number of equal joint actions that each joint action represents
            [A_0, ...] (Marris et al., 2021).

    Raises:
        ConfigError: if the game has too many constraints, or the objective is unknown.
        RunError: if a deviation from the solution gains more than rounding errors explain.

    Example:
        >>> import counterplay as cp
        >>> form = cp.matrix.normal_form_from_game(cp.load_game("chicken"))
        >>> cp.matrix.correlated_equilibrium(form).joint_distribution.shape
        (2, 2)
    """
    return _optimise(form, objective, copies, coarse=False)


def coarse_correlated_equilibrium(
    form: NormalForm, objective: str | int = WELFARE, copies: Floats | None = None
) -> CorrelatedEquilibrium:
    """Return the coarse correlated equilibrium (Moulin and Vial, 1978) optimal for an objective.

    Players decide whether to follow the device before they know its recommendation:

        for all i, b:   sum over a of   q(a) * (u_i(b, a_-i) - u_i(a))   <= 0

    Arguments and errors are those of `correlated_equilibrium`.
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
            f"{name} would have {entries:,} entries in its constraints, at most "
            f"{MAX_CONSTRAINT_ENTRIES:,} are allowed; in larger games learners approximate it"
        )
    gains = (_coarse_gains if coarse else _correlated_gains)(form)
    if objective == GINI:
        counts = np.ones(form.shape) if copies is None else np.asarray(copies, float)
        joint = max_gini_distribution(gains, counts.ravel())
        return verify_correlated_equilibrium(form, joint, coarse, name)
    gains, size = _equilibrate(gains)
    if weight is None:
        joint = _max_entropy_distribution(gains, size, name)
    else:
        bounds = (gains, np.zeros(gains.shape[0])) if gains.shape[0] else None
        cost = -weight.ravel() * size
        total = (size[None, :] / size.max(), np.array([1.0 / size.max()]))
        joint = size * solve_lp(cost, inequalities=bounds, equalities=total, name=name).x
    try:
        return verify_correlated_equilibrium(form, joint, coarse, name)
    except RunError:  # often caused by tiny probabilities beside a pure outcome
        joint = np.where(joint > PROBABILITY_TOLERANCE * joint.sum(), joint, 0.0)
        return verify_correlated_equilibrium(form, joint, coarse, name)


def _objective_weights(form: NormalForm, objective: str | int) -> Floats | None:
    """Return the objective's weight of each joint action; None if it is not linear."""
    if objective in (ENTROPY, GINI):
        return None
    if objective == WELFARE:
        return (form.zero_min_form.utility / form.utility_range.max()).sum(axis=0).ravel()
    if isinstance(objective, int) and 0 <= objective < form.num_players:
        return form.unit_utility[objective].ravel()
    raise ConfigError(
        f"objective is {objective!r}, must be 'welfare', 'entropy', 'gini' or a player from 0 to "
        f"{form.num_players - 1}"
    )


def _correlated_gains(form: NormalForm) -> Any:
    """Return the gains of playing b instead of a, a sparse row per player and pair of actions."""
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
    """Return the gains of committing to an action, one row per player and action."""
    from scipy.sparse import csr_array

    rows = []
    for player, count in enumerate(form.shape):
        utility = form.relative_form.utility[player] / form.utility_range[player]
        for action in range(count):
            commitment = np.take(utility, [action], axis=player)
            rows.append((commitment - utility).ravel())
    return csr_array(np.array(rows))


def _equilibrate(gains: Any) -> tuple[Any, Floats]:
    """Scale the rows and columns of the inequalities to a largest entry near 1 (Ruiz, 2001).

    The scale of a row does not matter, since rows are compared with 0; that of a column is a unit
    for the probability of its joint action. So the accuracy of a linear programme holds for every
    inequality, however large utilities are elsewhere.

    Returns:
        The scaled inequalities, and the unit of each joint action.
    """
    from scipy.sparse import coo_array

    coo = gains.tocoo()
    row, column, entries = coo.row, coo.col, np.abs(coo.data)
    row_scale, column_scale = np.ones(gains.shape[0]), np.ones(gains.shape[1])
    for _ in range(10):
        scaled = entries / (row_scale[row] * column_scale[column])
        for scale, index in ((row_scale, row), (column_scale, column)):
            largest = np.zeros(scale.size)
            np.maximum.at(largest, index, scaled)
            scale *= np.sqrt(np.where(largest > 0.0, largest, 1.0))
    values = coo.data / (row_scale[row] * column_scale[column])
    return coo_array((values, (row, column)), shape=gains.shape).tocsr(), 1.0 / column_scale


def _max_entropy_distribution(gains: Any, size: Floats, name: str) -> Floats:
    """Return the distribution q = size * r of largest entropy with gains r <= 0.

    Joint actions that have probability 0 in every equilibrium are excluded first. On the others the
    dual problem has a solution: with a multiplier l >= 0 per inequality,

        minimise log sum over a of exp(-(gains' l)(a)),   q(a) proportional to exp(-(gains' l)(a))
    """
    possible = _possible_joint_actions(gains, size.size, name)
    matrix = gains[:, possible].toarray() / size[possible]
    matrix = matrix[np.abs(matrix).max(axis=1, initial=0.0) > 0.0]
    joint = np.zeros(size.size)
    joint[possible] = _solve_dual(matrix) if matrix.size else 1.0 / possible.size
    return joint


def _possible_joint_actions(gains: Any, num_joint: int, name: str) -> Any:
    """Return the joint actions that have positive probability in some equilibrium.

    Equilibria are the points of a cone with sum 1. In the cone, maximise the sum of min(q, 1): it
    can be 1 for all these joint actions at once, because the cone contains sums and multiples.
    """
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    identity = eye_array(num_joint)
    zeros = csr_array(gains.shape)
    upper = vstack([hstack([gains, zeros]), hstack([-identity, identity])]).tocsr()
    result = solve_lp(
        np.append(np.zeros(num_joint), -np.ones(num_joint)),
        inequalities=(upper, np.zeros(upper.shape[0])),
        upper_bounds=np.append(np.full(num_joint, np.inf), np.ones(num_joint)),
        name=name,
    )
    return np.flatnonzero(result.x[num_joint:] > 0.5)


def _solve_dual(matrix: Floats) -> Floats:
    """Return the distribution at the solution of the dual.

    Each row is divided by the mean size of its entries under the distribution. The distribution
    changes that mean, so the dual is solved again, from the last solution, until it is stable.
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
    """Return the multipliers of the dual, by L-BFGS-B and then projected Newton steps."""
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
        length = 1.0
        while length > 1e-10:
            next_point = np.maximum(point + length * step, 0.0)
            if not _log_sum_exp(-next_point @ matrix)[0] > value:
                break
            length /= 2.0
        if length <= 1e-10:
            break
        point = next_point
    return point


def _log_sum_exp(exponent: Floats) -> tuple[float, Floats]:
    """Return log sum exp(exponent), and the distribution proportional to exp(exponent)."""
    top = exponent.max()
    weight = np.exp(exponent - top)
    total = weight.sum()
    return float(top + np.log(total)), weight / total
