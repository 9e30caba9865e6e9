"""How often intervals of head-to-head matches cover the exact value, and what shared luck saves.

    python benchmarks/head_to_head.py [--matches 1000] [--episodes 200] [--confidence 0.95]

For each game, a random policy against the uniform one. `saved` is the factor by which swapped seats
with the same draws lower the variance, against as many independent episodes in both seats.
"""

from __future__ import annotations

import argparse
import time

import counterplay as cp

GAMES = ("kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", "liars_dice(dice_sides=3)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--matches", type=int, default=1000)
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--confidence", type=float, default=0.95)
    options = parser.parse_args()
    print("game  covered  saved  episodes/s")
    for spec in GAMES:
        tree = cp.build_tree(cp.load_game(spec))
        pair = cp.random_policy(tree, 1), cp.uniform_policy(tree)
        true = cp.head_to_head(tree, *pair).scores[0].mean
        covered, saved, episodes, began = 0, 0.0, 0, time.perf_counter()
        for seed in range(options.matches):
            found = cp.head_to_head(
                *(tree.game, *pair),
                max_episodes=options.episodes,
                seed=seed,
                confidence=options.confidence,
            )
            score = found.scores[0]
            covered += score.low <= true <= score.high
            alone = sum(seat.standard_error**2 for seat in found.seats[0])
            saved += alone / tree.num_players**2 / score.standard_error**2 / options.matches
            episodes += found.episodes
        rate = episodes / (time.perf_counter() - began)
        print(f"{spec}  {covered / options.matches:.3f}  {saved:.2f}  {rate:,.0f}", flush=True)


if __name__ == "__main__":
    main()
