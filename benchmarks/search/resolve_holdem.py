"""Re-solve the streets of hold'em games by Slumbot's methods, row by row of its table.

    python -m benchmarks.search.resolve_holdem ms1f1

The base is 200 iterations of its CFR+ with rounding to integers; subgames are solved in floats.
"""

from __future__ import annotations

import argparse
import time

import counterplay as cp
from benchmarks.holdem.whole_games import SlumbotBase, to_mbb
from benchmarks.result_files import append_row
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_subgames import METHODS, resolve_street


def main() -> None:
    """Solve the base, then every street by every method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game")
    parser.add_argument("--streets", type=int, nargs="*", default=None)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--no-rounding", action="store_true")
    parser.add_argument("--store", action="store_true", help="append to the result file")
    args = parser.parse_args()
    arena = HoldemGameArena(cp.load_game(args.game), "float64")
    base = SlumbotBase(arena, is_rounded=not args.no_rounding)
    base.step(args.iterations)
    blueprint = base.policy()
    print(f"base {to_mbb(arena, cp.exploitability(arena, blueprint)):.3f} mbb", flush=True)
    for street in args.streets or range(1, len(arena.streets)):
        for method in METHODS:
            start = time.perf_counter()
            policy = resolve_street(blueprint, street, method, args.iterations, base.call)
            seconds = time.perf_counter() - start
            row = {
                "game": args.game,
                "street": street,
                "method": method,
                "rounded": base.is_rounded,
                "mbb": round(to_mbb(arena, cp.exploitability(arena, policy)), 3),
                "seconds": round(seconds, 1),
            }
            print(row, flush=True)
            if args.store:
                append_row("resolve_holdem", row)


if __name__ == "__main__":
    main()
