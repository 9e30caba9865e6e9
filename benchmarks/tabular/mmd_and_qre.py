"""Tabular MMD and quantal response equilibria beside the figures they should have.

    python benchmarks/gradients/last_iterates.py

NashConv of the last iterate: the authors' schedules after 1, 10, 100, 1,000 and 10,000 iterations;
quantal responses when they have come to rest. The wanted ones were computed by other code.
"""

from __future__ import annotations

import time

import counterplay as cp

MOVING = {"eta": 0.1, "tau": 1.0, "decay": 0.0, "pull": 0.05}
SERIES = [
    ("kuhn_poker", cp.algorithms.MMD(), [0.452837, 0.235641, 0.058257, 0.010119, 0.002445]),
    ("kuhn_poker", cp.algorithms.MMD(**MOVING), [0.794672, 0.408256, 0.188250, 0.007327, 0.0]),
    (
        "leduc_poker",
        cp.algorithms.MMD(temperature=5.0),
        [3.367886, 1.440381, 0.470911, 0.133728, 0.034104],
    ),
    (
        "leduc_poker",
        cp.algorithms.MMD(**MOVING),
        [3.544629, 1.412518, 0.347028, 0.169345, 0.026443],
    ),
]
AT_REST = [
    *[("kuhn_poker", tau, False, x) for tau, x in ((0.5, 0.22482), (0.2, 0.08715), (0.1, 0.03779))],
    ("kuhn_poker", 0.05, False, 0.014402),  # as quantal.py has it
    *[("leduc_poker", tau, False, x) for tau, x in ((0.5, 0.44963), (0.2, 0.1673))],
    *[("kuhn_poker", tau, True, x) for tau, x in ((0.1, 0.207388), (0.05, 0.092455))],
    *[("kuhn_poker", tau, True, x) for tau, x in ((0.02, 0.023865), (0.01, 0.009763))],
]


def main() -> None:
    for game, algorithm, wanted in SERIES:
        tree = cp.build_tree(game)
        memory, began = algorithm.init(tree), time.process_time()
        for power, value in enumerate(wanted):
            memory = algorithm.step(tree, memory, 10**power - memory.iteration)
            found = cp.nash_conv(tree, algorithm.policies(tree, memory)["current"])
            took = f"{time.process_time() - began:.1f} s"
            print(f"{game} {algorithm} {10**power}: {found:.6f}, wanted {value:.6f}, {took}")
    for game, temperature, reduced, value in AT_REST:
        tree = cp.build_tree(game)
        algorithm = cp.algorithms.QRE(
            temperature=temperature, reduced_normal_form=reduced, tolerance=1e-7
        )
        memory, began = algorithm.init(tree), time.process_time()
        while not memory.finished and memory.iteration < 200_000:
            memory = algorithm.step(tree, memory, 1_000)
        found = cp.nash_conv(tree, algorithm.policies(tree, memory)["current"])
        rest = "at rest" if memory.finished else "still moving"
        took = f"{memory.iteration:,} iterations, {time.process_time() - began:.1f} s"
        kind = "reduced normal form" if reduced else "agent form"
        print(f"{game} {kind} at {temperature}: {found:.6f}, wanted {value:.6f}, {rest}, {took}")


if __name__ == "__main__":
    main()
