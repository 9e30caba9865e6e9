"""What merged MCCFR on many workers costs: a model fitted here, checked here, and drawn out.

    python -m benchmarks.scale_model            one line of JSON per row

A round: every process walks its workers' rows, and the driver sends, receives and merges.

    round = max over processes(rows (R k s + b) + a) + processes c + W (d + m)

k is an iteration of one worker; a and b are what a message and each of its rows cost whoever walks,
c and d what they cost the driver; m is a row's part of a merge; s is a straggler, drawn from what
equal units took here. The simulation goes through the very rounds of `workers.next_merge`, and may
lose units: whoever does is back after a while and walks them again.

All times are seconds of the processor: of the driver, and of the process that used most. Nothing of
a round is done by both at once, so that their sum is what the clock would show on cores of one's
own, and others on the machine do not disturb it. The model is checked against 2 to 8 units on one
and two processes, with seeds and rows that it was not fitted to. The rows of 64 and 1,000 machines
are an EXTRAPOLATION: messages pass the driver's line one after the other, at 1 GB/s and 0.1 ms
each, both assumed, and nothing is in it of what only a thousand machines show.
"""

from __future__ import annotations

import copy
import json
import time
from pathlib import Path

import numpy as np

import counterplay as cp
from counterplay.algorithms.mccfr import workers as crew
from counterplay.distributed import mccfr
from counterplay.distributed.local import LocalExecutor
from counterplay.distributed.mccfr import MEMORY_ARRAYS, DistributedMCCFR
from counterplay.kernels.runtime.threads import split_evenly

START, COUNT = 2_000_000, 400_000  # iterations before what is measured, and of it
LEARNED = 50_000  # iterations that were really done before: walks of what was learned are shorter
UNIT = 40_000  # iterations of a unit that k is fitted to
NETWORK, LATENCY = 1e9, 1e-4  # bytes a second, seconds a message: assumed for machines apart
BACK = 5.0  # seconds until a worker that was lost is back


def used(pid):
    """Seconds of the processor that a process has used, all threads."""
    parts = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(part.read_text().split()[0]) for part in parts) * 1e-9


def measured(executor, call):
    """Seconds of the processor: the driver's, and those of the process that used most."""
    before, began = {pid: used(pid) for pid in executor.worker_pids()}, time.process_time()
    call()
    driver = time.process_time() - began
    return driver, max(used(pid) - before[pid] for pid in executor.worker_pids())


def memory_at(tree, workers, seed):
    """A memory that has learned, made to believe that it is at iteration START."""
    algorithm = cp.algorithms.ExternalSampling(num_workers=workers)
    memory = algorithm.step(tree, algorithm.init(tree, seed), LEARNED)
    memory.iteration = START
    return algorithm, memory


def fitted(tree, executor):
    """The terms of the model, and the stragglers."""
    algorithm, memory = memory_at(tree, 8, seed=1)
    away = DistributedMCCFR(algorithm, executor)

    def took(rows, count, times):
        unit = away._make_tree_unit(tree, memory, slice(0, rows), START + count)
        executor.map([unit])
        return np.array([measured(executor, lambda: executor.map([unit])) for _ in range(times)])

    sizes = (1, 2, 4, 8)
    few = [np.median(took(rows, 1, 25), axis=0) for rows in sizes]
    (d, b), (c, a) = np.polyfit(sizes, np.array(few), 1)
    long = took(1, UNIT, 25)[:, 1] - a - b
    merges = {}
    for w in (2, 8):
        other = memory_at(tree, w, seed=1)[1]
        spent = []
        for _ in range(25):
            began = time.process_time()
            crew.merge_workers(tree, other, (-np.inf, 0.0))
            spent.append(time.process_time() - began)
        merges[w] = np.median(spent)
    facts = {"k": np.median(long) / UNIT, "a": a, "b": b, "c": c, "d": d, "m": merges[8] / 8}
    return {name: max(float(value), 0.0) for name, value in facts.items()}, long / np.median(long)


def simulated(
    facts, stragglers, workers, processes, start, count, apart=0.0, losses=0.0, slowest=1.0
):
    """Seconds for so many iterations.

    Args:
        apart: what the driver's line adds to each message.
        losses: units lost, per second of every process.
        slowest: how much slower than here the slowest process is.
    """
    rng = np.random.default_rng(0)
    t, seconds, parts = start, 0.0, split_evenly(0, workers, processes)
    rows = np.array([last - first for first, last in parts])
    while t < start + count:
        last = min(start + count, crew.next_merge_iteration(t, workers))
        if (last - t) * workers < mccfr.MIN_DISTRIBUTED_ITERATIONS and not apart:
            seconds += (last - t) * workers * facts["k"]
        else:
            draws = rng.choice(stragglers, len(parts)) * slowest
            each = rows * ((last - t) * facts["k"] * draws + facts["b"]) + facts["a"]
            lost = rng.random(len(parts)) < 1.0 - np.exp(-losses * each)
            seconds += (each + lost * (BACK + each)).max()
            seconds += (facts["c"] + apart) * len(parts) + facts["d"] * workers
        if last % crew.round_length(last, workers) == 0:
            seconds += facts["m"] * workers
        t = last
    return seconds


def main():
    cp.set_num_threads(1)
    tree = cp.build_tree("leduc_poker")
    with LocalExecutor(2) as both, LocalExecutor(1) as one:
        facts, stragglers = fitted(tree, one)
        print(json.dumps(facts | {"straggler": [stragglers.min(), stragglers.max()]}), flush=True)
        for executor in (one, both):
            for units in (2, 4, 8):
                algorithm, memory = memory_at(tree, units, seed=2)
                away = DistributedMCCFR(algorithm, executor)
                away.step(tree, copy.deepcopy(memory), 20_000)
                took = sum(measured(executor, lambda w=away, m=memory: w.step(tree, m, COUNT)))
                model = simulated(facts, stragglers, units, executor.size, START, COUNT)
                row = {"units": units, "processes": executor.size, "measured": took, "model": model}
                print(json.dumps(row | {"model / measured": model / took}), flush=True)
    row_bytes = sum(np.asarray(getattr(memory, n))[:1].nbytes for n in MEMORY_ARRAYS)
    apart = LATENCY + 2 * row_bytes / NETWORK
    cases = {"as here": (0.0, 1.0), "one loss an hour, slowest 1.5": (1 / 3600, 1.5)}
    for workers in (64, 1000):
        for start in (10**6, 10**8, 10**10):
            for case, rest in cases.items():
                given = workers, workers, start, start // 50, apart
                took = simulated(facts, stragglers, *given, *rest)
                row = {"EXTRAPOLATED workers": workers, "machines": workers, "at iteration": start}
                share = start // 50 * facts["k"] / took
                print(json.dumps(row | {"case": case, "share of time in walks": share}), flush=True)


if __name__ == "__main__":
    main()
