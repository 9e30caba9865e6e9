"""Re-solve the streets of hold'em games by Slumbot's methods, row by row of its table.

    python -m benchmarks.search.resolve_holdem ms1f1

The base is 200 iterations of its CFR+ with rounding to integers; subgames are solved in floats.
With `--store`, rows that the result file has already are not computed again.
"""

from __future__ import annotations

import argparse
import time

import counterplay as cp
from benchmarks.holdem.whole_games import SlumbotBase, to_mbb
from benchmarks.result_files import append_row, load_rows
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_subgames import METHODS, resolve_street

RESULTS = "resolve_holdem"
SLUMBOT_METHODS = ("unsafe", "resolve", "combined")


def load_done_tasks(game: str, iterations: int, is_rounded: bool) -> set[tuple[int, str]]:
    """Return the street and method of the rows of a game in the result file."""
    rows = [row for row in load_rows(RESULTS) if row["game"] == game]
    rows = [row for row in rows if row["rounded"] == is_rounded]
    rows = [row for row in rows if row.get("iterations", 200) == iterations]
    return {(row["street"], row["method"]) for row in rows}


def main() -> None:
    """Solve the base, then every street by every method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game")
    parser.add_argument("--streets", type=int, nargs="*", default=None)
    parser.add_argument("--methods", nargs="*", default=SLUMBOT_METHODS, choices=METHODS)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--no-rounding", action="store_true")
    parser.add_argument("--store", action="store_true", help="append to the result file")
    args = parser.parse_args()
    arena = HoldemGameArena(cp.load_game(args.game), "float64")
    streets = args.streets or range(1, len(arena.streets))
    tasks = [(street, method) for street in streets for method in args.methods]
    if args.store:
        done = load_done_tasks(args.game, args.iterations, not args.no_rounding)
        tasks = [task for task in tasks if task not in done]
    if not tasks:
        return
    base = SlumbotBase(arena, is_rounded=not args.no_rounding)
    base.step(args.iterations)
    blueprint = base.policy()
    print(f"base {to_mbb(arena, cp.exploitability(arena, blueprint)):.3f} mbb", flush=True)
    for street, method in tasks:
        start, cpu = time.perf_counter(), time.process_time()
        policy = resolve_street(blueprint, street, method, args.iterations, base.call)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        row = {
            "game": args.game,
            "street": street,
            "method": method,
            "iterations": args.iterations,
            "rounded": base.is_rounded,
            "mbb": round(to_mbb(arena, cp.exploitability(arena, policy)), 3),
            "seconds": round(seconds, 1),
            "cpu_seconds": round(cpu, 1),
        }
        print(row, flush=True)
        if args.store:
            append_row(RESULTS, row)


if __name__ == "__main__":
    main()
