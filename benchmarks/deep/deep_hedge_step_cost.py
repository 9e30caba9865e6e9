"""What a step of Deep-Hedge costs on trees of different sizes, with the same number of episodes.

    python benchmarks/deep_hedge/cost.py

Liar's dice with 4, 5 and 6 sides: 36 times the nodes from first to last. No table is kept
(average_every = 0), the average policy lives in a network. Turns of the three games alternate in
one process, so that a busy machine is busy for all of them; medians of 7.
"""

from __future__ import annotations

import time
from statistics import median

import jax

import counterplay as cp

STEPS = 100


def main():
    algorithm = cp.algorithms.DeepHedge(
        num_traversals=16,
        num_baseline_traversals=16,
        average_every=0,
        average_hidden_sizes=(48, 48),
        augmented_baseline=False,
    )
    trees = [cp.build_tree(cp.load_game("liars_dice", dice_sides=sides)) for sides in (4, 5, 6)]
    memories = [algorithm.step(tree, algorithm.init(tree), STEPS) for tree in trees]
    seconds = [[] for _ in trees]
    for _ in range(7):
        for which, tree in enumerate(trees):
            began = time.perf_counter()
            memories[which] = algorithm.step(tree, memories[which], STEPS)
            jax.block_until_ready(memories[which].state)
            seconds[which].append((time.perf_counter() - began) / STEPS)
    print("| sides | nodes | infosets | longest episode | ms a step | us a step and decision |")
    print("|---|---|---|---|---|---|")
    for sides, tree, took in zip((4, 5, 6), trees, seconds, strict=True):
        cells = [sides, f"{tree.num_nodes:,}", f"{tree.num_infosets:,}", tree.max_episode_length]
        cells += [
            f"{1e3 * median(took):.2f}",
            f"{1e6 * median(took) / tree.max_episode_length:.0f}",
        ]
        print("| " + " | ".join(map(str, cells)) + " |")


if __name__ == "__main__":
    main()
