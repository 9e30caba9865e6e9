"""Measure the overhead of a sweep over a pool of processes of the standard library.

    python -m benchmarks.distributed.sweep_overhead --seconds 30 --turns 2

The same two runs execute at once: as a study without rungs, and by `counterplay.run` in a
`ProcessPoolExecutor`. Both write the same folders. The two ways take turns in changing order, after
a short turn that warms the caches. The speed of the walks varies by several percent from minute to
minute, so the rest is compared: wall-clock time minus the seconds that the longer run has spent in
the algorithm according to its metrics.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import counterplay as cp
from benchmarks.timing import first_paragraph
from counterplay.distributed.study import load_study

NUM_PROCESSES = 2


def make_study(steps):
    """Return a study of two runs."""
    base = {"algorithm": "external_sampling", "game": "leduc_poker"}
    spec = {"max_steps": steps, "evaluate_every": steps, "checkpoint_every": steps}
    vary = {"gamma": {"grid": [0.0, 1.0]}}
    return {"name": "overhead", "base": base | {"spec": spec}, "vary": vary, "seeds": 1, "judge": 0}


def run_config(config, folder):
    """Run a config on one thread; return the seconds of its algorithm."""
    cp.set_num_threads(1)
    return cp.run(config, folder).seconds


def run_pool(steps, folder):
    """Run the configs of the study in a pool of processes."""
    study = load_study(make_study(steps))
    configs = [study.run_config(settings, 0).to_json() for settings in study.combinations()]
    folders = [folder / str(number) for number in range(len(configs))]
    with ProcessPoolExecutor(NUM_PROCESSES, multiprocessing.get_context("spawn")) as executor:
        return list(executor.map(run_config, configs, folders))


def measure_rest(call, place):
    """Return wall-clock seconds, and those outside of the longer run's algorithm."""
    start = time.perf_counter()
    call()
    wall = time.perf_counter() - start
    last = [path.read_text().splitlines()[-1] for path in place.rglob("metrics.jsonl")]
    return wall, wall - max(json.loads(line)["seconds"] for line in last)


def measure_overhead(seconds, num_turns):
    """Print a line of JSON per turn."""
    tree = cp.build_tree("leduc_poker")
    cp.set_num_threads(1)
    algorithm, num_probe_steps = cp.algorithms.ExternalSampling(), 2_000_000
    memory = algorithm.step(tree, algorithm.init(tree), 1000)
    start = time.process_time()
    algorithm.step(tree, memory, num_probe_steps)
    steps = int(seconds / (time.process_time() - start) * num_probe_steps)
    for turn in range(-1, num_turns):
        place, count = Path(tempfile.mkdtemp()), steps if turn >= 0 else 1000
        ways = {
            "pool": lambda n=count, p=place / "pool": run_pool(n, p),
            "sweep": lambda n=count, p=place / "sweep": cp.sweep(
                make_study(n), runs_folder=p, num_processes=NUM_PROCESSES
            ),
        }
        order = sorted(ways, reverse=turn % 2 == 1)
        times = {way: measure_rest(ways[way], place / way) for way in order}
        (pool_wall, pool_rest), (sweep_wall, sweep_rest) = times["pool"], times["sweep"]
        if turn < 0:
            continue
        row = {"turn": turn, "first": order[0], "steps": steps, "pool": pool_wall}
        row |= {"sweep": sweep_wall, "pool rest": pool_rest, "sweep rest": sweep_rest}
        print(json.dumps(row | {"overhead": (sweep_rest - pool_rest) / pool_wall}), flush=True)


def main():
    """Measure some turns."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--seconds", type=float, default=30.0, help="of a run, about")
    parser.add_argument("--turns", type=int, default=1)
    args = parser.parse_args()
    measure_overhead(args.seconds, args.turns)


if __name__ == "__main__":
    main()
