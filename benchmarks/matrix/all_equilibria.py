"""All extreme equilibria of random two-player games, beside an enumeration of its own in fractions.

    python benchmarks/matrix_equilibria.py --games 2000 --outliers 6

The games have 2 to 6 actions, utilities that are whole, in thirds, in tenths, or normal, some of
them larger by up to 10^outliers, and in part equal rows or columns, or a constant sum. The
reference knows the fractions, the library the floats.
"""

from __future__ import annotations

import argparse
import sys
import time
from fractions import Fraction
from itertools import combinations
from math import lcm

import numpy as np

import counterplay as cp

Matrix = list[list[Fraction]]


def solved(rows: list[list[int]]) -> tuple[list[int], int]:
    """Numerators and denominator of the solution of linear equations, the right sides last.

    By elimination without fractions; the denominator is 0 if the solution is not unique.
    """
    last = 1
    for column in range(len(rows)):
        pivot = next((r for r in range(column, len(rows)) if rows[r][column]), None)
        if pivot is None:
            return [], 0
        rows[column], rows[pivot] = rows[pivot], rows[column]
        lead, element = rows[column], rows[column][column]
        for r, row in enumerate(rows):
            if r != column:
                ratio = row[column]
                rows[r] = [
                    (a * element - ratio * b) // last for a, b in zip(row, lead, strict=True)
                ]
        last = element
    sign = 1 if last > 0 else -1
    return [sign * row[-1] for row in rows], abs(last)


def extreme_mixtures(given: Matrix) -> dict[tuple[Fraction, ...], tuple[set[int], set[int]]]:
    """The vertices of {mixtures x and v with x' matrix <= v}: what is played, the best columns.

    Where a support S and as many columns T determine x and v by x_S' matrix[S, T] = v, sum x = 1.
    """
    num_rows, num_columns = len(given), len(given[0])
    common = lcm(*(value.denominator for row in given for value in row))
    matrix = [[int(value * common) for value in row] for row in given]
    found = {}
    for size in range(1, min(num_rows, num_columns) + 1):
        for support in combinations(range(num_rows), size):
            for tight in combinations(range(num_columns), size):
                system = [[*(matrix[i][j] for i in support), -1, 0] for j in tight]
                solution, total = solved([*system, [1] * size + [0, 1]])
                if not total or min(solution[:-1]) < 0:
                    continue
                x = dict(zip(support, solution, strict=False))
                worth = [sum(x[i] * matrix[i][j] for i in support) for j in range(num_columns)]
                if max(worth) == solution[-1]:
                    mixture = tuple(Fraction(x.get(i, 0), total) for i in range(num_rows))
                    best = {j for j, value in enumerate(worth) if value == solution[-1]}
                    found[mixture] = ({i for i in support if x[i]}, best)
    return found


def extreme_equilibria(first: Matrix, second: Matrix) -> tuple[list[list[Fraction]], bool]:
    """All extreme equilibria (x and y in one list), and whether the game is degenerate."""
    rows = extreme_mixtures(second)
    columns = extreme_mixtures([list(column) for column in zip(*first, strict=True)])
    found = [
        [*x, *y]
        for x, (x_played, x_best) in rows.items()
        for y, (y_played, y_best) in columns.items()
        if x_played <= y_best and y_played <= x_best
    ]
    both = [*rows.values(), *columns.values()]
    return found, any(len(best) > len(played) for played, best in both)


def random_game(rng: np.random.Generator, outliers: int, most: int = 6) -> list[Matrix]:
    """Two matrices of fractions that floats hold up to rounding."""
    shape = rng.integers(2, most + 1, 2)
    kind = rng.integers(4)
    whole = rng.integers(-4, 5, (2, *shape))
    larger = rng.random(whole.shape) < 0.2 * rng.random()
    powers = rng.integers(0, outliers + 1, whole.shape)
    whole = np.where(larger, whole * 10**powers, whole)
    game = [[[Fraction(int(v), (1, 3, 10)[kind % 3]) for v in row] for row in m] for m in whole]
    if kind == 3:
        normal = rng.normal(size=whole.shape) * np.where(larger, 10.0**powers, 1.0)
        game = [[[Fraction(float(v)) for v in row] for row in m] for m in normal]
    style = rng.integers(4)
    if style == 0:  # zero-sum
        game[1] = [[-value for value in row] for row in game[0]]
    if style == 1:  # two equal rows, for one player or both
        for matrix in game[: rng.integers(1, 3)]:
            matrix[-1] = list(matrix[0])
    return game


def disagreement(game: list[Matrix], expected: list[list[Fraction]], degenerate: bool) -> str:
    """What the library lists otherwise than the reference; nothing if it agrees."""
    form = cp.matrix.NormalForm([[[float(value) for value in row] for row in m] for m in game])
    found = cp.matrix.support_enumeration(form)
    ours = [np.concatenate(one.profile) for one in found.equilibria]
    theirs = [np.array([float(value) for value in one]) for one in expected]
    if len(ours) != len(theirs):
        return f"{len(ours)} equilibria, must be {len(theirs)}"
    for one in theirs:
        if not any(np.allclose(one, other, rtol=1e-8, atol=0.0) for other in ours):
            return f"{one} is missing"
    if found.is_degenerate != degenerate:
        return f"degenerate is {found.is_degenerate}"
    if not any(
        np.array_equal(np.concatenate(cp.matrix.lemke_howson(form).profile), one) for one in ours
    ):
        return "lemke_howson finds one that is not listed"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=2000)
    parser.add_argument("--outliers", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    start, wrong, total, degenerate = time.perf_counter(), 0, 0, 0
    for number in range(arguments.games):
        game = random_game(np.random.default_rng((arguments.seed, number)), arguments.outliers)
        listed, ties = extreme_equilibria(*game)
        problem = disagreement(game, listed, ties)
        if problem:
            wrong += 1
            print(f"game {number}: {problem}", flush=True)
        total, degenerate = total + len(listed), degenerate + ties
    seconds = time.perf_counter() - start
    print(
        f"{arguments.games} games, {degenerate} of them degenerate, with {total} extreme "
        f"equilibria: {wrong} games differ ({seconds:.0f} s)"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
