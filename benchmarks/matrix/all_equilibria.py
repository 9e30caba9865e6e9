"""Compare all extreme equilibria of random two-player games with an enumeration in fractions.

    python -m benchmarks.matrix.all_equilibria --games 2000 --outliers 6

The games have 2 to 6 actions. Utilities are integers, thirds, tenths or normal numbers; some are
larger by up to 10^outliers. Some games have equal rows, some are zero-sum. The reference uses the
fractions, the library the floats.
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
from benchmarks.timing import first_paragraph

Matrix = list[list[Fraction]]


def solve_linear(rows: list[list[int]]) -> tuple[list[int], int]:
    """Return numerators and the denominator of the solution of linear equations.

    Each row ends with its right side. Uses elimination without fractions; the denominator is 0 if
    the solution is not unique.
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


def extreme_mixtures(payoffs: Matrix) -> dict[tuple[Fraction, ...], tuple[set[int], set[int]]]:
    """Return the vertices x of {x, v: x' matrix <= v}, with their supports and best columns.

    A support S and as many columns T determine x and v by x_S' matrix[S, T] = v, sum x = 1.
    """
    num_rows, num_columns = len(payoffs), len(payoffs[0])
    common = lcm(*(value.denominator for row in payoffs for value in row))
    matrix = [[int(value * common) for value in row] for row in payoffs]
    vertices = {}
    for size in range(1, min(num_rows, num_columns) + 1):
        for support in combinations(range(num_rows), size):
            for tight in combinations(range(num_columns), size):
                system = [[*(matrix[i][j] for i in support), -1, 0] for j in tight]
                solution, total = solve_linear([*system, [1] * size + [0, 1]])
                if not total or min(solution[:-1]) < 0:
                    continue
                x = dict(zip(support, solution, strict=False))
                values = [sum(x[i] * matrix[i][j] for i in support) for j in range(num_columns)]
                if max(values) == solution[-1]:
                    mixture = tuple(Fraction(x.get(i, 0), total) for i in range(num_rows))
                    best = {j for j, value in enumerate(values) if value == solution[-1]}
                    vertices[mixture] = ({i for i in support if x[i]}, best)
    return vertices


def extreme_equilibria(first: Matrix, second: Matrix) -> tuple[list[list[Fraction]], bool]:
    """Return all extreme equilibria (x and y in one list), and whether the game is degenerate."""
    rows = extreme_mixtures(second)
    columns = extreme_mixtures([list(column) for column in zip(*first, strict=True)])
    equilibria = [
        [*x, *y]
        for x, (x_support, x_best) in rows.items()
        for y, (y_support, y_best) in columns.items()
        if x_support <= y_best and y_support <= x_best
    ]
    both = [*rows.values(), *columns.values()]
    return equilibria, any(len(best) > len(support) for support, best in both)


def random_game(rng: np.random.Generator, outliers: int, max_actions: int = 6) -> list[Matrix]:
    """Return two matrices of fractions."""
    shape = rng.integers(2, max_actions + 1, 2)
    kind = rng.integers(4)
    integers = rng.integers(-4, 5, (2, *shape))
    is_larger = rng.random(integers.shape) < 0.2 * rng.random()
    powers = rng.integers(0, outliers + 1, integers.shape)
    integers = np.where(is_larger, integers * 10**powers, integers)
    game = [[[Fraction(int(v), (1, 3, 10)[kind % 3]) for v in row] for row in m] for m in integers]
    if kind == 3:
        normal = rng.normal(size=integers.shape) * np.where(is_larger, 10.0**powers, 1.0)
        game = [[[Fraction(float(v)) for v in row] for row in m] for m in normal]
    style = rng.integers(4)
    if style == 0:  # zero-sum
        game[1] = [[-value for value in row] for row in game[0]]
    if style == 1:  # two equal rows, for one player or both
        for matrix in game[: rng.integers(1, 3)]:
            matrix[-1] = list(matrix[0])
    return game


def find_difference(game: list[Matrix], expected: list[list[Fraction]], is_degenerate: bool) -> str:
    """Describe how the library's list differs from the reference; empty if it does not."""
    form = cp.matrix.NormalForm([[[float(value) for value in row] for row in m] for m in game])
    result = cp.matrix.support_enumeration(form)
    ours = [np.concatenate(equilibrium.profile) for equilibrium in result.equilibria]
    theirs = [np.array([float(value) for value in equilibrium]) for equilibrium in expected]
    if len(ours) != len(theirs):
        return f"{len(ours)} equilibria, expected {len(theirs)}"
    for equilibrium in theirs:
        if not any(np.allclose(equilibrium, other, rtol=1e-8, atol=0.0) for other in ours):
            return f"{equilibrium} is missing"
    if result.is_degenerate != is_degenerate:
        return f"is_degenerate is {result.is_degenerate}"
    single = np.concatenate(cp.matrix.lemke_howson(form).profile)
    if not any(np.array_equal(single, equilibrium) for equilibrium in ours):
        return "the equilibrium of lemke_howson is not in the list"
    return ""


def main() -> int:
    """Compare many games; return 1 if any differs."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--games", type=int, default=2000)
    parser.add_argument("--outliers", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    start, num_different, num_equilibria, num_degenerate = time.perf_counter(), 0, 0, 0
    for number in range(args.games):
        game = random_game(np.random.default_rng((args.seed, number)), args.outliers)
        equilibria, is_degenerate = extreme_equilibria(*game)
        problem = find_difference(game, equilibria, is_degenerate)
        if problem:
            num_different += 1
            print(f"game {number}: {problem}", flush=True)
        num_equilibria += len(equilibria)
        num_degenerate += is_degenerate
    seconds = time.perf_counter() - start
    print(
        f"{args.games} games, {num_degenerate} of them degenerate, with {num_equilibria} extreme "
        f"equilibria: {num_different} games differ ({seconds:.0f} s)"
    )
    return 1 if num_different else 0


if __name__ == "__main__":
    sys.exit(main())
