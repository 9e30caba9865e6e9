"""Linear programmes as this package needs them: variables from 0 up, accurate vertices."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplay.errors import RunError
from counterplay.tree import Floats

INFEASIBLE = 2  # scipy's word for it
ACCURACY = 1e-10  # of constraints and of reduced costs; their entries come scaled to about 1


def solve_lp(
    goal: Floats,
    *,
    upper: tuple[Any, Floats] | None = None,
    equal: tuple[Any, Floats] | None = None,
    free: int = 0,
    most: Floats | None = None,
    what: str,
    may_fail: bool = False,
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

    lower = np.zeros(goal.size)
    lower[goal.size - free :] = -np.inf
    bounds = np.column_stack([lower, np.full(goal.size, np.inf) if most is None else most])
    result = linprog(
        goal,
        *(upper or (None, None)),
        *(equal or (None, None)),
        bounds=bounds,
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": ACCURACY,
            "dual_feasibility_tolerance": ACCURACY,
        },
    )
    if result.status == INFEASIBLE and may_fail:
        return None
    if result.status != 0:
        raise RunError(
            f"the linear programme of {what} was not solved ({result.message}); "
            "utilities may range over more than floats hold"
        )
    return result
