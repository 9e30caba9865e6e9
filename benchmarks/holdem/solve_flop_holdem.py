"""Flop hold'em solved as a public tree: exploitability in mbb per game, seconds, memory.

python -m benchmarks.flop_holdem --target 1 --folder /tmp/flop [--precision int16] [--threads 2]

A folder that has a checkpoint goes on from there.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np

import counterplay as cp
from counterplay.arenas.holdem.flop_arena import FlopHoldemArena

MBB = 0.1  # chips


def solve(folder: Path, target: float, precision: str, algorithm: str, every: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    arena, method = FlopHoldemArena(precision=precision), cp.load_algorithm(algorithm)
    memory, spent = method.init(arena), {"wall": 0.0, "cpu": 0.0}
    if (folder / "state.json").exists():
        state = json.loads((folder / "state.json").read_text())
        memory.iteration, spent = state["iteration"], state["spent"]
        for name in ("regret", "sums", "weight", "regret_scale", "sums_scale"):
            getattr(memory, name)[:] = np.load(folder / f"{state['iteration']}.{name}.npy")
    print(f"{arena.spec} {precision} {algorithm}: {arena.num_sequences:,} sequences", flush=True)
    mbb = float("inf")
    while mbb > target:
        began, used = time.perf_counter(), time.process_time()
        memory = method.step(arena, memory, every)
        spent["wall"] += time.perf_counter() - began
        spent["cpu"] += time.process_time() - used
        began, used = time.perf_counter(), time.process_time()
        judgement = cp.judge(arena, next(iter(method.policies(arena, memory).values())))
        judging = time.perf_counter() - began, time.process_time() - used
        mbb = judgement.exploitability / MBB
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{memory.iteration:5d}  {mbb:.4f} mbb  values {judgement.values / MBB}  "
            f"{spent['wall']:.0f} s, {spent['cpu']:.0f} CPU s; judged in {judging[0]:.1f} s, "
            f"{judging[1]:.1f} CPU s; peak {peak:.0f} MiB",
            flush=True,
        )
        _keep(folder, memory, spent)


def _keep(folder: Path, memory, spent: dict[str, float]) -> None:  # type: ignore[no-untyped-def]
    before = list(folder.glob("*.npy"))
    for name in ("regret", "sums", "weight", "regret_scale", "sums_scale"):
        np.save(folder / f"{memory.iteration}.{name}.npy", getattr(memory, name))
    state = {"iteration": memory.iteration, "spent": spent}
    (folder / "state.json").write_text(json.dumps(state))
    for path in before:
        path.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--target", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--algorithm", default="dcfr(gamma=3,restart_base=4)")
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--threads", type=int, default=None)
    given = parser.parse_args()
    cp.set_num_threads(given.threads)
    solve(given.folder, given.target, given.precision, given.algorithm, given.every)
