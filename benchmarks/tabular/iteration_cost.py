"""Compare the time of an iteration of each regret minimiser with one of CFR+.

python -m benchmarks.tabular.iteration_cost                      # writes iteration_cost.md
python -m benchmarks.tabular.iteration_cost --games leduc_poker

All methods of a game take turns in one process, so that the load of the machine is the same for
all; a time is the least CPU time of several turns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import counterplay as cp
from benchmarks.timing import first_paragraph

GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "liars_dice(dice_sides=4)",
    "goofspiel(num_cards=4)",
    "dark_hex(num_rows=2,num_cols=3)",
    "liars_dice(dice_sides=6)",
    "leduc_poker(ranks=13)",
)
PREDICTIVE = (
    *("pcfr", "pcfr_plus", "pdcfr_plus", "hs_pcfr_plus", "sapcfr_plus"),
    *("apcfr_plus", "rpcfr_plus", "smooth_pcfr_plus", "ireg_pcfr_plus"),
)
OTHERS = ("cfr", "dcfr", "rt_cfr_plus", "reg_cfr", "clairvoyant_cfr", "ddcfr")
WARM_UP = 300  # iterations before the first turn; the cost of some updates depends on the regrets
TURN_SECONDS = 0.05
NUM_TURNS = 15


def measure(game: str, algorithms: Sequence[str]) -> dict[str, float]:
    """Return the CPU seconds of an iteration by algorithm."""
    tree = cp.build_tree(game)
    solvers = {name: cp.load_algorithm(name) for name in algorithms}
    memories, counts, best = {}, {}, {}
    for name, solver in solvers.items():
        memories[name] = solver.step(tree, solver.init(tree), WARM_UP)
        start = time.process_time()
        memories[name] = solver.step(tree, memories[name], 10)
        duration = (time.process_time() - start) / 10
        counts[name], best[name] = max(int(TURN_SECONDS / duration), 2), duration
    for _ in range(NUM_TURNS):
        for name, solver in solvers.items():
            start = time.process_time()
            memories[name] = solver.step(tree, memories[name], counts[name])
            best[name] = min(best[name], (time.process_time() - start) / counts[name])
    return best


def main() -> None:
    """Measure all games and write the table."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".md"))
    arguments = parser.parse_args()
    algorithms = (*PREDICTIVE, *OTHERS)
    seconds = {game: measure(game, ("cfr_plus", *algorithms)) for game in arguments.games}
    lines = [
        "# Time of an iteration",
        "",
        "CPU time of an iteration divided by that of `cfr_plus`, one thread, written by "
        "`python -m benchmarks.tabular.iteration_cost`. Predictive methods come first. `cfr_plus` "
        "keeps two averages, the others one.",
        "",
        "| algorithm | " + " | ".join(arguments.games) + " |",
        "|---|" + "---|" * len(arguments.games),
        "| `cfr_plus`, µs | " + " | ".join(f"{1e6 * t['cfr_plus']:.1f}" for t in seconds.values()),
    ]
    lines[-1] += " |"
    for name in algorithms:
        ratios = [f"{times[name] / times['cfr_plus']:.2f}" for times in seconds.values()]
        lines.append(f"| `{name}` | " + " | ".join(ratios) + " |")
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
