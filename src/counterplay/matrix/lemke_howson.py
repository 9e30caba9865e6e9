"""One equilibrium of a two-player game along a path of pivots, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from counterplay.errors import ConfigError, RunError
from counterplay.matrix.checking import Equilibrium, verified
from counterplay.matrix.normal_form import NormalForm
from counterplay.tree import Floats

MOST_ACTIONS = 120  # of both players together; about a second per path
Integers = Any  # object arrays of Python integers: they never overflow and never round


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
    if rows + columns > MOST_ACTIONS:
        size = f"{rows} x {columns} actions are too many for exact pivoting"
        raise ConfigError(f"{size}; at most {MOST_ACTIONS} in all (zero_sum_lp takes more)")
    first = _Tableau(_integers(form.utility[0]), slack=0, played=rows)
    second = _Tableau(_integers(form.utility[1]).T, slack=rows, played=0)
    entering, on_first = label, label >= rows
    for _ in range(max_pivots):
        entering = (first if on_first else second).pivot(entering)
        if entering == label:
            break
        on_first = not on_first
    else:
        raise RunError(
            f"lemke_howson has not ended after {max_pivots:,} pivots from label {label}; "
            "try another label, or raise max_pivots"
        )
    x = second.mixture()[:rows]
    y = first.mixture()[rows:]
    return verified(form, (x, y), "lemke_howson")


class _Tableau:
    """The inequalities `matrix z <= 1` with slack variables, columns ordered by label.

    The entries are integers, `scale` times those of the usual tableau (Bareiss, 1968).
    """

    def __init__(self, matrix: Integers, slack: int, played: int) -> None:
        size, others = matrix.shape
        self.table = np.zeros((size, size + others + 1), object)
        self.slack = range(slack, slack + size)
        self.table[:, played : played + others] = matrix
        self.table[range(size), self.slack] = 1
        self.table[:, -1] = 1
        self.basis = list(self.slack)
        self.scale = 1

    def pivot(self, entering: int) -> int:
        """Let a label enter the basis; the label that leaves."""
        table = self.table
        row = self.leaving_row(entering)
        element = table[row, entering]
        kept = table[row].copy()
        table[:] = (table * element - np.outer(table[:, entering], kept)) // self.scale
        table[row] = kept
        self.scale = element
        leaving, self.basis[row] = self.basis[row], entering
        return leaving

    def leaving_row(self, entering: int) -> int:
        """The row with the lexicographically smallest (right side, slack columns) / element."""
        rows = [r for r, element in enumerate(self.table[:, entering]) if element > 0]
        for column in (-1, *self.slack):
            ratios = [Fraction(self.table[r, column], self.table[r, entering]) for r in rows]
            least = min(ratios)
            rows = [r for r, ratio in zip(rows, ratios, strict=True) if ratio == least]
            if len(rows) == 1:
                break
        return rows[0]

    def mixture(self) -> Floats:
        """The basic variables by label, scaled so that those played sum to 1."""
        played = [(label, row) for row, label in enumerate(self.basis) if label not in self.slack]
        total = sum(self.table[row, -1] for _, row in played)
        mixture = np.zeros(self.table.shape[1] - 1)
        for label, row in played:
            mixture[label] = Fraction(self.table[row, -1], total)
        return mixture


def _integers(utility: Floats) -> Integers:
    """Positive integers in exactly the proportions of the utilities, moved up."""
    exact = np.vectorize(Fraction, otypes=[object])(utility)
    denominator = lcm(*(value.denominator for value in exact.flat))
    whole = np.vectorize(int, otypes=[object])((exact - exact.min()) * denominator)
    return whole + 1
