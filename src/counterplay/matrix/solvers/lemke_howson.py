"""One equilibrium of a two-player game by complementary pivoting, in exact arithmetic."""

from __future__ import annotations

from counterplay.errors import ConfigError, RunError
from counterplay.matrix.normal_form import NormalForm
from counterplay.matrix.tableau import best_response_tableaus
from counterplay.matrix.verification import Equilibrium, verify_equilibrium

MAX_PIVOTING_ACTIONS = 120  # of both players together; a path takes about a second


def lemke_howson(form: NormalForm, label: int = 0, max_pivots: int = 10_000) -> Equilibrium:
    """Return one equilibrium (Lemke and Howson, 1964), by pivoting from a dropped label.

    Labels 0 ... m-1 are the rows, m ... m+n-1 the columns. With A, B > 0, x in {x, B' x <= 1} has
    the labels of unplayed rows and of best responding columns, y in {y, A y <= 1} those of best
    responding rows and unplayed columns. (0, 0) has all labels; drop `label`. The label that then
    occurs twice is dropped on the other side, and so on, until `label` is picked up again: an
    equilibrium.

    Tableaus hold integers (floats are converted to fractions), and ties of the ratio test are
    broken lexicographically (von Stengel, 2002), as if 1 were 1 + e, 1 + e^2, ..., so that paths
    end in degenerate games too.

    Args:
        form: the normal form of a two-player game.
        label: the label to drop first.
        max_pivots: the largest number of pivots; paths can be exponentially long.

    Raises:
        ConfigError: if the game is not a two-player game, too large, or has no such label.
        RunError: if the path has not ended after `max_pivots`.
    """
    if form.num_players != 2:
        raise ConfigError(f"lemke_howson needs two players, not {form.num_players}")
    rows, columns = form.shape
    if not 0 <= label < rows + columns:
        raise ConfigError(f"label is {label}, must be from 0 to {rows + columns - 1}")
    if rows + columns > MAX_PIVOTING_ACTIONS:
        raise ConfigError(
            f"{rows} x {columns} actions are too many for exact pivoting; at most "
            f"{MAX_PIVOTING_ACTIONS} in all (zero_sum_lp takes more)"
        )
    sides = list(best_response_tableaus(form))
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
