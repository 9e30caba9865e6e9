"""Exact pivots on the polytope {z >= 0, matrix z <= 1} of a positive integer matrix.

Labels number the variables: those of z, and one slack variable for every row of the matrix.
"""

from __future__ import annotations

import math
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from counterplay.core.arena import Floats
from counterplay.matrix.normal_form import NormalForm

IntegerMatrix = list[list[int]]  # Python's integers, which never overflow or round

LONG_DENOMINATOR = 2**40  # floats with a longer denominator may be rounded fractions
MAX_SHORT_DENOMINATOR = 10**6
RELATIVE_ROUNDING = Fraction(1, 2**50)


def fraction_from_float(value: float) -> Fraction:
    """Return the fraction that a float represents: 1/3 for 0.3333333333333333, 3/10 for 0.1 + 0.2.

    A float of many digits that equals a power of two times a short fraction, up to four units in
    the last place, is replaced by that fraction: otherwise games in thirds and tenths would lose
    their ties. Other floats are converted exactly.

    >>> fraction_from_float(0.1 + 0.2)
    Fraction(3, 10)
    """
    mantissa, exponent = math.frexp(value)
    exact = Fraction(mantissa)
    if exact.denominator > LONG_DENOMINATOR:
        short = exact.limit_denominator(MAX_SHORT_DENOMINATOR)
        exact = short if abs(short - exact) <= RELATIVE_ROUNDING * abs(exact) else exact
    return exact * Fraction(2) ** exponent


def integers_from_utilities(utility: Floats) -> IntegerMatrix:
    """Return a positive integer matrix that is a shift and multiple of the utilities."""
    exact = [[fraction_from_float(value) for value in row] for row in utility.tolist()]
    minimum = min(map(min, exact))
    denominator = lcm(*(value.denominator for row in exact for value in row))
    integers = [[int((value - minimum) * denominator) for value in row] for row in exact]
    divisor = gcd(*(value for row in integers for value in row)) or 1
    return [[value // divisor + 1 for value in row] for row in integers]


class Tableau:
    """The tableau of one basis of the inequalities with slack variables, columns by label.

    Entries are `scale` times those of the usual tableau, which makes them integers (Bareiss, 1968).
    Ties of the ratio test are broken lexicographically (von Stengel, 2002), as if the right sides
    were 1 + e, 1 + e^2, ..., so that paths do not cycle in degenerate games.
    """

    def __init__(
        self, matrix: IntegerMatrix, first_slack_label: int, first_mixture_label: int
    ) -> None:
        size, others = len(matrix), len(matrix[0])
        self.slack_labels = range(first_slack_label, first_slack_label + size)
        self.mixture_labels = range(first_mixture_label, first_mixture_label + others)  # of z
        self.basis = list(self.slack_labels)
        self.scale = 1
        self.entries = [[0] * (size + others) + [1] for _ in matrix]
        for row, values in enumerate(matrix):
            self.entries[row][first_mixture_label : first_mixture_label + others] = values
            self.entries[row][first_slack_label + row] = 1

    def leaving_row(self, entering: int) -> int:
        """Return the row with the lexicographically least (right side, slack columns) / element."""
        rows = [row for row in range(len(self.entries)) if self.entries[row][entering] > 0]
        best = rows[0]
        for row in rows[1:]:
            x, y = self.entries[row], self.entries[best]
            for column in (-1, *self.slack_labels):
                difference = x[column] * y[entering] - y[column] * x[entering]
                if difference:
                    best = row if difference < 0 else best
                    break
        return best

    def pivot(self, row: int, entering: int) -> Tableau:
        """Return the neighbour in which a label has entered the basis in a row."""
        pivot_row = self.entries[row]
        element, scale = pivot_row[entering], self.scale
        other = object.__new__(Tableau)
        other.slack_labels, other.mixture_labels = self.slack_labels, self.mixture_labels
        other.scale = element
        other.basis = [*self.basis[:row], entering, *self.basis[row + 1 :]]
        other.entries = [
            [
                (value * element - values[entering] * pivot_value) // scale
                for value, pivot_value in zip(values, pivot_row, strict=True)
            ]
            for values in self.entries
        ]
        other.entries[row] = pivot_row
        return other

    @property
    def zero_labels(self) -> int:
        """The labels whose variables are 0, as bits."""
        positive = sum(1 << v for v, row in zip(self.basis, self.entries, strict=True) if row[-1])
        return (1 << (len(self.slack_labels) + len(self.mixture_labels))) - 1 - positive

    def mixture(self) -> Floats:
        """Return z scaled to sum 1; each probability is rounded once."""
        weight = dict(zip(self.basis, (row[-1] for row in self.entries), strict=True))
        weights = [weight.get(label, 0) for label in self.mixture_labels]
        total = sum(weights)
        return np.array([value / total for value in weights])


def best_response_tableaus(form: NormalForm) -> tuple[Tableau, Tableau]:
    """Return the tableaus of {x, B' x <= 1} and {y, A y <= 1} of a two-player game [m, n].

    Labels 0 ... m-1 are the rows, m ... m+n-1 the columns.
    """
    rows, _ = form.shape
    return (
        Tableau(integers_from_utilities(form.utility[1].T), rows, 0),
        Tableau(integers_from_utilities(form.utility[0]), 0, rows),
    )


def enumerate_vertices(first_tableau: Tableau) -> dict[int, Floats]:
    """Return all vertices except 0, scaled to sum 1, by their labels as bits.

    The search visits all neighbours of every basis; the graph of a polytope is connected. Bases are
    those of the polytope with right sides 1 + e, 1 + e^2, ..., in which every vertex keeps at least
    one; by the upper bound theorem (McMullen, 1970) they are far fewer than pairs of supports.
    """
    labels_at_zero = first_tableau.zero_labels
    vertices: dict[int, Floats] = {}
    visited = {_label_bits(first_tableau.basis)}
    pending: list[tuple[Tableau, int, int]] = []
    tableau = first_tableau
    while True:
        labels = tableau.zero_labels
        if labels != labels_at_zero and labels not in vertices:
            vertices[labels] = tableau.mixture()
        basis = _label_bits(tableau.basis)
        for entering in (*tableau.slack_labels, *tableau.mixture_labels):
            if basis >> entering & 1:
                continue
            row = tableau.leaving_row(entering)
            neighbour = basis ^ 1 << entering ^ 1 << tableau.basis[row]
            if neighbour not in visited:
                visited.add(neighbour)
                pending.append((tableau, row, entering))
        if not pending:
            return vertices
        tableau, row, entering = pending.pop()
        tableau = tableau.pivot(row, entering)


def _label_bits(labels: list[int]) -> int:
    return sum(1 << label for label in labels)
