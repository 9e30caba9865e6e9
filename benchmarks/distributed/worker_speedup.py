"""What Monte Carlo workers are worth: a table of merges, into benchmarks/scale_workers.jsonl.

    python -m benchmarks.scale_workers leduc_poker 100000 5            game, iterations each, seeds
    python -m benchmarks.scale_workers leduc_poker 100000 5 16 0.16    one row: workers, merge

Workers are numbered units whose bits do not depend on who walks them, so one core finds exactly
what 64 machines would. "Worth" is how many times as many iterations one worker needs for the same
exploitability, interpolated on a log scale between those it was judged at.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import counterplay as cp
from counterplay.algorithms.mccfr import engine
from counterplay.algorithms.mccfr import workers as crew

OUTPUT = Path(__file__).with_suffix(".jsonl")
MERGES = ("0.16", "0.32", "0.08", "mean:10000", "sum:1000")
TIMES = (1, 2, 4, 8, 16, 32, 64, 128)


def judged(tree, algorithm, memory):
    return cp.judge(tree, algorithm.policies(tree, memory)["average"]).exploitability


def alone(tree, iterations, seeds):
    """The exploitability of one worker after 1, 2, 4, ... times as many iterations."""
    found = []
    for seed in range(100, 100 + seeds):
        algorithm = cp.algorithms.ExternalSampling()
        memory, row = algorithm.init(tree, seed), []
        for times in TIMES:
            memory = algorithm.step(tree, memory, times * iterations - memory.iteration)
            row.append(judged(tree, algorithm, memory))
        found.append(row)
    return np.mean(found, axis=0)


def every(tree, workers, iterations, seed, length, total):
    """Merges every `length` iterations, of the mean or of the sum of corrections."""
    algorithm = cp.algorithms.ExternalSampling(num_workers=workers)
    whole = algorithm.init(tree, seed)
    names = [name for name in vars(whole) if name != "iteration"]
    memory = engine.WorkerRows(0, *(getattr(whole, name) for name in names))
    before = memory.regret[0].copy()
    while memory.iteration < iterations:
        algorithm.step(tree, memory, min(length, iterations - memory.iteration))
        if total:
            memory.regret[:] = before + (memory.regret - before).sum(axis=0)
        crew.merge_workers(tree, memory, (-np.inf, 0.0))
        before = memory.regret[0].copy()
    return judged(tree, algorithm, memory)


def main(game, iterations, seeds, rows):
    cp.set_num_threads(1)
    tree = cp.build_tree(game)
    about = {"game": game, "iterations": iterations, "seeds": seeds}
    curve = known(about)
    if curve is None:
        curve = alone(tree, iterations, seeds).tolist()
        write(about | {"alone": curve})
    for workers, merge in rows:
        values = [once(tree, workers, iterations, seed, merge) for seed in range(seeds)]
        mean = float(np.mean(values))
        falling = np.minimum.accumulate(curve)  # a curve of few seeds may rise here and there
        worth = float(np.exp(np.interp(-np.log(mean), -np.log(falling), np.log(TIMES))))
        row = about | {"workers": workers, "merge": merge, "mean": mean, "worth": worth}
        write(row | {"values": values})


def once(tree, workers, iterations, seed, merge):
    """The exploitability of so many workers; `merge` is a share, or mean:length, or sum:length."""
    kind, _, length = merge.partition(":")
    if length:
        return every(tree, workers, iterations, seed, int(length), kind == "sum")
    crew.ROUND_FRACTION = float(merge)
    algorithm = cp.algorithms.ExternalSampling(num_workers=workers)
    memory = algorithm.step(tree, algorithm.init(tree, seed), iterations)
    return judged(tree, algorithm, memory)


def known(about):
    """What one worker comes to, if that has been found already."""
    lines = OUTPUT.read_text().splitlines() if OUTPUT.exists() else []
    for row in map(json.loads, lines):
        if "alone" in row and row == about | {"alone": row["alone"]}:
            return row["alone"]
    return None


def write(row):
    with OUTPUT.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(row, flush=True)


if __name__ == "__main__":
    game, iterations, seeds, *row = sys.argv[1:]
    all_rows = [(w, merge) for w in (4, 16, 64) for merge in MERGES]
    main(game, int(iterations), int(seeds), [(int(row[0]), row[1])] if row else all_rows)
