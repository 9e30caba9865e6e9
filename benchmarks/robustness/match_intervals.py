"""Measure how often intervals of head-to-head matches contain the exact value.

    python -m benchmarks.robustness.match_intervals --matches 1000 --episodes 200 --confidence 0.95

A random policy plays the uniform one. `variance ratio` is the factor by which duplicate episodes
(swapped seats, the same chance) reduce the variance, compared with independent episodes.
"""

from __future__ import annotations

import argparse
import time

import counterplay as cp
from benchmarks.timing import first_paragraph

GAMES = ("kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", "liars_dice(dice_sides=3)")


def main() -> None:
    """Print a row for each game."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--matches", type=int, default=1000)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--confidence", type=float, default=0.95)
    args = parser.parse_args()
    print("game  coverage  variance ratio  episodes/s")
    for spec in GAMES:
        tree = cp.build_tree(cp.load_game(spec))
        pair = cp.random_policy(tree, 1), cp.uniform_policy(tree)
        exact = cp.head_to_head(tree, *pair).scores[0].mean
        num_covered, variance_ratio, episodes, start = 0, 0.0, 0, time.perf_counter()
        for seed in range(args.matches):
            match = cp.head_to_head(
                *(tree.game, *pair),
                max_episodes=args.episodes,
                seed=seed,
                confidence=args.confidence,
            )
            score = match.scores[0]
            num_covered += score.low <= exact <= score.high
            independent = sum(seat.standard_error**2 for seat in match.seat_scores[0])
            ratio = independent / tree.num_players**2 / score.standard_error**2
            variance_ratio += ratio / args.matches
            episodes += match.num_episodes
        rate = episodes / (time.perf_counter() - start)
        print(
            f"{spec}  {num_covered / args.matches:.3f}  {variance_ratio:.2f}  {rate:,.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
