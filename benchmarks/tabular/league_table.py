"""Compare regret minimisers on games and hold'em spots: exploitability by iterations and seconds.

python -m benchmarks.tabular.league_table                  # adds missing rows, writes .csv and .md
python -m benchmarks.tabular.league_table --seconds 60     # and missing numbers of iterations
python -m benchmarks.tabular.league_table --restart        # measures all rows again
python -m benchmarks.tabular.league_table --games kuhn_poker leduc_poker --seconds 20
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Sequence
from functools import cache
from math import log10
from pathlib import Path
from typing import Any

import counterplay as cp
from benchmarks.timing import first_paragraph

GAMES = (
    "kuhn_poker",
    "leduc_poker",
    "leduc_poker(ranks=13)",
    "liars_dice(dice_sides=4)",
    "liars_dice(dice_sides=5)",
    "liars_dice(dice_sides=6)",
    "goofspiel(num_cards=4,points_order=descending)",
    "goofspiel(num_cards=4)",
    "goofspiel(num_cards=5,points_order=descending)",
    "dark_hex(num_rows=2,num_cols=2)",
    "dark_hex(num_rows=2,num_cols=3)",
    "river spot",
    "turn spot",
)
LARGE_GAMES = ("leduc_poker(ranks=13)", "liars_dice(dice_sides=6)")  # over 200,000 nodes
SPOTS = {  # board, ranges, pot and stacks; bet sizes in percent of the pot
    "river spot": ("QsJh2h8d3c", ("22+,A2s+,KTs+,QTs+,ATo+,KQo", "22+,ATs+,KTs+,AJo+"), 100, 200),
    "turn spot": ("Td9d6h2d", ("77+,ATs+,KQs", "66+,AJs+,KQs,QJs"), 50, 100),
}
ALGORITHMS = (
    "cfr",
    "cfr_plus",
    "linear_cfr",
    "dcfr",
    "dcfr_plus",
    "ddcfr",
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
    "ireg_pcfr_plus",
    "clairvoyant_cfr",
    "reg_cfr",
    "rt_cfr_plus",
)
SCHEDULED = ("hs_dcfr", "hs_pcfr_plus", "ddcfr")  # which depend on the planned iterations
ITERATIONS = (100, 1000, 10_000)
ONE_SECOND = "after 1 s"
FIELDS = ("game", "algorithm", *map(str, ITERATIONS), ONE_SECOND, "ms per iteration")
FOLDER = Path(__file__).parent
SMALLEST_EXPLOITABILITY = 1e-12  # below which rows count as equal


@cache
def build_arena(game: str) -> Any:
    """Return the tree of a game, or the arena of a spot."""
    if game not in SPOTS:
        return cp.build_tree(game)
    board, ranges, pot, stack = SPOTS[game]
    sizes = cp.holdem.BetSizes(bet="50% 100% a", raises="100% a")
    both = (sizes, sizes)
    spot = cp.holdem.Spot(board, ranges, pot, (stack, stack), (both, both, both))
    return cp.holdem.SpotArena(spot, precision="float64")


def can_run(game: str, algorithm: str) -> bool:
    """Return True if an algorithm runs on the arena of a game."""
    return game not in SPOTS or "vectors" in cp.load_algorithm(algorithm).runs_on


def measure(game: str, algorithm: str, seconds: float) -> dict[str, str]:
    """Return the exploitability after numbers of iterations, and after one second of CPU.

    An algorithm with a schedule starts again for each number, which it takes as its horizon.
    Numbers that would take longer than `seconds` are left out.
    """
    arena = build_arena(game)
    row = dict.fromkeys(FIELDS, "") | {"game": game, "algorithm": algorithm}
    solver = cp.load_algorithm(algorithm)
    memory = solver.step(arena, solver.init(arena), 2)  # compiles
    pace, start = 0, time.process_time()
    while time.process_time() - start < 0.1:
        memory = solver.step(arena, memory, 2)
        pace += 2
    duration = (time.process_time() - start) / pace
    row["ms per iteration"] = f"{1e3 * duration:.3g}"
    counts = [count for count in ITERATIONS if count * duration <= seconds]
    columns = {str(count): count for count in counts}
    if duration <= 1.0:
        columns[ONE_SECOND] = min(max(int(1.0 / duration), 1), 10 * ITERATIONS[-1])
    memory = solver.init(arena)
    for column, count in sorted(columns.items(), key=lambda item: item[1]):
        if algorithm.split("(")[0] in SCHEDULED:
            solver = cp.load_algorithm(algorithm, horizon=count)
            memory = solver.init(arena)
        memory = solver.step(arena, memory, count - memory.iteration)
        policy = next(iter(solver.policies(arena, memory).values()))
        row[column] = f"{max(cp.judge(arena, policy).exploitability, 0.0):.2e}"
    return row


def is_complete(row: dict[str, str], seconds: float) -> bool:
    """Return True if a row has all numbers of iterations that take at most `seconds`."""
    duration = 1e-3 * float(row["ms per iteration"])
    return all(row[str(count)] for count in ITERATIONS if count * duration <= seconds)


def markdown_table(rows: Sequence[dict[str, str]], column: str) -> str:
    """Return one column of all games, a row per algorithm, best in bold; `-` is not measured."""
    cells = {(row["algorithm"], row["game"]): row[column] for row in rows if row[column]}
    games = list(dict.fromkeys(row["game"] for row in rows if row[column]))
    best = {
        game: min(float(value) for (_, other), value in cells.items() if other == game)
        for game in games
    }
    lines = ["| algorithm | " + " | ".join(games) + " |", "|---|" + "---|" * len(games)]
    for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
        values = [cells.get((algorithm, game), "-") for game in games]
        marked = [
            f"**{value}**" if value != "-" and float(value) == best[game] else value
            for value, game in zip(values, games, strict=True)
        ]
        lines.append(f"| `{algorithm}` | " + " | ".join(marked) + " |")
    return "\n".join(lines)


def rank_algorithms(rows: Sequence[dict[str, str]], column: str) -> list[tuple[str, float]]:
    """Return algorithms by the mean decades of exploitability behind the best of each game.

    Only algorithms that were measured on all games of the column take part.
    """
    cells = {
        (row["algorithm"], row["game"]): log10(max(float(row[column]), SMALLEST_EXPLOITABILITY))
        for row in rows
        if row[column]
    }
    games = {game for _, game in cells}
    best = {game: min(value for (_, g), value in cells.items() if g == game) for game in games}
    names = [name for name in {a for a, _ in cells} if all((name, g) in cells for g in games)]
    means = {name: sum(cells[name, g] - best[g] for g in games) / len(games) for name in names}
    return sorted(means.items(), key=lambda item: (item[1], item[0]))


def write_page(rows: Sequence[dict[str, str]], path: Path) -> None:
    """Write the tables and the ranking of algorithms."""
    parts = [
        "# League table of regret minimisers",
        "Exploitability (NashConv / 2, in the game's units) of the policy with the guarantee: the "
        "average, or the last iterate of `rt_cfr_plus` and `reg_cfr`. Written by "
        "`python -m benchmarks.tabular.league_table`. Seconds are those of one core; the "
        "milliseconds of an iteration are in the CSV file. Scheduled methods take the number of "
        "iterations as their horizon. `-`: the row would have taken too long, or the method does "
        "not run on the vectors of a hold'em spot. Rows are stored when they are measured, so the "
        "last table mixes loads of the machine.",
    ]
    trees = [row for row in rows if row["game"] not in SPOTS]
    spots = [row for row in rows if row["game"] in SPOTS]
    large = [row for row in trees if row["game"] in LARGE_GAMES]
    small = [row for row in trees if row["game"] not in LARGE_GAMES]
    groups = {
        "small poker trees": [row for row in small if "poker" in row["game"]],
        "other small trees": [row for row in small if "poker" not in row["game"]],
        "large trees": large,
        "hold'em spots": spots,
    }
    for name, group in groups.items():
        ranked = rank_algorithms(group, ONE_SECOND)
        text = ", ".join(f"`{algorithm}` {mean:.2f}" for algorithm, mean in ranked[:8])
        if ranked:
            parts.append(f"Mean decades behind the best after one second, {name}: {text}.")
    for column in (*map(str, ITERATIONS), ONE_SECOND):
        title = column if column == ONE_SECOND else f"{int(column):,} iterations"
        if any(row[column] for row in rows):
            parts += [f"## {title[0].upper() + title[1:]}", markdown_table(rows, column)]
    path.write_text("\n\n".join(parts) + "\n")


def main() -> None:
    """Measure the rows that the CSV file lacks, and write the page."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--games", nargs="+", default=GAMES)
    parser.add_argument("--algorithms", nargs="+", default=ALGORITHMS)
    parser.add_argument("--seconds", type=float, default=4.0, help="longest row, in CPU seconds")
    parser.add_argument("--restart", action="store_true", help="forget stored rows")
    parser.add_argument("--output", type=Path, default=FOLDER / "league_table")
    arguments = parser.parse_args()
    file = arguments.output.with_suffix(".csv")
    rows: dict[tuple[str, str], dict[str, str]] = {}
    if file.exists() and not arguments.restart:
        with file.open(newline="") as stored:
            rows = {(row["game"], row["algorithm"]): row for row in csv.DictReader(stored)}
    for game in arguments.games:
        for algorithm in arguments.algorithms:
            row = rows.get((game, algorithm))
            if not can_run(game, algorithm) or (row and is_complete(row, arguments.seconds)):
                continue
            rows[game, algorithm] = measure(game, algorithm, arguments.seconds)
            print(" ".join(rows[game, algorithm].values()), flush=True)
            with file.open("w", newline="") as stored:
                writer = csv.DictWriter(stored, FIELDS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows.values())
    write_page(list(rows.values()), arguments.output.with_suffix(".md"))


if __name__ == "__main__":
    main()
