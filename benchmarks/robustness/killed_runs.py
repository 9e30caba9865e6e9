"""Runs killed (kill -9) at random moments: is anything lost, and is the result the same?

    python -m benchmarks.killed_runs --count 1000

Every run is killed, then resumed and killed again, up to three times, then resumed to its end. Its
memory and records must be, bit for bit, those of a run that nobody disturbed; a checkpoint that was
reported before the kill must still be there after it; and what was left of folders that were being
made must be gone once the next run is made.
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

from counterplay.experiment import resume, run, runner
from counterplay.experiment.checkpoint import load_checkpoint
from counterplay.experiment.run_folder import load_metrics, load_run_config
from counterplay.experiment.runner import new_run

SPEC = {"max_steps": 120, "evaluate_every": 7, "checkpoint_every": 10}
CONFIG = {"name": "small", "algorithm": "cfr_plus", "game": {"name": "kuhn_poker"}, "spec": SPEC}


def outcome(folder: Path) -> tuple[Any, ...]:
    """All that a run leaves, times left out."""
    found = load_checkpoint(folder, load_run_config(folder), "kuhn_poker")
    assert found is not None and not found.fallback_reason, found
    arrays = {name: array.tobytes() for name, array in found.leaves.arrays.items()}
    records = [{k: v for k, v in r.items() if k != "seconds"} for r in load_metrics(folder)]
    return found.progress.step, found.progress.recorded, arrays, found.leaves.scalars, records


def child(work: Callable[[], object]) -> int:
    """Start a process that does the work and ends with 0, or with 1 and a traceback."""
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


def noting(steps: Path) -> None:
    """Have every checkpoint of this process noted once it is reported."""
    real = runner.write_checkpoint

    def noted(folder: Path, config: Any, game: str, at: Any, *rest: Any) -> Path:
        path = real(folder, config, game, at, *rest)
        steps.write_text(str(at.step))
        return path

    runner.write_checkpoint = noted


def kill_once(work: Callable[[], object], after: float) -> int | None:
    """Kill a process that works after so many seconds; None if it was killed, else its code."""
    process = child(work)
    time.sleep(after)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return None if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status)


def one(place: Path, rng: random.Random, seconds: float, wanted: tuple[Any, ...]) -> Counter[str]:
    """What became of one run, killed one to three times."""
    folder, steps = place / "run", place / "steps"
    found: Counter[str] = Counter(dict.fromkeys(("FAILED", "LOST", "DIFFERENT"), 0))

    def go_on() -> None:
        noting(steps)
        if folder.exists():
            resume(folder)
        else:
            run(CONFIG, folder)

    for _ in range(rng.randrange(1, 4)):
        before = int(steps.read_text() or 0) if steps.exists() else 0
        code = kill_once(go_on, rng.uniform(0.0, 1.1 * seconds))
        found["kills" if code is None else "ended before" if code == 0 else "FAILED"] += 1
        reported = int(steps.read_text() or 0) if steps.exists() else 0
        reported = max(reported, before)
        at = (
            load_checkpoint(folder, load_run_config(folder), "kuhn_poker")
            if folder.exists()
            else None
        )
        if (at.progress.step if at else 0) < reported or (at and at.fallback_reason):
            found["LOST"] += 1
    _, status = os.waitpid(child(go_on), 0)
    found["FAILED"] += status != 0
    same = status == 0 and outcome(folder) == wanted
    found["the same" if same else "DIFFERENT"] += 1
    new_run(CONFIG, place / "other")
    found["LEFT OVER"] += len(list(place.glob(".new-*")))
    found["LEFT OVER"] += len([p for p in folder.iterdir() if p.name not in FILES])
    return found


FILES = {"config.json", "env.json", "metrics.jsonl", "checkpoint.npz", "checkpoint.previous.npz"}
FILES |= {"process.json", "heartbeat.json"}


def attack(count: int, seed: int = 0) -> Counter[str]:
    """What becomes of runs that are killed `count` times in all."""
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        run(CONFIG, Path(name) / "compiled")
        began = time.monotonic()
        run(CONFIG, Path(name) / "whole")
        seconds = time.monotonic() - began
        wanted, number = outcome(Path(name) / "whole"), 0
        while found["kills"] < count:
            number += 1
            place = Path(name) / str(number)
            place.mkdir()
            found.update(one(place, rng, seconds, wanted))
    found["runs"] = number
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(json.dumps(attack(given.count, given.seed)))


if __name__ == "__main__":
    main()
