"""Linear programmes as this package needs them: variables from 0 up, accurate vertices."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import RunError

INFEASIBLE_STATUS = 2  # scipy's word for it
SOLVER_TOLERANCE = (
    1e-10  # of constraints and of reduced costs; their entries come scaled to about 1
)


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
    """The optimal vertex, as scipy's result; a RunError if there is none.

    Args:
        goal: what to minimise.
        upper: (A, b) for A x <= b.
        equal: (A, b) for A x = b.
        free: how many variables at the end may be negative.
        most: upper bounds of the variables.
        what: names the programme in errors.
        may_fail: None, not an error, where nothing satisfies the constraints.
    """
    from scipy.optimize import linprog

    lower = np.zeros(cost.size)
    lower[cost.size - num_free :] = -np.inf
    bounds = np.column_stack(
        [lower, np.full(cost.size, np.inf) if upper_bounds is None else upper_bounds]
    )
    result = linprog(
        cost,
        *(inequalities or (None, None)),
        *(equalities or (None, None)),
        bounds=bounds,
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
