"""Measure external sampling on poker with buckets: nodes per second of one core.

    python -m benchmarks.speed.poker_sampling [--seconds 8] [--buckets 200] [--bins 50] [GAME ...]

Buckets are by equity histograms, with imperfect recall. Their tables are computed in minutes at the
first call and kept in the user's cache folder. Tables by infoset and dense tables are measured in
turns in one process, by CPU time. Deals are nodes of the former and not of the latter.
"""

from __future__ import annotations

import argparse

import counterplay as cp
from benchmarks.speed.compiled_rules import sampling_rate
from benchmarks.timing import first_paragraph, format_head, format_row
from counterplay.abstraction.holdem_buckets import BucketedGame
from counterplay.registry import load_abstraction

GAMES = ["limit_holdem", "limit_holdem(players=3)", "no_limit_holdem(sizes='0.5,1,a;a')"]


def main() -> None:
    """Print the table of sampling rates."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("games", nargs="*")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--buckets", type=int, default=200)
    parser.add_argument("--bins", type=int, default=50)
    args = parser.parse_args()
    sizes = {"num_buckets": args.buckets, "num_bins": args.bins, "perfect_recall": False}
    rule = load_abstraction("by_equity", **sizes)
    algorithms = {
        "by infoset": cp.load_algorithm("external_sampling"),
        "dense": cp.load_algorithm("external_sampling", dense_tables=True),
    }
    print(format_head([f"game, {args.buckets} buckets", "tables", "infosets", "nodes/s"]))
    for spec in args.games or GAMES:
        arena = cp.RulesArena(BucketedGame(cp.load_game(spec), rule))
        memories = {name: method.init(arena) for name, method in algorithms.items()}
        for _ in range(2):
            for name, method in algorithms.items():
                rate, memory = sampling_rate(arena, method, memories[name], args.seconds)
                memories[name] = memory
                cells = [f"`{spec}`", name, f"{memory.size.num_infosets:,}", f"{rate:,.0f}"]
                print(format_row(cells), flush=True)


if __name__ == "__main__":
    main()
