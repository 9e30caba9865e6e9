"""Measure how many single-worker iterations Monte Carlo workers replace, by merge rule.

    python -m benchmarks.distributed.worker_speedup leduc_poker 100000 5
    python -m benchmarks.distributed.worker_speedup leduc_poker 100000 5 --row 16 0.16

Arguments are the game, iterations per worker and seeds; a row is a number of workers and a merge
rule. A unit of work has the same bits on any machine, so one core computes what 64 machines would.
`worth` is how many times as many iterations one worker needs for the same exploitability,
interpolated on a log scale between its evaluations. Rows are in results/worker_speedup.jsonl.
"""

from __future__ import annotations

import argparse

import numpy as np

import counterplay as cp
from benchmarks.result_files import append_row, load_rows
from benchmarks.timing import first_paragraph
from counterplay.algorithms.mccfr import engine
from counterplay.algorithms.mccfr import workers as mccfr_workers

FAMILY = "worker_speedup"
WORKER_COUNTS = (4, 16, 64)
MERGE_RULES = ("0.16", "0.32", "0.08", "mean:10000", "sum:1000")
MULTIPLES = (1, 2, 4, 8, 16, 32, 64, 128)


def average_exploitability(tree, algorithm, memory):
    """Return the exploitability of the average policy."""
    return cp.judge(tree, algorithm.policies(tree, memory)["average"]).exploitability


def measure_single_worker(tree, iterations, seeds):
    """Return the exploitability of one worker after 1, 2, 4, ... times as many iterations."""
    curves = []
    for seed in range(100, 100 + seeds):
        algorithm = cp.algorithms.ExternalSampling()
        memory, row = algorithm.init(tree, seed), []
        for multiple in MULTIPLES:
            memory = algorithm.step(tree, memory, multiple * iterations - memory.iteration)
            row.append(average_exploitability(tree, algorithm, memory))
        curves.append(row)
    return np.mean(curves, axis=0)


def run_fixed_rounds(tree, num_workers, iterations, seed, length, is_sum):
    """Merge the mean or the sum of corrections every `length` iterations."""
    algorithm = cp.algorithms.ExternalSampling(num_workers=num_workers)
    whole = algorithm.init(tree, seed)
    names = [name for name in vars(whole) if name != "iteration"]
    memory = engine.WorkerRows(0, *(getattr(whole, name) for name in names))
    before = memory.regret[0].copy()
    while memory.iteration < iterations:
        algorithm.step(tree, memory, min(length, iterations - memory.iteration))
        if is_sum:
            memory.regret[:] = before + (memory.regret - before).sum(axis=0)
        mccfr_workers.merge_workers(tree, memory, (-np.inf, 0.0))
        before = memory.regret[0].copy()
    return average_exploitability(tree, algorithm, memory)


def measure_rows(game, iterations, seeds, rows):
    """Measure and store the rows of one game."""
    cp.set_num_threads(1)
    tree = cp.build_tree(game)
    setting = {"game": game, "iterations": iterations, "seeds": seeds}
    curve = load_single_worker(setting)
    if curve is None:
        curve = measure_single_worker(tree, iterations, seeds).tolist()
        store_row(setting | {"alone": curve})
    for num_workers, merge in rows:
        values = [run_merged(tree, num_workers, iterations, seed, merge) for seed in range(seeds)]
        mean = float(np.mean(values))
        falling = np.minimum.accumulate(curve)  # a mean of few seeds may rise
        worth = float(np.exp(np.interp(-np.log(mean), -np.log(falling), np.log(MULTIPLES))))
        row = setting | {"workers": num_workers, "merge": merge, "mean": mean, "worth": worth}
        store_row(row | {"values": values})


def run_merged(tree, num_workers, iterations, seed, merge):
    """Return the exploitability of workers; `merge` is a fraction, mean:length or sum:length."""
    kind, _, length = merge.partition(":")
    if length:
        return run_fixed_rounds(tree, num_workers, iterations, seed, int(length), kind == "sum")
    mccfr_workers.ROUND_FRACTION = float(merge)
    algorithm = cp.algorithms.ExternalSampling(num_workers=num_workers)
    memory = algorithm.step(tree, algorithm.init(tree, seed), iterations)
    return average_exploitability(tree, algorithm, memory)


def load_single_worker(setting):
    """Return the stored curve of one worker, or None."""
    for row in load_rows(FAMILY):
        if "alone" in row and row == setting | {"alone": row["alone"]}:
            return row["alone"]
    return None


def store_row(row):
    """Store and print a row."""
    append_row(FAMILY, row)
    print(row, flush=True)


def main():
    """Measure one row, or all."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("game")
    parser.add_argument("iterations", type=int, help="per worker")
    parser.add_argument("seeds", type=int, help="number of seeds")
    parser.add_argument("--row", nargs=2, metavar=("WORKERS", "MERGE"))
    args = parser.parse_args()
    rows = [(count, rule) for count in WORKER_COUNTS for rule in MERGE_RULES]
    if args.row:
        rows = [(int(args.row[0]), args.row[1])]
    measure_rows(args.game, args.iterations, args.seeds, rows)


if __name__ == "__main__":
    main()
