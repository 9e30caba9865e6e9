"""Linear programmes with non-negative variables, solved accurately to a vertex."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import RunError

INFEASIBLE_STATUS = 2  # of scipy's result
SOLVER_TOLERANCE = 1e-10  # of constraints and reduced costs, whose entries are scaled to about 1


def solve_lp(
    cost: Floats,
    *,
    inequalities: tuple[Any, Floats] | None = None,
    equalities: tuple[Any, Floats] | None = None,
    num_free: int = 0,
    upper_bounds: Floats | None = None,
    name: str,
    allow_infeasible: bool = False,
) -> Any:
    """Return an optimal vertex of a linear programme, as scipy's `OptimizeResult`.

    Args:
        cost: coefficients c of the objective, minimise c' x.
        inequalities: (A, b) for A x <= b.
        equalities: (A, b) for A x = b.
        num_free: number of variables, at the end of x, that may be negative.
        upper_bounds: of the variables.
        name: names the programme in errors.
        allow_infeasible: return None if no x satisfies the constraints.

    Raises:
        RunError: if the programme is infeasible or unbounded, or the solver fails.
    """
    from scipy.optimize import linprog

    lower = np.zeros(cost.size)
    lower[cost.size - num_free :] = -np.inf
    upper = np.full(cost.size, np.inf) if upper_bounds is None else upper_bounds
    result = linprog(
        cost,
        *(inequalities or (None, None)),
        *(equalities or (None, None)),
        bounds=np.column_stack([lower, upper]),
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": SOLVER_TOLERANCE,
            "dual_feasibility_tolerance": SOLVER_TOLERANCE,
        },
    )
    if result.status == INFEASIBLE_STATUS and allow_infeasible:
        return None
    if result.status != 0:
        raise RunError(
            f"the linear programme of {name} was not solved ({result.message}); "
            "utilities may range over more than floats hold"
        )
    return result
