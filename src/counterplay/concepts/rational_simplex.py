"""The simplex method in rational numbers, with right side and objective in powers of a tiny e.

A number is a polynomial in e, a list of its coefficients from the power 0 on. e is positive and
smaller than every positive rational number, so polynomials are compared as lists. The constraint
matrix has no e.
"""

from __future__ import annotations

from fractions import Fraction

from counterplay.errors import RunError

Row = list[Fraction]
Polynomial = list[Fraction]
MAX_PIVOTS = 20_000


def maximise(
    objective: list[Polynomial], rows: list[Row], right_side: list[Polynomial]
) -> list[Polynomial]:
    """Return a vertex x >= 0 that maximises objective' x subject to rows x = right_side.

    Two phases with artificial variables; Bland's rule, so that degenerate pivots cannot cycle. All
    polynomials have the same number of coefficients.

    Raises:
        RunError: the programme is infeasible or unbounded.
    """
    size, count, degrees = len(objective), len(rows), len(right_side[0])
    zero = [Fraction(0)] * degrees
    table, right = [], []
    for i, (row, polynomial) in enumerate(zip(rows, right_side, strict=True)):
        sign = -1 if polynomial < zero else 1
        artificial = [Fraction(int(i == j)) for j in range(count)]
        table.append([*(sign * value for value in row), *artificial])
        right.append([sign * value for value in polynomial])
    basis = list(range(size, size + count))
    one = [Fraction(1), *zero[1:]]
    cost = [zero] * size + [[-value for value in one]] * count
    _run(table, right, basis, cost)
    if any(basis[i] >= size and right[i] != zero for i in range(count)):
        raise RunError("the rational linear programme has no feasible point")
    for i in range(count - 1, -1, -1):  # artificial variables leave, with value 0
        if basis[i] >= size:
            column = next((j for j in range(size) if table[i][j]), None)
            if column is None:
                del table[i], right[i], basis[i]
            else:
                _pivot(table, right, basis, i, column)
    table = [row[:size] for row in table]
    _run(table, right, basis, objective)
    solution = [zero] * size
    for column, polynomial in zip(basis, right, strict=True):
        solution[column] = polynomial
    return solution


def _subtract(polynomial: Polynomial, factor: Fraction, other: Polynomial) -> Polynomial:
    """Return polynomial - factor * other."""
    return [a - factor * b if b else a for a, b in zip(polynomial, other, strict=True)]


def _run(
    table: list[Row], right: list[Polynomial], basis: list[int], cost: list[Polynomial]
) -> None:
    """Pivot until no reduced cost is positive."""
    size, zero = len(cost), [Fraction(0)] * len(cost[0])
    reduced = list(cost)
    for column, row in zip(basis, table, strict=True):
        price = cost[column]
        if price != zero:
            reduced = [
                _subtract(a, b, price) if b else a for a, b in zip(reduced, row, strict=True)
            ]
    for _ in range(MAX_PIVOTS):
        entering = next((j for j in range(size) if reduced[j] > zero), None)
        if entering is None:
            return
        ratios = [
            ([value / row[entering] for value in right[i]], basis[i], i)
            for i, row in enumerate(table)
            if row[entering] > 0
        ]
        if not ratios:
            raise RunError("the rational linear programme is unbounded")
        leaving = min(ratios)[2]
        _pivot(table, right, basis, leaving, entering)
        price, row = reduced[entering], table[leaving]
        reduced = [_subtract(a, b, price) if b else a for a, b in zip(reduced, row, strict=True)]
    raise RunError(f"the rational linear programme took over {MAX_PIVOTS:,} pivots")


def _pivot(table: list[Row], right: list[Polynomial], basis: list[int], i: int, j: int) -> None:
    """Bring column j into the basis in row i."""
    pivot = table[i][j]
    row = table[i] = [value / pivot for value in table[i]]
    polynomial = right[i] = [value / pivot for value in right[i]]
    basis[i] = j
    for k, other in enumerate(table):
        factor = other[j]
        if k != i and factor:
            table[k] = [a - factor * b if b else a for a, b in zip(other, row, strict=True)]
            right[k] = _subtract(right[k], factor, polynomial)
