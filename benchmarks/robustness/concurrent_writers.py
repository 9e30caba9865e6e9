"""Run two processes on one run folder without file locks: does exactly one of them finish?

    python -m benchmarks.robustness.concurrent_writers --count 100

While one process works on a run, a second one is started in the same folder at a random time, as a
cluster does that believes the first one dead. Both have their lock removed, as on some network file
systems. The first process must be fenced, or notice that its files have changed, unless it has
finished; the second must finish, and the run must equal that of one process bit for bit. A window
between a check and the following write remains, which only a lock closes: such runs are counted as
DIFFERENT, and as `repaired` if `resume` corrects them.
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

from benchmarks.robustness.killed_runs import CONFIG as SMALL_CONFIG
from benchmarks.robustness.killed_runs import run_content
from benchmarks.timing import first_paragraph
from counterplay.distributed.run_units import advance_run
from counterplay.errors import RunError
from counterplay.experiment import metrics, resume, run, run_folder
from counterplay.experiment.run_folder import RunTakenOverError

NUM_STEPS = 30_000
CONFIG = SMALL_CONFIG | {
    "spec": {"max_steps": NUM_STEPS, "evaluate_every": 700, "checkpoint_every": 1000}
}
FENCED_CODE, NOTICED_CODE = 3, 4  # exit codes of the first process
LABEL_BY_CODES = {
    (FENCED_CODE, 0): "first fenced",
    (NOTICED_CODE, 0): "first noticed",
    (0, 0): "first had finished",
}


def start_writer(folder: Path) -> int:
    """Start a process that finishes the run without a lock."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        run_folder.try_lock = metrics.try_lock = lambda handle: None
        result = advance_run(str(folder), CONFIG, NUM_STEPS, str(folder.parent))
        code = NOTICED_CODE if "problem" in result else 0
    except RunTakenOverError:
        code = FENCED_CODE
    finally:
        os._exit(code)


def wait_for_exit(process: int) -> int:
    """Wait for a process and return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def is_complete(folder: Path, expected: tuple) -> bool:
    """Return True if the run equals that of one process."""
    try:
        return run_content(folder) == expected
    except (AssertionError, RunError):  # no valid checkpoint
        return False


def can_repair(folder: Path, expected: tuple) -> bool:
    """Return True if `resume` corrects the run."""
    try:
        resume(folder)
    except RunError:
        return False
    return is_complete(folder, expected)


def attack(count: int, seed: int) -> Counter[str]:
    """Count the outcomes of runs with two writers."""
    rng = random.Random(seed)
    counts = Counter(
        dict.fromkeys([*LABEL_BY_CODES.values(), "FAILED", "DIFFERENT", "repaired"], 0)
    )
    with tempfile.TemporaryDirectory() as name:
        run(CONFIG, Path(name) / "compiled")
        start = time.monotonic()
        run(CONFIG, Path(name) / "whole")
        seconds, expected = time.monotonic() - start, run_content(Path(name) / "whole")
        counts["milliseconds of a run"] = round(1000 * seconds)
        for number in range(count):
            folder = Path(name) / str(number) / "run"
            folder.parent.mkdir()
            first = start_writer(folder)
            time.sleep(rng.uniform(0.0, seconds))
            second = start_writer(folder)
            codes = wait_for_exit(first), wait_for_exit(second)
            counts[LABEL_BY_CODES.get(codes, "FAILED")] += 1
            if not is_complete(folder, expected):
                counts["DIFFERENT"] += 1
                counts["repaired"] += can_repair(folder, expected)
    return counts


def main() -> None:
    """Print the counts as JSON."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(json.dumps(attack(args.count, args.seed)))


if __name__ == "__main__":
    main()
