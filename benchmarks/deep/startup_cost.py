"""What comes on top of the work: compiling, checkpoints, memory.

    python benchmarks/deep/overheads.py

For each method on Leduc poker, in a process of its own with an empty cache of programs: seconds of
`init` and the first iteration, compilation included, and the largest memory of the process then.
Then seconds to write a checkpoint of `sd_cfr` with a reservoir of a million samples per player,
all full, and to read it back.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

METHODS = ["sd_cfr", "deep_cfr", "dream", "escher", "vr_deep_dcfr_plus", "vr_deep_pdcfr_plus"]
SAMPLES = 1_000_000


def first_step(name):
    import jax

    from counterplay.arenas.tree.build import build_tree
    from counterplay.registry import load_algorithm, load_game

    tree, algorithm = build_tree(load_game("leduc_poker")), load_algorithm(name)
    began = time.perf_counter()
    memory = algorithm.step(tree, algorithm.init(tree), 1)
    jax.block_until_ready(memory.state.nets)
    seconds = time.perf_counter() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(f"{name}: first step {seconds:.1f} s, {most:,.0f} MB", flush=True)


def checkpoint(folder):
    from counterplay.arenas.tree.build import build_tree
    from counterplay.experiment.checkpoint import RunProgress, load_checkpoint, write_checkpoint
    from counterplay.experiment.config import load_config

    config = load_config(
        {
            "name": "large",
            "algorithm": "sd_cfr",
            "game": {"name": "leduc_poker"},
            "spec": {"max_steps": 1, "reservoir_size": SAMPLES, "traversals": 100_000},
        }
    )
    tree, algorithm = build_tree(config.game), config.algorithm
    memory, t = algorithm.init(tree), 0
    from counterplay.algorithms.deep.regret import samplers

    replays = memory.state.sampler.regret_samples
    while min(replay.num_seen[0] for replay in replays) < SAMPLES:
        t += 1
        for player in range(tree.num_players):
            key = [t, player]
            samplers.run_external_sampling_on_tree(
                algorithm, tree, memory.state.sampler, player, float(t), key
            )
    for _ in range(3):
        began = time.perf_counter()
        path = write_checkpoint(folder, config, tree.spec, RunProgress(step=0), memory)
        wrote = time.perf_counter() - began
        began = time.perf_counter()
        load_checkpoint(folder, config, tree.spec).memory(algorithm.init(tree))
        read = time.perf_counter() - began
        size = path.stat().st_size / 2**20
        print(
            f"checkpoint, 2 x {SAMPLES:,} samples, {size:,.0f} MB: {wrote:.2f} s, read {read:.2f} s"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="the first step of one method, in this process")
    only = parser.parse_args().only
    if only:
        first_step(only)
    else:
        for name in METHODS:
            with tempfile.TemporaryDirectory() as cache:
                place = os.environ | {"JAX_COMPILATION_CACHE_DIR": cache}
                subprocess.run([sys.executable, __file__, "--only", name], env=place, check=True)
        with tempfile.TemporaryDirectory() as folder:
            checkpoint(Path(folder))
