"""Runs with two writers at once, where files cannot be locked: does exactly one finish?

    python -m benchmarks.orphans --count 100

A process is at work on a run. At a random moment a second one is sent to the same folder, as a
cluster does that believes the first one dead; both have their lock taken away, as on some network
file systems. Whoever was there first must be fenced, or notice that its files have changed, unless
it was done already; the other one must finish, and the run must be, bit for bit, that of one
process alone. Between a look and the write after it a moment remains, which only a lock closes:
such runs are counted as DIFFERENT, and whether `resume` mends them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.killed_runs import CONFIG as SMALL
from benchmarks.killed_runs import outcome
from counterplay.distributed.run_units import advance_run
from counterplay.errors import RunError
from counterplay.experiment import resume, run
from counterplay.experiment import run_folder as files
from counterplay.experiment.run_folder import RunTakenOverError

STEPS = 30_000
CONFIG = SMALL | {"spec": {"max_steps": STEPS, "evaluate_every": 700, "checkpoint_every": 1000}}
FENCED, NOTICED = 3, 4  # exit codes of the first process
ENDS = {(FENCED, 0): "first fenced", (NOTICED, 0): "first noticed", (0, 0): "first was done"}


def writer(folder: Path) -> int:
    """Start a process that brings the run to its end, without a lock."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        files.try_lock = lambda handle: None
        found = advance_run(str(folder), CONFIG, STEPS, str(folder.parent))
        code = NOTICED if "problem" in found else 0
    except RunTakenOverError:
        code = FENCED
    finally:
        os._exit(code)


def ended(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def good(folder: Path, wanted: tuple) -> bool:
    try:
        return outcome(folder) == wanted
    except (AssertionError, RunError):  # its last checkpoint is of no use, or none is
        return False


def mended(folder: Path, wanted: tuple) -> bool:
    try:
        resume(folder)
    except RunError:
        return False
    return good(folder, wanted)


def attack(count: int, seed: int) -> Counter[str]:
    """What became of so many runs with two writers."""
    rng = random.Random(seed)
    found = Counter(dict.fromkeys([*ENDS.values(), "FAILED", "DIFFERENT", "mended"], 0))
    with tempfile.TemporaryDirectory() as name:
        run(CONFIG, Path(name) / "compiled")
        began = time.monotonic()
        run(CONFIG, Path(name) / "whole")
        seconds, wanted = time.monotonic() - began, outcome(Path(name) / "whole")
        found["milliseconds of a run"] = round(1000 * seconds)
        for number in range(count):
            folder = Path(name) / str(number) / "run"
            folder.parent.mkdir()
            first = writer(folder)
            time.sleep(rng.uniform(0.0, seconds))
            second = writer(folder)
            found[ENDS.get((ended(first), ended(second)), "FAILED")] += 1
            if not good(folder, wanted):
                found["DIFFERENT"] += 1
                found["mended"] += mended(folder, wanted)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(json.dumps(attack(given.count, given.seed)))


if __name__ == "__main__":
    main()
