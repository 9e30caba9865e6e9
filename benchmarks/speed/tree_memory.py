"""Measure the peak memory per node while a tree is built.

    python -m benchmarks.speed.tree_memory "goofspiel(num_cards=5)"

`BYTES_PER_NODE` and `BYTES_PER_INFOSET` of `counterplay.arenas.tree.size_estimate` come from here.
"""

from __future__ import annotations

import argparse

import counterplay as cp
from benchmarks.timing import Stopwatch, first_paragraph, peak_memory_mib


def main() -> None:
    """Build one tree and print its memory."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("game", nargs="?", default="liars_dice")
    args = parser.parse_args()
    game = cp.load_game(args.game)
    cp.build_tree(cp.load_game("kuhn_poker"))  # imports and compiles
    before = peak_memory_mib()
    with Stopwatch() as watch:
        tree = cp.build_tree(game)
    peak = (peak_memory_mib() - before) * 2**20
    seconds = f"{watch.wall_seconds:.1f} s"
    print(f"{args.game}: {tree.num_nodes:,} nodes, {tree.num_infosets:,} infosets in {seconds}")
    arrays = tree.num_bytes / tree.num_nodes
    print(f"peak {peak / tree.num_nodes:.0f} bytes per node, of which arrays {arrays:.0f}")


if __name__ == "__main__":
    main()
