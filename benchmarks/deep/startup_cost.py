"""Measure what deep regret methods cost besides learning: compilation, memory, checkpoints.

    python -m benchmarks.deep.startup_cost

For each method on Leduc poker, in a separate process with an empty compilation cache: seconds of
`init` and the first iteration, and the peak memory. Then seconds to write and read a checkpoint of
`sd_cfr` with a full reservoir of a million samples per player.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.timing import Stopwatch, first_paragraph, peak_memory_mib, time_call

METHODS = ["sd_cfr", "deep_cfr", "dream", "escher", "vr_deep_dcfr_plus", "vr_deep_pdcfr_plus"]
NUM_SAMPLES = 1_000_000


def measure_first_step(name: str) -> None:
    """Print the seconds and the memory of a method's first step in this process."""
    import jax

    from counterplay.arenas.tree.build import build_tree
    from counterplay.registry import load_algorithm, load_game

    tree, algorithm = build_tree(load_game("leduc_poker")), load_algorithm(name)
    with Stopwatch() as watch:
        memory = algorithm.step(tree, algorithm.init(tree), 1)
        jax.block_until_ready(memory.state.nets)
    peak = f"{peak_memory_mib():,.0f} MB"
    print(f"{name}: first step {watch.wall_seconds:.1f} s, {peak}", flush=True)


def measure_checkpoint(folder: Path) -> None:
    """Print the seconds to write and read a large checkpoint."""
    from counterplay.algorithms.deep.regret.tree_sampler import TreeSampler
    from counterplay.arenas.tree.build import build_tree
    from counterplay.experiment.checkpoint import RunProgress, load_checkpoint, write_checkpoint
    from counterplay.experiment.config import load_config

    config = load_config(
        {
            "name": "large",
            "algorithm": "sd_cfr",
            "game": {"name": "leduc_poker"},
            "spec": {"max_steps": 1, "reservoir_size": NUM_SAMPLES, "num_traversals": 100_000},
        }
    )
    tree, algorithm = build_tree(config.game), config.algorithm
    memory, t = algorithm.init(tree), 0
    sampler = TreeSampler(algorithm, tree, memory.state.sampler)
    reservoirs = sampler.arrays.regret_samples
    while min(reservoir.num_seen[0] for reservoir in reservoirs) < NUM_SAMPLES:
        t += 1
        for player in range(tree.num_players):
            sampler.collect_external(None, player, float(t), [t, player])
    for _ in range(3):
        start = time.perf_counter()
        path = write_checkpoint(folder, config, tree.spec, RunProgress(step=0), memory)
        write_seconds = time.perf_counter() - start
        read_seconds = time_call(
            lambda: load_checkpoint(folder, config, tree.spec).memory(algorithm.init(tree)),
            time.perf_counter,
        )
        size = f"2 x {NUM_SAMPLES:,} samples, {path.stat().st_size / 2**20:,.0f} MB"
        print(f"checkpoint, {size}: write {write_seconds:.2f} s, read {read_seconds:.2f} s")


def main() -> None:
    """Measure all methods, then the checkpoint."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--only", metavar="METHOD", help="the first step of one, in this process")
    args = parser.parse_args()
    if args.only:
        measure_first_step(args.only)
        return
    for name in METHODS:
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"JAX_COMPILATION_CACHE_DIR": cache}
            command = [sys.executable, "-m", "benchmarks.deep.startup_cost", "--only", name]
            subprocess.run(command, env=environment, check=True)
    with tempfile.TemporaryDirectory() as folder:
        measure_checkpoint(Path(folder))


if __name__ == "__main__":
    main()
