"""Lower bounds beside the truth, on games that are exact: how often they stay below, how tight.

    python -m benchmarks.large.bounds                all games
    python -m benchmarks.large.bounds GAME [SEEDS]   one of them, 20 seeds unless told otherwise

Each policy is judged exactly and then bounded by local and by learned best responses, with every
seed. A line gives how many of the lower ends of the 95 % intervals lie above the exact NashConv (by
chance at most one in forty should), the largest such excess, and the mean, over seeds, of that end
and of the estimate itself. The table is in README.md beside this file.
"""

from __future__ import annotations

import sys

import numpy as np

import counterplay as cp
from counterplay.algorithms.deep.common.learned_best_response import learned_best_response

SEEDS = 20
EPISODES = 300  # of each response; so few, that intervals are wide and mistakes would show
PLAYOUTS = 50
LEARNED = 60  # iterations
GAMES = ["kuhn_poker", "leduc_poker", "dark_hex(num_rows=2,num_cols=2)", "liars_dice(dice_sides=3)"]


def policies(tree):
    """Fixed policies: as weak as can be, any, and one that is hard to exploit."""
    yield "uniform", cp.uniform_policy(tree)
    yield "random", cp.random_policy(tree, 1)
    yield "pcfr_plus, 10 iterations", cp.solve(tree, cp.algorithms.PCFRPlus(), iterations=10).policy


def bounds(game, policy, seed):
    """The NashConv that each kind of response finds."""
    common = {"episodes": EPISODES, "seed": 1000 * seed}
    local = cp.local_best_response(game, policy, num_playouts=PLAYOUTS, **common)
    learned = learned_best_response(game, policy, iterations=LEARNED, **common)
    return {"local": local.nash_conv, "learned": learned.nash_conv}


def measure(spec, seeds):
    """The lines of one game."""
    game = cp.load_game(spec)
    tree = cp.build_tree(game)
    for name, policy in policies(tree):
        truth = cp.judge(tree, policy).nash_conv
        found = [bounds(game, policy, seed) for seed in range(seeds)]
        for kind in found[0]:
            low = np.array([each[kind].low for each in found])
            mean = np.array([each[kind].mean for each in found])
            excess = max(0.0, float((low - truth).max()))
            print(
                f"| `{spec}` | {name} | {truth:.4f} | {kind} | {(low > truth).sum()} of {seeds} "
                f"| {excess:.4f} | {low.mean():.4f} | {mean.mean():.4f} |",
                flush=True,
            )


def main():
    print("| game | policy | NashConv | response | ends above it | by at most | end | estimate |")
    print("|" + "---|" * 8, flush=True)
    match sys.argv[1:]:
        case []:
            for spec in GAMES:
                measure(spec, SEEDS)
        case [spec]:
            measure(spec, SEEDS)
        case [spec, seeds]:
            measure(spec, int(seeds))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
