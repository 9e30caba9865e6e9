"""Compare last iterates of tabular MMD and QRE with reference values.

    python -m benchmarks.tabular.mmd_and_qre

Prints NashConv of the last iterate: MMD with the authors' schedules after 1, 10, 100, 1,000 and
10,000 iterations; quantal response equilibria at convergence. Other programs computed the reference
values; `kuhn_quantal_response.py` is one of them.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import counterplay as cp
from benchmarks.timing import first_paragraph

IN_GAME_UNITS = {"normalize_utilities": False}  # as the authors' settings are
MOVING_MAGNET = {"eta": 0.1, "temperature": 1.0, "decay_power": 0.0, "magnet_update_rate": 0.05}
MOVING_MAGNET |= IN_GAME_UNITS
MMD_CASES = [  # game, algorithm, NashConv after 1, 10, 100, ... iterations
    (
        "kuhn_poker",
        cp.algorithms.MMD(**IN_GAME_UNITS),
        [0.452837, 0.235641, 0.058257, 0.010119, 0.002445],
    ),
    (
        "kuhn_poker",
        cp.algorithms.MMD(**MOVING_MAGNET),
        [0.794672, 0.408256, 0.188250, 0.007327, 0.0],
    ),
    (
        "leduc_poker",
        cp.algorithms.MMD(temperature=5.0, **IN_GAME_UNITS),
        [3.367886, 1.440381, 0.470911, 0.133728, 0.034104],
    ),
    (
        "leduc_poker",
        cp.algorithms.MMD(**MOVING_MAGNET),
        [3.544629, 1.412518, 0.347028, 0.169345, 0.026443],
    ),
]
QRE_CASES = [  # game, temperature, whether in reduced normal form, NashConv
    *[("kuhn_poker", tau, False, x) for tau, x in ((0.5, 0.22482), (0.2, 0.08715), (0.1, 0.03779))],
    ("kuhn_poker", 0.05, False, 0.014402),
    *[("leduc_poker", tau, False, x) for tau, x in ((0.5, 0.44963), (0.2, 0.1673))],
    *[("kuhn_poker", tau, True, x) for tau, x in ((0.1, 0.207388), (0.05, 0.092455))],
    *[("kuhn_poker", tau, True, x) for tau, x in ((0.02, 0.023865), (0.01, 0.009763))],
]
MAX_QRE_ITERATIONS = 200_000


def compare_mmd(game: str, algorithm: Any, references: list[float]) -> None:
    """Print NashConv of MMD's last iterate at powers of ten."""
    tree = cp.build_tree(game)
    memory, start = algorithm.init(tree), time.process_time()
    for power, reference in enumerate(references):
        memory = algorithm.step(tree, memory, 10**power - memory.iteration)
        value = cp.nash_conv(tree, algorithm.policies(tree, memory)["current"])
        seconds = f"{time.process_time() - start:.1f} s"
        print(f"{game} {algorithm} {10**power}: {value:.6f}, reference {reference:.6f}, {seconds}")


def compare_qre(game: str, temperature: float, is_reduced: bool, reference: float) -> None:
    """Print NashConv of a quantal response equilibrium."""
    tree = cp.build_tree(game)
    algorithm = cp.algorithms.QRE(
        temperature=temperature, reduced_normal_form=is_reduced, tolerance=1e-7
    )
    memory, start = algorithm.init(tree), time.process_time()
    while not memory.finished and memory.iteration < MAX_QRE_ITERATIONS:
        memory = algorithm.step(tree, memory, 1_000)
    value = cp.nash_conv(tree, algorithm.policies(tree, memory)["current"])
    state = "converged" if memory.finished else "not converged"
    cost = f"{memory.iteration:,} iterations, {time.process_time() - start:.1f} s"
    form = "reduced normal form" if is_reduced else "agent form"
    print(
        f"{game} {form} at {temperature}: {value:.6f}, reference {reference:.6f}, {state}, {cost}"
    )


def main() -> None:
    """Print all comparisons."""
    argparse.ArgumentParser(description=first_paragraph(__doc__)).parse_args()
    for case in MMD_CASES:
        compare_mmd(*case)
    for case in QRE_CASES:
        compare_qre(*case)


if __name__ == "__main__":
    main()
