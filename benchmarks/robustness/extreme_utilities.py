"""Random trees with stakes from 1e-12 to 1e12 within a tree and across players, against fractions.

    python -m benchmarks.scales --trees 200 --iterations 2000

For values and best responses: the largest error, in units of the largest utility of the player and
of the mean absolute utility under the policy. For the linear programme and the CFR family, on
zero-sum trees: the exact NashConv of what they find, in units of the largest utility; and the same
when the players' utilities are given to the algorithm in other units.
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

FAMILY = ("cfr", "cfr_plus", "linear_cfr", "dcfr", "pcfr_plus", "pdcfr_plus", "cfr_br", "xfp")


def trees(count: int, **fixed: object) -> Iterator[cp.TreeArena]:
    """So many trees in which somebody has something to decide and to win."""
    seed = 0
    while count:
        seed += 1
        tree = cp.build_tree(replace(Mixed(seed, 1 + seed % 3, 3 + seed % 3), **fixed))
        if tree.num_infosets and np.abs(tree.utility).max(axis=0).all():
            count -= 1
            yield tree


def judgement_errors(tree: cp.TreeArena, policy: cp.Policy) -> tuple[float, float]:
    """The largest error of values and best responses, by the largest and by the mean utility."""
    judged = cp.judge(tree, policy)
    largest = np.abs(tree.utility).max(axis=0)
    by_largest = by_mean = 0.0
    for p, (value, best, size) in enumerate(exact_judgement(tree, policy)):
        for found, exact in ((judged.values[p], value), (judged.best_values[p], best)):
            error = abs(Fraction(float(found)) - exact)
            by_largest = max(by_largest, float(error / Fraction(float(largest[p]))))
            scale = max(size, abs(exact))
            by_mean = max(by_mean, float(error / scale) if scale else 0.0)
    return by_largest, by_mean


def exact_nash_conv(tree: cp.TreeArena, policy: cp.Policy) -> float:
    """NashConv in units of each player's largest utility."""
    largest = np.abs(tree.utility).max(axis=0)
    return sum(
        float((best - value) / Fraction(float(largest[p])))
        for p, (value, best, _) in enumerate(exact_judgement(tree, policy))
    )


def report(name: str, figures: list[float]) -> None:
    """One line: median, 90 % and largest."""
    parts = np.quantile(figures, [0.5, 0.9, 1.0])
    print(f"{name:44s}" + "".join(f"{x:12.2e}" for x in parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--iterations", type=int, default=2000)
    options = parser.parse_args()
    print(f"{options.trees} trees{'':36s}      median        90 %     largest")
    errors = [
        judgement_errors(tree, cp.random_policy(tree, seed))
        for seed, tree in enumerate(trees(options.trees, zero_sum=False))
    ]
    report("values, error / largest utility", [a for a, _ in errors])
    report("values, error / mean absolute utility", [b for _, b in errors])
    zero_sum = list(trees(options.trees, num_players=2, zero_sum=True, same_units=True))
    assert all(tree.is_zero_sum for tree in zero_sum)
    found = [
        exact_nash_conv(tree, cp.algorithms.solve_sequence_form_lp(tree).policy)
        for tree in zero_sum
    ]
    report("sequence_form_lp, NashConv / largest", found)
    before = [exact_nash_conv(tree, cp.uniform_policy(tree)) for tree in zero_sum]
    report("uniform play, NashConv / largest", before)
    units = [
        tuple(10.0 ** float(x) for x in (seed % 25 - 12, 12 - seed % 25)) for seed in range(25)
    ]
    for name in FAMILY:
        plain, changed = [], []
        for number, tree in enumerate(zero_sum):
            algorithm = cp.load_algorithm(name)
            other = cp.build_tree(Changed(tree.game, units[number % 25]))
            policies = [
                cp.solve(t, algorithm, iterations=options.iterations).policy for t in (tree, other)
            ]
            plain.append(exact_nash_conv(tree, policies[0]))
            changed.append(exact_nash_conv(tree, cp.Policy(tree, policies[1].probabilities)))
        report(f"{name}, NashConv / largest", plain)
        report(f"{name}, players in other units", changed)


if __name__ == "__main__":
    main()
