"""What a sweep adds to its runs, beside a bare pool of processes of the standard library.

    python -m benchmarks.sweep_overhead 30 1      seconds that a run takes, about; turns

The same two runs at a time: once as a study without rungs, once by `counterplay.run` in a
`ProcessPoolExecutor`. Both write the same folders. They take turns.
"""

from __future__ import annotations

import json
import multiprocessing
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


def main(seconds, turns):
    tree = cp.build_tree("leduc_poker")
    cp.set_num_threads(1)
    algorithm, probe = cp.ExternalSampling(), 2_000_000
    memory = algorithm.step(tree, algorithm.init(tree), 1000)
    began = time.perf_counter()
    algorithm.step(tree, memory, probe)
    steps = int(seconds / (time.perf_counter() - began) * probe)
    rows = []
    for turn in range(turns):
        place = Path(tempfile.mkdtemp())
        began = time.perf_counter()
        inside = pool(steps, place)
        bare = time.perf_counter() - began
        began = time.perf_counter()
        cp.sweep(study(steps), runs=place, processes=PROCESSES)
        swept = time.perf_counter() - began
        rows.append({"turn": turn, "steps": steps, "pool": bare, "sweep": swept})
        print(json.dumps(rows[-1] | {"overhead": swept / bare - 1.0, "runs": inside}), flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
