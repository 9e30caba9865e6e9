"""Compare discounts and predictions on spots: iterations and CPU seconds to targets, one thread.

python -m benchmarks.holdem.schedules turn narrow_turn
python -m benchmarks.holdem.schedules table

Rows are stored in `results/spot_schedules.jsonl`; a second call measures those that are missing.
"""

from __future__ import annotations

import argparse
from typing import Any

import counterplay as cp
from benchmarks.holdem.iteration_time import NUM_ITERATIONS, load_spot
from benchmarks.result_files import append_row, load_rows
from benchmarks.timing import Stopwatch, first_paragraph, format_head, format_row
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.kernels.runtime.threads import set_num_threads

ALGORITHMS = (
    "dcfr(gamma=3,restart_base=4)", "dcfr", "dcfr(gamma=5)", "linear_cfr", "cfr_plus", "pcfr_plus",
    "pdcfr_plus", "sapcfr_plus", "hs_dcfr(horizon=100)", "hs_dcfr(horizon=300)",
    "hs_pcfr_plus(horizon=100)", "hs_pcfr_plus(horizon=300)",
)  # fmt: skip
TARGETS = (0.5, 0.3, 0.1)  # exploitability in percent of the pot
EVALUATE_EVERY = 10
MAX_ITERATIONS = 600
FAMILY = "spot_schedules"


def measure(name: str, algorithm_spec: str) -> dict[str, Any]:
    """Return a row: for every policy the iterations and CPU seconds to each target, or None.

    Seconds are those of the iterations; evaluations come on top, one every ten iterations.
    """
    spot = load_spot(name)
    arena, algorithm = SpotArena(spot), cp.load_algorithm(algorithm_spec)
    algorithm.step(arena, algorithm.init(arena), 1)  # compiles
    memory, watch = algorithm.init(arena), Stopwatch()
    reached: dict[str, dict[str, Any]] = {}
    while memory.iteration < MAX_ITERATIONS:
        with watch:
            memory = algorithm.step(arena, memory, EVALUATE_EVERY)
        policies = algorithm.policies(arena, memory)
        first = next(iter(policies))
        for policy_name in (first, "current"):
            cells = reached.setdefault(policy_name, {})
            left = [target for target in TARGETS if str(target) not in cells]
            if not left:
                continue
            percent = 100.0 * cp.judge(arena, policies[policy_name]).exploitability / spot.pot
            for target in left:
                if percent <= target:
                    cells[str(target)] = memory.iteration, round(watch.cpu_seconds, 3)
        if all(str(target) in reached[first] for target in TARGETS):
            break
    return {"spot": name, "algorithm": algorithm_spec, "policies": reached}


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print iterations and CPU seconds to every target."""
    columns = ["spot", "algorithm", "policy", *(f"{target} %" for target in TARGETS)]
    print(format_head(columns))
    for row in rows:
        for policy_name, cells in row["policies"].items():
            if policy_name == "current" and not cells:
                continue
            numbers = [
                "{} ({} s)".format(*cells[str(t)]) if str(t) in cells else "" for t in TARGETS
            ]
            print(format_row([row["spot"], f"`{row['algorithm']}`", policy_name, *numbers]))


def main() -> None:
    """Measure the algorithms on spots, or print the stored rows."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("spots", nargs="+", choices=[*NUM_ITERATIONS, "table"])
    parser.add_argument("--algorithms", nargs="+", default=ALGORITHMS)
    args = parser.parse_args()
    set_num_threads(1)
    done = {(row["spot"], row["algorithm"]) for row in load_rows(FAMILY)}
    for name in args.spots:
        for algorithm in args.algorithms if name != "table" else ():
            if (name, algorithm) not in done:
                row = measure(name, algorithm)
                append_row(FAMILY, row)
                print(row, flush=True)
    if "table" in args.spots:
        print_table(load_rows(FAMILY))


if __name__ == "__main__":
    main()
