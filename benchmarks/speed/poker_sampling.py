"""Measure external sampling on compiled poker with buckets: nodes per second of one core.

    python -m benchmarks.speed.poker_sampling [--seconds 8] [GAME ...]

Buckets are 50 a street by equity histograms, with imperfect recall. Their tables are computed in
minutes at the first call and kept in the user's cache folder.
"""

from __future__ import annotations

import argparse

import counterplay as cp
from benchmarks.speed.compiled_rules import sampling_rate
from benchmarks.timing import first_paragraph, format_head, format_row
from counterplay.abstraction.holdem_buckets import BucketedGame, HoldemBuckets

GAMES = ["limit_holdem", "limit_holdem(players=3)", "no_limit_holdem(sizes='0.5,1,a;a')"]


def main() -> None:
    """Print the table of sampling rates."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("games", nargs="*")
    parser.add_argument("--seconds", type=float, default=8.0)
    args = parser.parse_args()
    buckets, algorithm = HoldemBuckets(), cp.load_algorithm("external_sampling")
    print(format_head(["game, 50 buckets", "infosets visited", "nodes/s"]))
    for spec in args.games or GAMES:
        game = BucketedGame(cp.load_game(spec), buckets, perfect_recall=False)
        arena = cp.RulesArena(game)
        rate, memory = sampling_rate(arena, algorithm, algorithm.init(arena), args.seconds)
        cells = [f"`{spec}`", f"{memory.size.num_infosets:,}", f"{rate:,.0f}"]
        print(format_row(cells), flush=True)


if __name__ == "__main__":
    main()
