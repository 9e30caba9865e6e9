"""Pivots in integers: the polytope {z >= 0, matrix z <= 1} of a positive matrix, without rounding.

Variables are numbered as labels: those of z, and one slack variable for every row of the matrix.
"""

from __future__ import annotations

import math
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np

from counterplay.core.arena import Floats

IntegerMatrix = list[list[int]]  # Python's own, which never overflow and never round


LONG_DENOMINATOR, MAX_SHORT_DENOMINATOR, RELATIVE_ROUNDING = 2**40, 10**6, Fraction(1, 2**50)


def fraction_from_float(value: float) -> Fraction:
    """The fraction that a float stands for: 1/3 for 0.3333333333333333, 3/10 for 0.1 + 0.2.

    A float of many digits that is a power of two times a short fraction, up to four units in the
    last place, is taken for its rounding: or else games in thirds and tenths would lose the ties
    that they were written with. Everything else is taken as it is.
    """
    mantissa, exponent = math.frexp(value)
    exact = Fraction(mantissa)
    if exact.denominator > LONG_DENOMINATOR:
        short = exact.limit_denominator(MAX_SHORT_DENOMINATOR)
        exact = short if abs(short - exact) <= RELATIVE_ROUNDING * abs(exact) else exact
    return exact * Fraction(2) ** exponent


def integers_from_utilities(utility: Floats) -> IntegerMatrix:
    """Positive integers in exactly the proportions of the utilities, moved up."""
    exact = [[fraction_from_float(value) for value in row] for row in utility.tolist()]
    least = min(map(min, exact))
    denominator = lcm(*(value.denominator for row in exact for value in row))
    whole = [[int((value - least) * denominator) for value in row] for row in exact]
    common = gcd(*(value for row in whole for value in row)) or 1
    return [[value // common + 1 for value in row] for row in whole]


class Tableau:
    """One basis of the inequalities with their slack variables, columns ordered by label.

    Entries are `scale` times those of the usual tableau, which makes them integers (Bareiss, 1968).
    Ties of the ratio test are broken lexicographically (von Stengel, 2002), as if the right sides
    were 1 + e, 1 + e^2, ...: so no two bases are neighbours twice, in degenerate games too.
    """

    def __init__(
        self, matrix: IntegerMatrix, first_slack_label: int, first_mixture_label: int
    ) -> None:
        size, others = len(matrix), len(matrix[0])
        self.slack_labels = range(
            first_slack_label, first_slack_label + size
        )  # labels of the slack variables
        self.mixture_labels = range(
            first_mixture_label, first_mixture_label + others
        )  # labels of z
        self.basis = list(self.slack_labels)
        self.scale = 1
        self.entries = [[0] * (size + others) + [1] for _ in matrix]
        for row, values in enumerate(matrix):
            self.entries[row][first_mixture_label : first_mixture_label + others] = values
            self.entries[row][first_slack_label + row] = 1

    def leaving_row(self, entering: int) -> int:
        """The row with the lexicographically smallest (right side, slack columns) / element."""
        rows = [row for row in range(len(self.entries)) if self.entries[row][entering] > 0]
        best = rows[0]
        for row in rows[1:]:
            one, two = self.entries[row], self.entries[best]
            for column in (-1, *self.slack_labels):
                difference = one[column] * two[entering] - two[column] * one[entering]
                if difference:
                    best = row if difference < 0 else best
                    break
        return best

    def pivot(self, row: int, entering: int) -> Tableau:
        """The neighbour in which a label has entered the basis in a row."""
        kept = self.entries[row]
        element, scale = kept[entering], self.scale
        other = object.__new__(Tableau)
        other.slack_labels, other.mixture_labels, other.scale = (
            self.slack_labels,
            self.mixture_labels,
            element,
        )
        other.basis = [*self.basis[:row], entering, *self.basis[row + 1 :]]
        other.entries = [
            [
                (value * element - values[entering] * own) // scale
                for value, own in zip(values, kept, strict=True)
            ]
            for values in self.entries
        ]
        other.entries[row] = kept
        return other

    @property
    def zero_labels(self) -> int:
        """The labels whose variables are 0, as bits."""
        positive = sum(1 << v for v, row in zip(self.basis, self.entries, strict=True) if row[-1])
        return (1 << (len(self.slack_labels) + len(self.mixture_labels))) - 1 - positive

    def mixture(self) -> Floats:
        """z scaled to sum 1, each probability rounded only now."""
        weight = dict(zip(self.basis, (row[-1] for row in self.entries), strict=True))
        weights = [weight.get(label, 0) for label in self.mixture_labels]
        total = sum(weights)
        return np.array([value / total for value in weights])


def enumerate_vertices(first_tableau: Tableau) -> dict[int, Floats]:
    """All vertices but 0, scaled to sum 1, by their labels, which no two share.

    From every basis, all its neighbours: the graph of a polytope is connected. Bases are those of
    the polytope with right sides 1 + e, 1 + e^2, ..., in which every vertex keeps at least one; by
    the upper bound theorem (McMullen, 1970) they are far fewer than there are pairs of supports.
    """
    nothing = first_tableau.zero_labels
    found: dict[int, Floats] = {}
    seen = {_label_bits(first_tableau.basis)}
    waiting: list[tuple[Tableau, int, int]] = []
    tableau: Any = first_tableau
    while True:
        labels = tableau.zero_labels
        if labels != nothing and labels not in found:
            found[labels] = tableau.mixture()
        basis = _label_bits(tableau.basis)
        for entering in (*tableau.slack_labels, *tableau.mixture_labels):
            if basis >> entering & 1:
                continue
            row = tableau.leaving_row(entering)
            neighbour = basis ^ 1 << entering ^ 1 << tableau.basis[row]
            if neighbour not in seen:
                seen.add(neighbour)
                waiting.append((tableau, row, entering))
        if not waiting:
            return found
        tableau, row, entering = waiting.pop()
        tableau = tableau.pivot(row, entering)


def _label_bits(labels: list[int]) -> int:
    return sum(1 << label for label in labels)
