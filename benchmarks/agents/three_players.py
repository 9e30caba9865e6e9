"""Compare current and average profiles of CFR in three-player Leduc poker, by exact gains.

    python -m benchmarks.agents.three_players [--iterations 25 100 400]

The gain of a seat is that of its exact best response. No method is guaranteed to reach an
equilibrium with three players.
"""

from __future__ import annotations

import argparse

import counterplay as cp
from benchmarks.timing import first_paragraph, format_head, format_row
from counterplay.core.evaluation import judge


def main() -> None:
    """Print the table of gains."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--iterations", type=int, nargs="+", default=[25, 100, 400])
    args = parser.parse_args()
    tree = cp.build_tree("leduc_poker(players=3)")
    print(format_head(["algorithm", "iterations", "profile", "gains by seat", "sum"]))
    for name in ("cfr", "cfr_plus"):
        algorithm = cp.load_algorithm(name)
        memory, done = algorithm.init(tree), 0
        for count in sorted(args.iterations):
            memory, done = algorithm.step(tree, memory, count - done), count
            for profile, policy in algorithm.policies(tree, memory).items():
                judgement = judge(tree, policy)
                gains = judgement.best_values - judgement.values
                seats = ", ".join(f"{gain:.4f}" for gain in gains)
                cells = [f"`{name}`", str(count), profile, seats, f"{judgement.nash_conv:.4f}"]
                print(format_row(cells), flush=True)


if __name__ == "__main__":
    main()
