"""Compare regret minimisers on small games: exploitability by iterations, and seconds.

python -m benchmarks.tabular.league_table                      # writes league_table.csv and .md
python -m benchmarks.tabular.league_table --iterations 100 1000 10000 --games kuhn_poker leduc_poker
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Sequence
from pathlib import Path

import counterplay as cp
from benchmarks.timing import first_paragraph

GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "liars_dice(dice_sides=4)",
    "liars_dice(dice_sides=5)",
    "goofspiel(num_cards=4,points_order=descending)",
    "goofspiel(num_cards=4)",
    "dark_hex(num_rows=2,num_cols=2)",
)
ALGORITHMS = (
    "cfr",
    "cfr_plus",
    "linear_cfr",
    "dcfr",
    "hs_dcfr",
    "hs_dcfr(gamma=15)",
    "pcfr",
    "pcfr_plus",
    "hs_pcfr_plus",
    "pdcfr_plus",
    "sapcfr_plus",
    "apcfr_plus",
    "rpcfr_plus",
    "smooth_pcfr_plus",
    "rt_cfr_plus",
)
SCHEDULED = ("hs_dcfr", "hs_pcfr_plus")  # whose schedule depends on the planned iterations
FOLDER = Path(__file__).parent


def measure(game: str, algorithm: str, iterations: Sequence[int]) -> dict[str, str]:
    """Return the exploitability after each number of iterations, and seconds per 1,000 of them.

    An algorithm with a schedule starts again for each number, which it takes as its horizon.
    """
    tree = cp.build_tree(game)
    row = {"game": game, "algorithm": algorithm}
    warm = cp.load_algorithm(algorithm)
    warm.step(tree, warm.init(tree), 2)  # compiles
    seconds = 0.0
    solver, memory = warm, warm.init(tree)
    for count in sorted(iterations):
        if algorithm.split("(")[0] in SCHEDULED:
            solver = cp.load_algorithm(algorithm, horizon=count)
            memory = solver.init(tree)
        start = time.perf_counter()
        memory = solver.step(tree, memory, count - memory.iteration)
        seconds += time.perf_counter() - start
        policy = next(iter(solver.policies(tree, memory).values()))
        row[str(count)] = f"{cp.exploitability(tree, policy):.2e}"
    row["seconds per 1,000"] = f"{1000.0 * seconds / max(iterations):.3f}"
    return row


def markdown_table(rows: Sequence[dict[str, str]], column: str) -> str:
    """Return exploitability at one number of iterations, a row per algorithm, best in bold."""
    games = list(dict.fromkeys(row["game"] for row in rows))
    cells = {(row["algorithm"], row["game"]): row[column] for row in rows}
    best = {
        game: min(float(value) for (_, other), value in cells.items() if other == game)
        for game in games
    }
    lines = ["| algorithm | " + " | ".join(games) + " |", "|---|" + "---|" * len(games)]
    for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
        values = [cells[algorithm, game] for game in games]
        marked = [
            f"**{value}**" if float(value) == best[game] else value
            for value, game in zip(values, games, strict=True)
        ]
        lines.append(f"| `{algorithm}` | " + " | ".join(marked) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure all algorithms on all games and write the table."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--algorithms", nargs="+", default=ALGORITHMS)
    parser.add_argument("--iterations", nargs="+", type=int, default=(100, 1000, 10_000))
    parser.add_argument("--output", type=Path, default=FOLDER / "league_table")
    arguments = parser.parse_args()
    rows = []
    for game in arguments.games:
        for algorithm in arguments.algorithms:
            rows.append(measure(game, algorithm, arguments.iterations))
            print(" ".join(rows[-1].values()), flush=True)
    with arguments.output.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    parts = [
        "# League table of regret minimisers",
        "Exploitability (NashConv / 2, in the game's units) of the policy with the guarantee: the "
        "average, or the last iterate of `rt_cfr_plus`. Written by "
        "`python -m benchmarks.tabular.league_table`; seconds are in the CSV file.",
    ]
    for count in sorted(arguments.iterations):
        parts += [f"## {count:,} iterations", markdown_table(rows, str(count))]
    arguments.output.with_suffix(".md").write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
