"""Compare lower bounds of NashConv with exact values, on games that are small enough.

    python -m benchmarks.large_games.response_bounds                        all games, 20 seeds
    python -m benchmarks.large_games.response_bounds kuhn_poker --seeds 5   one of them

Each policy is evaluated exactly, and bounded by local and by learned best responses with every
seed. A row counts the lower ends of 95 % intervals above the exact NashConv (1 in 40 is expected),
and has the largest excess and the means over seeds of that end and of the estimate.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

import counterplay as cp
from benchmarks.timing import first_paragraph, format_head, format_row

NUM_EPISODES = 300  # of each response: few, so that intervals are wide and mistakes would show
NUM_PLAYOUTS = 50
NUM_LEARNING_ITERATIONS = 60
GAMES = ["kuhn_poker", "leduc_poker", "dark_hex(num_rows=2,num_cols=2)", "liars_dice(dice_sides=3)"]
COLUMNS = ["game", "policy", "NashConv", "response", "ends above it", "largest excess"]


def sample_policies(tree: Any) -> Iterator[tuple[str, Any]]:
    """Yield a weak, a random and a strong policy, with their names."""
    yield "uniform", cp.uniform_policy(tree)
    yield "random", cp.random_policy(tree, 1)
    yield "pcfr_plus, 10 iterations", cp.solve(tree, cp.algorithms.PCFRPlus(), iterations=10).policy


def bound_nash_conv(game: Any, policy: Any, seed: int) -> dict[str, Any]:
    """Return the estimate of NashConv by each kind of response."""
    shared = {"num_episodes": NUM_EPISODES, "seed": 1000 * seed}
    local = cp.local_best_response(game, policy, num_playouts=NUM_PLAYOUTS, **shared)
    learned = cp.learned_best_response(game, policy, iterations=NUM_LEARNING_ITERATIONS, **shared)
    return {"local": local.nash_conv, "learned": learned.nash_conv}


def measure_game(spec: str, num_seeds: int) -> None:
    """Print the rows of one game."""
    game = cp.load_game(spec)
    tree = cp.build_tree(game)
    for name, policy in sample_policies(tree):
        exact = cp.judge(tree, policy).nash_conv
        bounds = [bound_nash_conv(game, policy, seed) for seed in range(num_seeds)]
        for kind in bounds[0]:
            low = np.array([bound[kind].low for bound in bounds])
            mean = np.array([bound[kind].mean for bound in bounds])
            excess = max(0.0, float((low - exact).max()))
            num_above = f"{(low > exact).sum()} of {num_seeds}"
            cells = [f"`{spec}`", name, f"{exact:.4f}", kind, num_above, f"{excess:.4f}"]
            print(format_row([*cells, f"{low.mean():.4f}", f"{mean.mean():.4f}"]), flush=True)


def main() -> None:
    """Print the table of one game, or of all."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("games", nargs="*", default=GAMES)
    parser.add_argument("--seeds", type=int, default=20, help="number of seeds")
    args = parser.parse_args()
    print(format_head([*COLUMNS, "mean end", "mean estimate"]), flush=True)
    for spec in args.games:
        measure_game(spec, args.seeds)


if __name__ == "__main__":
    main()
