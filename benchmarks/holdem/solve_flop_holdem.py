"""Solve flop hold'em as a public tree: exploitability in mbb per game, seconds, memory.

    python -m benchmarks.holdem.solve_flop_holdem --folder /tmp/flop --target 1

The state is saved in the folder after each evaluation, and an interrupted run continues from it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import counterplay as cp
from benchmarks.timing import Stopwatch, first_paragraph, peak_memory_mib
from counterplay.arenas.holdem.game_arena import HoldemGameArena

CHIPS_PER_MBB = 0.1
MEMORY_ARRAYS = ("regret", "sums", "weight", "regret_scale", "sums_scale")


def load_state(folder: Path, memory: Any, watch: Stopwatch) -> None:
    """Load the saved state, if there is one."""
    if not (folder / "state.json").exists():
        return
    state = json.loads((folder / "state.json").read_text())
    memory.iteration = state["iteration"]
    watch.wall_seconds, watch.cpu_seconds = state["wall_seconds"], state["cpu_seconds"]
    for name in MEMORY_ARRAYS:
        getattr(memory, name)[:] = np.load(folder / f"{state['iteration']}.{name}.npy")


def save_state(folder: Path, memory: Any, watch: Stopwatch) -> None:
    """Save the state, then remove the one before."""
    old_files = list(folder.glob("*.npy"))
    for name in MEMORY_ARRAYS:
        np.save(folder / f"{memory.iteration}.{name}.npy", getattr(memory, name))
    state = {"iteration": memory.iteration, "wall_seconds": watch.wall_seconds}
    state["cpu_seconds"] = watch.cpu_seconds
    (folder / "state.json").write_text(json.dumps(state))
    for path in old_files:
        path.unlink()


def solve(
    folder: Path, target: float, precision: str, algorithm_spec: str, evaluate_every: int
) -> None:
    """Iterate until the exploitability is below the target."""
    folder.mkdir(parents=True, exist_ok=True)
    arena = HoldemGameArena(cp.load_game("flop_holdem"), precision)
    algorithm = cp.load_algorithm(algorithm_spec)
    memory, watch = algorithm.init(arena), Stopwatch()
    load_state(folder, memory, watch)
    print(f"{arena.spec} {precision} {algorithm_spec}: {arena.num_sequences:,} sequences")
    mbb = float("inf")
    while mbb > target:
        with watch:
            memory = algorithm.step(arena, memory, evaluate_every)
        with Stopwatch() as evaluation:
            judgement = cp.judge(arena, next(iter(algorithm.policies(arena, memory).values())))
        mbb = judgement.exploitability / CHIPS_PER_MBB
        print(
            f"{memory.iteration:5d}  {mbb:.4f} mbb  values {judgement.values / CHIPS_PER_MBB}  "
            f"{watch.wall_seconds:.0f} s, {watch.cpu_seconds:.0f} CPU s; evaluation "
            f"{evaluation.wall_seconds:.1f} s, {evaluation.cpu_seconds:.1f} CPU s; "
            f"peak {peak_memory_mib():.0f} MiB",
            flush=True,
        )
        save_state(folder, memory, watch)


def main() -> None:
    """Solve, or continue."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--target", type=float, default=1.0, help="mbb per game")
    parser.add_argument("--folder", type=Path, required=True, help="of the saved state")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--algorithm", default="dcfr(gamma=3,restart_base=4)")
    parser.add_argument("--evaluate-every", type=int, default=10, help="iterations")
    parser.add_argument("--threads", type=int, default=None)
    args = parser.parse_args()
    cp.set_num_threads(args.threads)
    solve(args.folder, args.target, args.precision, args.algorithm, args.evaluate_every)


if __name__ == "__main__":
    main()
