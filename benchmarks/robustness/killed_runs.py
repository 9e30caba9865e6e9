"""Kill runs (kill -9) at random times, resume them, and compare the results with undisturbed runs.

    python -m benchmarks.robustness.killed_runs --count 1000

Each run is killed and resumed up to three times, then resumed to its end. Its memory and records
must equal those of an undisturbed run bit for bit, a checkpoint that was reported before the kill
must exist after it, and no temporary folder may be left once the next run starts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.timing import first_paragraph
from counterplay.experiment import resume, run, runner
from counterplay.experiment.checkpoint import load_checkpoint
from counterplay.experiment.metrics import load_metrics
from counterplay.experiment.run_folder import load_run_config
from counterplay.experiment.runner import new_run

SPEC = {"max_steps": 120, "evaluate_every": 7, "checkpoint_every": 10}
CONFIG = {"name": "small", "algorithm": "cfr_plus", "game": {"name": "kuhn_poker"}, "spec": SPEC}
RUN_FILES = {
    "config.json",
    "env.json",
    "metrics.jsonl",
    "checkpoint.npz",
    "checkpoint.previous.npz",
}
RUN_FILES |= {"process.json", "heartbeat.json"}


def run_content(folder: Path) -> tuple[Any, ...]:
    """Return everything a finished run has stored, without times."""
    checkpoint = load_checkpoint(folder, load_run_config(folder), "kuhn_poker")
    assert checkpoint is not None and not checkpoint.fallback_reason, checkpoint
    arrays = {name: array.tobytes() for name, array in checkpoint.leaves.arrays.items()}
    records = [{k: v for k, v in r.items() if k != "seconds"} for r in load_metrics(folder)]
    progress, scalars = checkpoint.progress, checkpoint.leaves.scalars
    return progress.step, progress.recorded, arrays, scalars, records


def fork_process(work: Callable[[], object]) -> int:
    """Fork a process that does the work and exits with 0, or with 1 and a traceback."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def record_checkpoints(step_file: Path) -> None:
    """Write the step of each checkpoint of this process to a file, once it is reported."""
    write_checkpoint = runner.write_checkpoint

    def write_and_record(folder: Path, config: Any, game: str, at: Any, *rest: Any) -> Path:
        path = write_checkpoint(folder, config, game, at, *rest)
        step_file.write_text(str(at.step))
        return path

    runner.write_checkpoint = write_and_record


def kill_once(work: Callable[[], object], after: float) -> int | None:
    """Kill a working process after some seconds; return None, or its exit code if it had ended."""
    process = fork_process(work)
    time.sleep(after)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


def attack_run(
    place: Path, rng: random.Random, seconds: float, expected: tuple[Any, ...]
) -> Counter[str]:
    """Kill one run one to three times, and count the outcomes."""
    folder, step_file = place / "run", place / "steps"
    counts: Counter[str] = Counter(dict.fromkeys(("FAILED", "LOST", "DIFFERENT"), 0))

    def continue_run() -> None:
        record_checkpoints(step_file)
        if folder.exists():
            resume(folder)
        else:
            run(CONFIG, folder)

    for _ in range(rng.randrange(1, 4)):
        before = last_reported_step(step_file)
        code = kill_once(continue_run, rng.uniform(0.0, 1.1 * seconds))
        counts["kills" if code is None else "ended before" if code == 0 else "FAILED"] += 1
        reported = max(last_reported_step(step_file), before)
        checkpoint = None
        if folder.exists():
            checkpoint = load_checkpoint(folder, load_run_config(folder), "kuhn_poker")
        step = checkpoint.progress.step if checkpoint else 0
        if step < reported or (checkpoint and checkpoint.fallback_reason):
            counts["LOST"] += 1
    _, status = os.waitpid(fork_process(continue_run), 0)
    counts["FAILED"] += status != 0
    is_same = status == 0 and run_content(folder) == expected
    counts["the same" if is_same else "DIFFERENT"] += 1
    new_run(CONFIG, place / "other")
    counts["LEFT OVER"] += len(list(place.glob(".new-*")))
    counts["LEFT OVER"] += len([p for p in folder.iterdir() if p.name not in RUN_FILES])
    return counts


def last_reported_step(step_file: Path) -> int:
    """Return the step of the last reported checkpoint."""
    return int(step_file.read_text() or 0) if step_file.exists() else 0


def attack(count: int, seed: int = 0) -> Counter[str]:
    """Kill runs `count` times in all, and count the outcomes."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        run(CONFIG, Path(name) / "compiled")
        start = time.monotonic()
        run(CONFIG, Path(name) / "whole")
        seconds = time.monotonic() - start
        expected, number = run_content(Path(name) / "whole"), 0
        while counts["kills"] < count:
            number += 1
            place = Path(name) / str(number)
            place.mkdir()
            counts.update(attack_run(place, rng, seconds, expected))
    counts["runs"] = number
    return counts


def main() -> None:
    """Print the counts as JSON."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(json.dumps(attack(args.count, args.seed)))


if __name__ == "__main__":
    main()
