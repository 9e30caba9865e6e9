"""What a sweep adds to its runs, beside a bare pool of processes of the standard library.

    python -m benchmarks.sweep_overhead 30 1      seconds that a run takes, about; turns

The same two runs, at once: once as a study without rungs, once by `counterplay.run` in a
`ProcessPoolExecutor`. Both write the same folders. They take turns, and the one that comes first
changes; a short turn before warms the caches for both. Beside the clock stands processor time, of
all processes, which others on the machine hardly disturb: what a sweep adds to a run does not
depend on how long the run is.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import counterplay as cp
from counterplay.scale.study import load_study

PROCESSES = 2


def study(steps):
    base = {"algorithm": "external_sampling", "game": "leduc_poker"}
    spec = {"max_steps": steps, "evaluate_every": steps, "checkpoint_every": steps}
    vary = {"gamma": {"grid": [0.0, 1.0]}}
    return {"name": "overhead", "base": base | {"spec": spec}, "vary": vary, "seeds": 1, "judge": 0}


def one(config, folder):
    cp.set_num_threads(1)
    return cp.run(config, folder).seconds


def pool(steps, folder):
    told = load_study(study(steps))
    configs = [told.config(settings, 0).to_json() for settings in told.combinations()]
    places = [folder / str(number) for number in range(len(configs))]
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as bare:
        return list(bare.map(one, configs, places))


def taken(call):
    """Seconds of the clock, and of the processor by this process and those that it started."""
    began, before = time.perf_counter(), os.times()
    call()
    clock, after = time.perf_counter() - began, os.times()
    return clock, sum(after[:4]) - sum(before[:4])


def main(seconds, turns):
    tree = cp.build_tree("leduc_poker")
    cp.set_num_threads(1)
    algorithm, probe = cp.ExternalSampling(), 2_000_000
    memory = algorithm.step(tree, algorithm.init(tree), 1000)
    began = time.process_time()
    algorithm.step(tree, memory, probe)
    steps = int(seconds / (time.process_time() - began) * probe)
    for turn in range(-1, turns):
        place, count = Path(tempfile.mkdtemp()), steps if turn >= 0 else 1000
        ways = {
            "pool": lambda n=count, p=place: pool(n, p),
            "sweep": lambda n=count, p=place: cp.sweep(study(n), runs=p, processes=PROCESSES),
        }
        found = {way: taken(ways[way]) for way in sorted(ways, reverse=turn % 2 == 1)}
        (bare, bare_used), (swept, used) = found["pool"], found["sweep"]
        if turn < 0:
            continue
        row = {"turn": turn, "first": next(iter(found)), "steps": steps}
        row |= {"pool": bare, "sweep": swept}
        row |= {"overhead": swept / bare - 1.0, "pool's processor": bare_used}
        row |= {"sweep's processor": used, "added to a run": (used - bare_used) / 2}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
