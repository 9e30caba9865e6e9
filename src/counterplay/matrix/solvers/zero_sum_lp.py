"""An equilibrium of a two-player constant-sum game by linear programming."""

from __future__ import annotations

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError, RunError
from counterplay.matrix.linear_program import solve_lp
from counterplay.matrix.normal_form import NormalForm, Profile
from counterplay.matrix.solvers.lemke_howson import MAX_PIVOTING_ACTIONS, lemke_howson
from counterplay.matrix.verification import Equilibrium, verify_equilibrium


def zero_sum_lp(form: NormalForm) -> Equilibrium:
    """Return one equilibrium, by the minimax theorem (von Neumann, 1928) as a linear programme:

        maximise v over x >= 0 and v   subject to   sum x = 1   and   x' A[:, b] >= v for all b

    The dual variables of the inequalities are the other player's mixture. In a constant-sum game
    the second player minimises the first player's utility. If the programme is not accurate enough,
    for example with a few utilities far larger than others, `lemke_howson` solves the game.

    Raises:
        ConfigError: if the game is not a two-player constant-sum game.
        RunError: if the solution is not accurate and the game is too large for `lemke_howson`.
    """
    if form.num_players != 2 or not form.is_constant_sum:
        raise ConfigError(
            "zero_sum_lp needs two players whose utilities have a constant sum; "
            "use support_enumeration, lemke_howson or nash_nlp for other games"
        )
    try:
        return verify_equilibrium(form, solve_zero_sum_matrix(form.unit_utility[0]), "zero_sum_lp")
    except RunError:
        if sum(form.shape) > MAX_PIVOTING_ACTIONS:
            raise
        return lemke_howson(form)


def solve_zero_sum_matrix(matrix: Floats) -> Profile:
    """Return the mixtures that solve the programme for a matrix [n, m], without verification."""
    rows, columns = matrix.shape
    result = solve_lp(
        np.append(np.zeros(rows), -1.0),
        inequalities=(np.hstack([-matrix.T, np.ones((columns, 1))]), np.zeros(columns)),
        equalities=(np.append(np.ones(rows), 0.0)[None, :], np.ones(1)),
        num_free=1,
        name="zero_sum_lp",
    )
    return result.x[:rows], -result.ineqlin.marginals
