"""Train networks and a table on the same rules for equal time, and play them against each other.

    python -m benchmarks.large_games.networks_against_tables \
        "liars_dice(numdice=2,dice_sides=4)" "sd_cfr(reservoir_size=200000)" 300

Both learn on the rules without a tree, for a number of processor seconds; the table by
`external_sampling`. Then the networks play uniform play and the table, as duplicate matches: both
seats, the same dice. Where the game has a generated arena, both are also evaluated exactly.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import counterplay as cp
from benchmarks.timing import first_paragraph
from counterplay.registry import FACTORED_ARENAS


def train(arena: Any, algorithm: Any, max_seconds: float) -> Any:
    """Return the first policy of an algorithm after a number of processor seconds."""
    memory = algorithm.init(arena, 0)
    memory = algorithm.step(arena, memory, 1)  # compiles
    start, count = time.process_time(), 1
    while time.process_time() - start < max_seconds:
        before = time.process_time()
        memory = algorithm.step(arena, memory, count)
        if time.process_time() - before < 0.05 * max_seconds:
            count *= 2
    seconds = f"{time.process_time() - start:.0f} s"
    counts = f"{memory.iteration:,} iterations, {memory.nodes_touched:,} nodes"
    print(f"{algorithm}: {counts}, {seconds}")
    return next(iter(algorithm.policies(arena, memory).values()))


def main() -> None:
    """Train both, play the matches, and print the scores."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("game")
    parser.add_argument("algorithm", help="a method with networks")
    parser.add_argument("seconds", type=float, help="processor seconds of training for each")
    parser.add_argument("--episodes", type=int, default=4000, help="of each match")
    args = parser.parse_args()
    game = cp.load_game(args.game)
    arena = cp.RulesArena(game)
    table = train(arena, cp.algorithms.ExternalSampling(), args.seconds)
    networks = train(arena, cp.load_algorithm(args.algorithm), args.seconds)
    for name, opponent in (("uniform play", cp.TabularPolicy(game)), ("the table", table)):
        result = cp.head_to_head(game, networks, opponent, max_episodes=args.episodes)
        score = result.scores[0]
        interval = f"95 % interval {score.low:+.4f} to {score.high:+.4f}"
        print(f"networks against {name}: {score.mean:+.4f} per game, {interval},")
        print(f"    {result.num_episodes:,} episodes in both seats", flush=True)
    if args.game.partition("(")[0] in FACTORED_ARENAS:
        exact = cp.build_arena(game, "generated")
        for name, policy in (("networks", networks), ("table", table)):
            print(f"{name}: exploitability {cp.exploitability(exact, policy.tabulate(exact)):.4f}")


if __name__ == "__main__":
    main()
