"""Fit a cost model of merged MCCFR on many workers, check it, and extrapolate it.

    python -m benchmarks.distributed.cost_model            # one line of JSON per row

In a round, each process walks its workers' rows, and the driver sends, receives and merges:

    round = max over processes(rows (R k s + b) + a) + processes c + W (d + m)

k is the time of an iteration of one worker; a and b are the worker's cost of a message and of each
of its rows, c and d the driver's; m is the cost of merging a row; s is a straggler factor, drawn
from measured times of equal units. The simulation follows the rounds of `workers`, and may lose
units: a lost worker returns after a while and repeats them.

Times are processor seconds of the driver plus those of the process that used most. The driver and
the workers never work at the same time, so the sum is the wall-clock time on undisturbed cores. The
model is checked against 2 to 8 units on one and two processes, with other seeds and row counts than
those of the fit. The rows of 64 and 1,000 machines are an EXTRAPOLATION: messages pass the driver's
network link one after the other, at an assumed 1 GB/s and 0.1 ms each.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from pathlib import Path

import numpy as np

import counterplay as cp
from benchmarks.timing import first_paragraph
from counterplay.algorithms.mccfr import workers as mccfr_workers
from counterplay.distributed import mccfr
from counterplay.distributed.local import LocalExecutor
from counterplay.distributed.mccfr import MEMORY_ARRAYS, DistributedMCCFR
from counterplay.kernels.runtime.threads import split_evenly

START_ITERATION = 2_000_000
NUM_ITERATIONS = 400_000  # measured
WARM_UP_ITERATIONS = 50_000  # really done before: walks get shorter as the policy is learned
UNIT_ITERATIONS = 40_000  # of the unit that k is fitted to
BYTES_PER_SECOND, SECONDS_PER_MESSAGE = 1e9, 1e-4  # of the network, assumed
RECOVERY_SECONDS = 5.0  # until a lost worker is back


def process_cpu_seconds(pid):
    """Return the processor seconds of a process, all threads."""
    parts = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(part.read_text().split()[0]) for part in parts) * 1e-9


def measure_call(executor, call):
    """Return processor seconds of the driver and of the process that used most."""
    before = {pid: process_cpu_seconds(pid) for pid in executor.worker_pids()}
    start = time.process_time()
    call()
    driver = time.process_time() - start
    return driver, max(process_cpu_seconds(pid) - before[pid] for pid in executor.worker_pids())


def prepare_memory(tree, num_workers, seed):
    """Return an algorithm and its trained memory, set to START_ITERATION."""
    algorithm = cp.algorithms.ExternalSampling(num_workers=num_workers)
    memory = algorithm.step(tree, algorithm.init(tree, seed), WARM_UP_ITERATIONS)
    memory.iteration = START_ITERATION
    return algorithm, memory


def fit_model(tree, executor):
    """Return the terms of the model, and measured straggler factors."""
    algorithm, memory = prepare_memory(tree, 8, seed=1)
    distributed = DistributedMCCFR(algorithm, executor)

    def time_unit(num_rows, count, repeats):
        unit = distributed._make_tree_unit(
            tree, memory, slice(0, num_rows), START_ITERATION + count
        )
        executor.map([unit])
        return np.array(
            [measure_call(executor, lambda: executor.map([unit])) for _ in range(repeats)]
        )

    sizes = (1, 2, 4, 8)
    short = [np.median(time_unit(size, 1, 25), axis=0) for size in sizes]
    (d, b), (c, a) = np.polyfit(sizes, np.array(short), 1)
    long = time_unit(1, UNIT_ITERATIONS, 25)[:, 1] - a - b
    merges = {}
    for w in (2, 8):
        other = prepare_memory(tree, w, seed=1)[1]
        seconds = []
        for _ in range(25):
            start = time.process_time()
            mccfr_workers.merge_workers(tree, other, (-np.inf, 0.0))
            seconds.append(time.process_time() - start)
        merges[w] = np.median(seconds)
    terms = {
        "k": np.median(long) / UNIT_ITERATIONS,
        "a": a,
        "b": b,
        "c": c,
        "d": d,
        "m": merges[8] / 8,
    }
    return {name: max(float(value), 0.0) for name, value in terms.items()}, long / np.median(long)


def simulate(terms, stragglers, num_workers, num_processes, start, count, network=None):
    """Return the seconds of `count` iterations.

    Args:
        network: seconds added to each message, units lost per second of each process, and how much
            slower than here the slowest process is; None for processes of this machine.
    """
    message_seconds, loss_rate, slowdown = network or (0.0, 0.0, 1.0)
    rng = np.random.default_rng(0)
    t, seconds, parts = start, 0.0, split_evenly(0, num_workers, num_processes)
    rows = np.array([last - first for first, last in parts])
    while t < start + count:
        last = min(start + count, mccfr_workers.next_merge_iteration(t, num_workers))
        if (last - t) * num_workers < mccfr.MIN_DISTRIBUTED_ITERATIONS and not network:
            seconds += (last - t) * num_workers * terms["k"]
        else:
            draws = rng.choice(stragglers, len(parts)) * slowdown
            each = rows * ((last - t) * terms["k"] * draws + terms["b"]) + terms["a"]
            is_lost = rng.random(len(parts)) < 1.0 - np.exp(-loss_rate * each)
            seconds += (each + is_lost * (RECOVERY_SECONDS + each)).max()
            seconds += (terms["c"] + message_seconds) * len(parts) + terms["d"] * num_workers
        if last % mccfr_workers.round_length(last, num_workers) == 0:
            seconds += terms["m"] * num_workers
        t = last
    return seconds


def main():
    """Print the terms, the checks and the extrapolation."""
    argparse.ArgumentParser(description=first_paragraph(__doc__)).parse_args()
    cp.set_num_threads(1)
    tree = cp.build_tree("leduc_poker")
    with LocalExecutor(2) as both, LocalExecutor(1) as one:
        terms, stragglers = fit_model(tree, one)
        print(json.dumps(terms | {"straggler": [stragglers.min(), stragglers.max()]}), flush=True)
        for executor in (one, both):
            for units in (2, 4, 8):
                algorithm, memory = prepare_memory(tree, units, seed=2)
                distributed = DistributedMCCFR(algorithm, executor)
                distributed.step(tree, copy.deepcopy(memory), 20_000)

                def step(distributed=distributed, memory=memory):
                    distributed.step(tree, memory, NUM_ITERATIONS)

                seconds = sum(measure_call(executor, step))
                arguments = units, executor.size, START_ITERATION, NUM_ITERATIONS
                model = simulate(terms, stragglers, *arguments)
                row = {"units": units, "processes": executor.size, "measured": seconds}
                row |= {"model": model, "model / measured": model / seconds}
                print(json.dumps(row), flush=True)
    row_bytes = sum(np.asarray(getattr(memory, n))[:1].nbytes for n in MEMORY_ARRAYS)
    message_seconds = SECONDS_PER_MESSAGE + 2 * row_bytes / BYTES_PER_SECOND
    cases = {"as here": (0.0, 1.0), "one loss an hour, slowest 1.5": (1 / 3600, 1.5)}
    for num_workers in (64, 1000):
        for start in (10**6, 10**8, 10**10):
            for case, (loss_rate, slowdown) in cases.items():
                network = message_seconds, loss_rate, slowdown
                count = start // 50
                arguments = num_workers, num_workers, start, count, network
                seconds = simulate(terms, stragglers, *arguments)
                row = {"EXTRAPOLATED workers": num_workers, "machines": num_workers}
                row |= {"at iteration": start, "case": case}
                row["share of time in walks"] = count * terms["k"] / seconds
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
