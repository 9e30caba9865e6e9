"""What merged MCCFR on many workers costs: a model fitted here, checked here, and drawn out.

    python -m benchmarks.scale_model            one line of JSON per row

A round: every process walks its workers' rows, then the driver merges.

    round = max over processes(rows * R * k * straggler + a + b * rows) + m * W

k is the time of one iteration of one worker, a that of a message, b what each row adds to it both
ways, m what each row adds to a merge; straggler is drawn from what units took here beside their
mean. The simulation goes through the very rounds of `workers.next_merge`. It is checked against
measured time at 2 to 8 units on one and two processes. The row of 1,000 workers is an
EXTRAPOLATION: it has messages one after the other over a network of 1 GB/s, and nothing of what
only a thousand machines show.
"""

from __future__ import annotations

import json
import time

import numpy as np

import counterplay as cp
from counterplay.kernels.threads import even_parts
from counterplay.scale import walking
from counterplay.scale.local import Local
from counterplay.scale.walking import ARRAYS, Spread
from counterplay.tabular import workers as crew

START, COUNT = 2_000_000, 400_000  # iterations before what is measured, and of it
NETWORK = 1e9  # bytes a second, assumed for machines apart


def timed(call, times=7):
    found = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return np.array(found)


def memory_at(tree, workers, iteration):
    algorithm = cp.ExternalSampling(workers=workers)
    memory = algorithm.init(tree)
    memory.iteration = iteration
    return algorithm, memory


def fitted(tree, executor):
    """k, a, b, m, and the stragglers."""
    algorithm, memory = memory_at(tree, 8, START)
    away = Spread(algorithm, executor)

    def unit(rows, count):
        return away._unit(tree, memory, slice(0, rows), START + count)

    executor.map([unit(1, 1)])
    few = [np.median(timed(lambda r=r: executor.map([unit(r, 1)]), 15)) for r in (1, 2, 4, 8)]
    b, a = np.polyfit((1, 2, 4, 8), few, 1)
    long = timed(lambda: executor.map([unit(1, 20_000)]), 15) - a - b
    k = float(np.median(long)) / 20_000
    merges = []
    for w in (2, 8):
        _, other = memory_at(tree, w, 1)
        took = timed(lambda x=other: crew.merge(tree, x, (-np.inf, 0.0)), 15)
        merges.append(np.median(took))
    m = (merges[1] - merges[0]) / 6
    return {"k": k, "a": float(a), "b": float(b), "m": float(m)}, long / np.median(long)


def simulated(facts, stragglers, workers, processes, start, count, apart=0.0):
    """Seconds for so many iterations; `apart` is what each message takes on the driver's line."""
    rng = np.random.default_rng(0)
    t, seconds, parts = start, 0.0, even_parts(0, workers, processes)
    while t < start + count:
        last = min(start + count, crew.next_merge(t, workers))
        if (last - t) * workers < walking.FEW and not apart:
            seconds += (last - t) * workers * facts["k"] / processes + facts["m"] * workers
        else:
            draws = rng.choice(stragglers, len(parts))
            each = [
                (b - a) * ((last - t) * facts["k"] * d + facts["b"]) + facts["a"]
                for (a, b), d in zip(parts, draws, strict=True)
            ]
            seconds += max(each) + facts["m"] * workers + apart * len(parts)
        t = last
    return seconds


def main():
    cp.set_num_threads(1)
    tree = cp.build_tree("leduc_poker")
    with Local(2) as both, Local(1) as one:
        facts, stragglers = fitted(tree, one)
        print(json.dumps(facts | {"straggler": [stragglers.min(), stragglers.max()]}), flush=True)
        for executor in (one, both):
            for units in (2, 4, 8):
                algorithm, memory = memory_at(tree, units, START)
                away = Spread(algorithm, executor)
                away.step(tree, memory, 20_000)
                memory.iteration = START
                began = time.perf_counter()
                away.step(tree, memory, COUNT)
                took = time.perf_counter() - began
                model = simulated(facts, stragglers, units, executor.size, START, COUNT)
                row = {"units": units, "processes": executor.size, "measured": took, "model": model}
                print(json.dumps(row | {"model / measured": model / took}), flush=True)
    row_bytes = sum(np.asarray(getattr(memory, n))[:1].nbytes for n in ARRAYS)
    for workers in (64, 1000):
        for start in (10**6, 10**8, 10**10):
            apart = facts["a"] / 4 + 2 * row_bytes / NETWORK
            took = simulated(facts, stragglers, workers, workers, start, start // 50, apart)
            used = start // 50 * facts["k"] / took
            row = {"EXTRAPOLATED workers": workers, "machines": workers, "at iteration": start}
            print(json.dumps(row | {"share of time in walks": used}), flush=True)


if __name__ == "__main__":
    main()
