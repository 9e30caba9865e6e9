"""One equilibrium of a two-player game along a path of pivots, in exact arithmetic."""

from __future__ import annotations

from counterplay.errors import ConfigError, RunError
from counterplay.matrix.normal_form import NormalForm
from counterplay.matrix.tableau import Tableau, integers_from_utilities
from counterplay.matrix.verification import Equilibrium, verify_equilibrium

MAX_PIVOTING_ACTIONS = 120  # of both players together; about a second per path


def lemke_howson(form: NormalForm, label: int = 0, max_pivots: int = 10_000) -> Equilibrium:
    """One equilibrium (Lemke and Howson, 1964), by complementary pivoting from a dropped label.

    Labels 0 ... m-1 are the rows, m ... m+n-1 the columns. With A, B > 0, x in {x, B' x <= 1} has
    the labels of unplayed rows and of best responding columns, y in {y, A y <= 1} those of best
    responding rows and unplayed columns. From (0, 0), which has all, drop `label`; the label picked
    up twice is dropped on the other side, until the first one is picked up: an equilibrium.

    Tableaus hold integers (floats are fractions), and ties of the ratio test are broken
    lexicographically (von Stengel, 2002), as if 1 were 1 + e, 1 + e^2, ...: so degenerate games
    end too, exactly. Paths can be exponentially long; then a RunError says so after `max_pivots`.
    """
    if form.num_players != 2:
        raise ConfigError(f"lemke_howson needs two players, not {form.num_players}")
    rows, columns = form.shape
    if not 0 <= label < rows + columns:
        raise ConfigError(f"label is {label}, must be from 0 to {rows + columns - 1}")
    if rows + columns > MAX_PIVOTING_ACTIONS:
        size = f"{rows} x {columns} actions are too many for exact pivoting"
        raise ConfigError(f"{size}; at most {MAX_PIVOTING_ACTIONS} in all (zero_sum_lp takes more)")
    sides = [
        Tableau(
            integers_from_utilities(form.utility[1].T),
            first_slack_label=rows,
            first_mixture_label=0,
        ),
        Tableau(
            integers_from_utilities(form.utility[0]), first_slack_label=0, first_mixture_label=rows
        ),
    ]
    entering, side = label, int(label >= rows)
    for _ in range(max_pivots):
        row = sides[side].leaving_row(entering)
        leaving = sides[side].basis[row]
        sides[side] = sides[side].pivot(row, entering)
        if leaving == label:
            break
        entering, side = leaving, 1 - side
    else:
        raise RunError(
            f"lemke_howson has not ended after {max_pivots:,} pivots from label {label}; "
            "try another label, or raise max_pivots"
        )
    return verify_equilibrium(form, (sides[0].mixture(), sides[1].mixture()), "lemke_howson")
