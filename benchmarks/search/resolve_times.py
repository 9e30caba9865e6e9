"""Measure the CPU seconds of solving a hold'em spot at play time, on one thread.

    python -m benchmarks.search.resolve_times

Each spot is built and solved from nothing after a first solution that compiles: to the first of the
checks, every 5 iterations, at which the exploitability is below a share of the pot. Checks are not
counted; a player at play time would stop after the number of iterations that this finds.
"""

from __future__ import annotations

import argparse
import time

import counterplay as cp
from benchmarks.holdem.iteration_time import load_spot
from benchmarks.result_files import append_row
from benchmarks.timing import first_paragraph, format_head, format_row
from counterplay.arenas.holdem.spot import BetSizes, Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.kernels.runtime.threads import set_num_threads

FAMILY, ALGORITHM = "resolve_times", "dcfr(gamma=3,restart_base=4)"
CHECK_ITERATIONS, MAX_ITERATIONS = 5, 2_000
TARGETS = (0.01, 0.005)  # of the pot
TURN_SIZES = BetSizes("50% a", "60%")


def spots() -> dict[str, Spot]:
    """Return the spots by name; those with all hands have 1,081 on the river, 1,128 on the turn."""
    sizes = ((TURN_SIZES, TURN_SIZES),) * 3
    return {
        "river, all hands, bet 50 %": load_spot("river_one_size"),
        "river, all hands, bet 50 % or all-in": load_spot("river_two_sizes"),
        "turn, ranges of two players": load_spot("turn"),
        "turn, all hands, bet 50 % or all-in": Spot(
            "Td9d6hQc", ("random", "random"), 200, (900, 900), sizes
        ),
    }


def measure(name: str, spot: Spot) -> list[dict[str, object]]:
    """Return the rows of a spot: CPU seconds until each target."""
    algorithm = cp.load_algorithm(ALGORITHM)
    start = time.process_time()
    arena = SpotArena(spot)
    memory = algorithm.init(arena)
    build = time.process_time() - start
    rows: list[dict[str, object]] = []
    seconds, targets = 0.0, list(TARGETS)
    while targets and memory.iteration < MAX_ITERATIONS:
        start = time.process_time()
        memory = algorithm.step(arena, memory, CHECK_ITERATIONS)
        seconds += time.process_time() - start
        policy = next(iter(algorithm.policies(arena, memory).values()))
        gap = float(cp.exploitability(arena, policy)) / spot.pot
        while targets and gap <= targets[0]:
            rows.append(
                {
                    "spot": name,
                    "hands": [hands.size for hands in arena.hands],
                    "target": targets.pop(0),
                    "iterations": memory.iteration,
                    "build_seconds": round(build, 4),
                    "solve_seconds": round(seconds, 4),
                }
            )
    return rows


def main() -> None:
    """Measure all spots, the second time counts."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--street", default="", choices=("river", "turn"), help="default: both")
    parser.add_argument("--store", action="store_true", help="append to the result file")
    args = parser.parse_args()
    set_num_threads(1)
    print(format_head(["spot", "hands", "of the pot", "iterations", "build s", "solve s"]))
    chosen = {
        name: spot for name, spot in spots().items() if args.street in ("", name.split(",")[0])
    }
    for spot in chosen.values():  # compiles
        arena, algorithm = SpotArena(spot), cp.load_algorithm(ALGORITHM)
        memory = algorithm.step(arena, algorithm.init(arena), 1)
        cp.exploitability(arena, next(iter(algorithm.policies(arena, memory).values())))
    for name, spot in chosen.items():
        for row in measure(name, spot):
            cells = [name, str(row["hands"]), f"{row['target']:.1%}", str(row["iterations"])]
            print(format_row([*cells, str(row["build_seconds"]), str(row["solve_seconds"])]))
            if args.store:
                append_row(FAMILY, row)


if __name__ == "__main__":
    main()
