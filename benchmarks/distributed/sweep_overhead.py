"""What a sweep adds to its runs, beside a bare pool of processes of the standard library.

    python -m benchmarks.sweep_overhead 30 1      seconds that a run takes, about; turns

The same two runs, at once: once as a study without rungs, once by `counterplay.run` in a
`ProcessPoolExecutor`. Both write the same folders. They take turns, and the one that comes first
changes; a short turn before warms the caches for both. How fast the same walks are walked changes
by several percent from one minute to the next, so what is compared is the rest: the clock, less the
seconds that the longer of the two runs has spent in the algorithm, as its own metrics say.
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
from counterplay.distributed.study import load_study

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
    configs = [told.run_config(settings, 0).to_json() for settings in told.combinations()]
    places = [folder / str(number) for number in range(len(configs))]
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as bare:
        return list(bare.map(one, configs, places))


def taken(call, place):
    """Seconds of the clock, and those of them beside the algorithm of the longer run."""
    began = time.perf_counter()
    call()
    clock = time.perf_counter() - began
    last = [path.read_text().splitlines()[-1] for path in place.rglob("metrics.jsonl")]
    return clock, clock - max(json.loads(line)["seconds"] for line in last)


def main(seconds, turns):
    tree = cp.build_tree("leduc_poker")
    cp.set_num_threads(1)
    algorithm, probe = cp.algorithms.ExternalSampling(), 2_000_000
    memory = algorithm.step(tree, algorithm.init(tree), 1000)
    began = time.process_time()
    algorithm.step(tree, memory, probe)
    steps = int(seconds / (time.process_time() - began) * probe)
    for turn in range(-1, turns):
        place, count = Path(tempfile.mkdtemp()), steps if turn >= 0 else 1000
        ways = {
            "pool": lambda n=count, p=place / "pool": pool(n, p),
            "sweep": lambda n=count, p=place / "sweep": cp.sweep(
                study(n), runs_folder=p, num_processes=PROCESSES
            ),
        }
        order = sorted(ways, reverse=turn % 2 == 1)
        found = {way: taken(ways[way], place / way) for way in order}
        (bare, bare_beside), (swept, beside) = found["pool"], found["sweep"]
        if turn < 0:
            continue
        row = {"turn": turn, "first": order[0], "steps": steps, "pool": bare, "sweep": swept}
        row |= {"beside the pool's walks": bare_beside, "beside the sweep's": beside}
        print(json.dumps(row | {"overhead": (beside - bare_beside) / bare}), flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
