"""Runs with two writers at once, where files cannot be locked: does exactly one finish?

    python -m benchmarks.orphans --count 100

A process is at work on a run. At a random moment a second one is sent to the same folder, as a
cluster does that believes the first one dead; both have their lock taken away, as on some network
file systems. Whoever was there first must be fenced, unless it was done already; the other one must
finish, and the run must be, bit for bit, that of one process alone.
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

from benchmarks.killed_runs import CONFIG, SPEC, outcome
from counterplay.experiment import folder as files
from counterplay.experiment import run
from counterplay.experiment.folder import FencedError
from counterplay.scale.running import advance

FENCED = 3  # the exit code of a process that was


def writer(folder: Path) -> int:
    """Start a process that brings the run to its end, without a lock."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        files.lock = lambda handle: None
        advance(str(folder), CONFIG, SPEC["max_steps"], str(folder.parent))
        code = 0
    except FencedError:
        code = FENCED
    finally:
        os._exit(code)


def ended(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def attack(count: int, seed: int) -> Counter[str]:
    """What became of so many runs with two writers."""
    rng = random.Random(seed)
    found = Counter(dict.fromkeys(("first fenced", "first was done", "FAILED", "DIFFERENT"), 0))
    with tempfile.TemporaryDirectory() as name:
        run(CONFIG, Path(name) / "compiled")
        began = time.monotonic()
        run(CONFIG, Path(name) / "whole")
        seconds, wanted = time.monotonic() - began, outcome(Path(name) / "whole")
        for number in range(count):
            folder = Path(name) / str(number) / "run"
            folder.parent.mkdir()
            first = writer(folder)
            time.sleep(rng.uniform(0.0, seconds))
            second = writer(folder)
            codes = ended(first), ended(second)
            how = {(FENCED, 0): "first fenced", (0, 0): "first was done"}.get(codes, "FAILED")
            found[how] += 1
            found["DIFFERENT"] += outcome(folder) != wanted
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(json.dumps(attack(given.count, given.seed)))


if __name__ == "__main__":
    main()
