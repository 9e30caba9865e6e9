"""Compare solvers with exact fractions on random trees whose utilities span 24 orders of magnitude.

    python -m benchmarks.robustness.extreme_utilities --trees 200 --iterations 2000

Utilities range from 1e-12 to 1e12 within a tree and across players. For values and best responses:
the largest error, in units of the player's largest utility and of the mean absolute utility under
the policy. For the linear program and the CFR family on zero-sum trees: the exact NashConv of the
result in units of the largest utility, and the same when the players' utilities are in other units.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from tests.changed_games import Changed
from tests.exact import Mixed, exact_judgement

import counterplay as cp
from benchmarks.timing import first_paragraph

ALGORITHMS = ("cfr", "cfr_plus", "linear_cfr", "dcfr", "pcfr_plus", "pdcfr_plus", "cfr_br", "xfp")


def random_trees(count: int, **fixed: object) -> Iterator[cp.TreeArena]:
    """Yield trees that have decisions, and utilities for all players."""
    seed = 0
    while count:
        seed += 1
        tree = cp.build_tree(replace(Mixed(seed, 1 + seed % 3, 3 + seed % 3), **fixed))
        if tree.num_infosets and np.abs(tree.utility).max(axis=0).all():
            count -= 1
            yield tree


def judgement_errors(tree: cp.TreeArena, policy: cp.Policy) -> tuple[float, float]:
    """Return the largest error relative to the largest and to the mean absolute utility."""
    judgement = cp.judge(tree, policy)
    largest = np.abs(tree.utility).max(axis=0)
    by_largest = by_mean = 0.0
    for p, (value, best, size) in enumerate(exact_judgement(tree, policy)):
        for computed, exact in ((judgement.values[p], value), (judgement.best_values[p], best)):
            error = abs(Fraction(float(computed)) - exact)
            by_largest = max(by_largest, float(error / Fraction(float(largest[p]))))
            scale = max(size, abs(exact))
            by_mean = max(by_mean, float(error / scale) if scale else 0.0)
    return by_largest, by_mean


def exact_nash_conv(tree: cp.TreeArena, policy: cp.Policy) -> float:
    """Return NashConv in units of each player's largest utility."""
    largest = np.abs(tree.utility).max(axis=0)
    return sum(
        float((best - value) / Fraction(float(largest[p])))
        for p, (value, best, _) in enumerate(exact_judgement(tree, policy))
    )


def print_quantiles(name: str, figures: list[float]) -> None:
    """Print the median, the 90 % quantile and the largest."""
    parts = np.quantile(figures, [0.5, 0.9, 1.0])
    print(f"{name:44s}" + "".join(f"{x:12.2e}" for x in parts))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--iterations", type=int, default=2000)
    args = parser.parse_args()
    print(f"{args.trees} trees{'':36s}      median        90 %     largest")
    errors = [
        judgement_errors(tree, cp.random_policy(tree, seed))
        for seed, tree in enumerate(random_trees(args.trees, zero_sum=False))
    ]
    print_quantiles("values, error / largest utility", [a for a, _ in errors])
    print_quantiles("values, error / mean absolute utility", [b for _, b in errors])
    zero_sum = list(random_trees(args.trees, num_players=2, zero_sum=True, same_units=True))
    assert all(tree.is_zero_sum for tree in zero_sum)
    lp_values = [
        exact_nash_conv(tree, cp.algorithms.solve_sequence_form_lp(tree).policy)
        for tree in zero_sum
    ]
    print_quantiles("sequence_form_lp, NashConv / largest", lp_values)
    uniform_values = [exact_nash_conv(tree, cp.uniform_policy(tree)) for tree in zero_sum]
    print_quantiles("uniform play, NashConv / largest", uniform_values)
    units = [
        tuple(10.0 ** float(x) for x in (seed % 25 - 12, 12 - seed % 25)) for seed in range(25)
    ]
    for name in ALGORITHMS:
        plain, changed = [], []
        for number, tree in enumerate(zero_sum):
            algorithm = cp.load_algorithm(name)
            other = cp.build_tree(Changed(tree.game, units[number % 25]))
            policies = [
                cp.solve(t, algorithm, iterations=args.iterations).policy for t in (tree, other)
            ]
            plain.append(exact_nash_conv(tree, policies[0]))
            changed.append(exact_nash_conv(tree, cp.Policy(tree, policies[1].probabilities)))
        print_quantiles(f"{name}, NashConv / largest", plain)
        print_quantiles(f"{name}, players in other units", changed)


if __name__ == "__main__":
    main()
