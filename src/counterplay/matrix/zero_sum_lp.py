"""The equilibrium of a two-player constant-sum matrix, by linear programming."""

from __future__ import annotations

import numpy as np

from counterplay.errors import ConfigError, RunError
from counterplay.matrix.checking import Equilibrium, verified
from counterplay.matrix.lemke_howson import MOST_ACTIONS, lemke_howson
from counterplay.matrix.linear import solve_lp
from counterplay.matrix.normal_form import NormalForm, Profile
from counterplay.tree import Floats


def zero_sum_lp(form: NormalForm) -> Equilibrium:
    """One equilibrium, by the minimax theorem (von Neumann, 1928) as a linear programme:

        maximise v over x >= 0 and v   subject to   sum x = 1   and   x' A[:, b] >= v for all b

    The dual variables of the inequalities are the other player's mixture. Constant-sum games are
    taken too: the second player minimises what the first one gets. Where the accuracy of the
    programme does not suffice, as with a few utilities far larger than others, exact pivots do.
    """
    if form.num_players != 2 or not form.constant_sum:
        raise ConfigError(
            "zero_sum_lp needs two players whose utilities have a constant sum; "
            "support_enumeration, lemke_howson and nash_nlp take any"
        )
    try:
        return verified(form, lp_profile(form.unit[0]), "zero_sum_lp")
    except RunError:
        if sum(form.shape) > MOST_ACTIONS:
            raise
        return lemke_howson(form)


def lp_profile(matrix: Floats) -> Profile:
    """What the programme alone finds for the first player's utilities [n, m], not verified."""
    rows, columns = matrix.shape
    result = solve_lp(
        np.append(np.zeros(rows), -1.0),
        upper=(np.hstack([-matrix.T, np.ones((columns, 1))]), np.zeros(columns)),
        equal=(np.append(np.ones(rows), 0.0)[None, :], np.ones(1)),
        free=1,
        what="zero_sum_lp",
    )
    return result.x[:rows], -result.ineqlin.marginals
