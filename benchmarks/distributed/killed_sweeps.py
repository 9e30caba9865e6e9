"""Kill (kill -9) workers, nodes, drivers and heads of a Ray cluster of two nodes at random times.

    NEW="unshare --net --pid --fork --kill-child --mount-proc"
    $NEW python -m benchmarks.distributed.killed_sweeps --kills 20 --steps 3000000 --seed 0

One study after another runs on the cluster until the number of kills is reached. What dies is
started again, the driver by the same command. Each study must finish, and each of its runs must
equal an undisturbed run bit for bit. Each kill is a row of results/killed_sweeps.jsonl: the target,
the seconds until its run continued (driver and head: until any run did), and the longest time until
then without progress of a run or output of the driver.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.distributed.cluster_scenario import ADDRESS, ENVIRONMENT, Nodes, wait_for, workers_of
from tests.distributed.test_sweeps import all_results
from tests.distributed.toy_units import InProcessExecutor

import counterplay as cp
from benchmarks.result_files import append_row
from benchmarks.timing import first_paragraph

FAMILY = "killed_sweeps"
GAME = "leduc_poker"
TARGETS = ["worker"] * 8 + ["node"] * 5 + ["driver"] * 4 + ["head"] * 3  # of twenty kills


def make_study(number, steps):
    """Return a study of ten runs."""
    base = {
        "algorithm": "external_sampling",
        "game": GAME,
        "spec": {
            "max_steps": steps,
            "checkpoint_every": steps // 20,
            "evaluate_every": steps // 4,
        },
    }
    vary = {"gamma": {"grid": [0.0, 1.0]}, "regret_matching_plus": {"grid": [True, False]}}
    rungs = [steps // 2, steps]
    return {
        "name": f"study-{number}",
        "base": base,
        "vary": vary,
        "seeds": 2,
        "rungs": rungs,
        "keep": 0.5,
        "judge": 1,
        "seed": number,
    }


class Scene:
    """The cluster, the driver, and the processes to kill."""

    def __init__(self, folder: Path):
        self.folder, self.runs, self.study = folder, folder / "runs", folder / "runs"
        self.nodes, self.driver = Nodes(folder), None
        self.command: list[str] = []
        self.exits: list[int] = []

    def start(self):
        """Start both nodes."""
        self.nodes.start_head()
        self.nodes.start_node("second")

    def drive(self, path: Path):
        """Start a driver for a study."""
        self.study = self.runs / path.stem
        self.command = [sys.executable, "-m", "counterplay", "sweep", str(path), "--on", ADDRESS]
        self.command += ["--runs", str(self.runs)]
        self.start_driver()

    def start_driver(self):
        """Start the driver's command."""
        log = (self.folder / "driver.log").open("ab")
        env = os.environ | ENVIRONMENT
        self.driver = subprocess.Popen(self.command, stdout=log, stderr=log, env=env)

    def keep_driving(self):
        """Restart the driver if it failed; return True if it has finished."""
        self.nodes.keep()
        code = self.driver.poll()
        if code is not None and code != 0:
            self.exits.append(code)
            self.start_driver()
        return code == 0

    def attempts(self):
        """Return by run folder the process and the attempt."""
        attempts = {}
        for path in self.study.rglob("process.json"):
            try:
                attempts[path.parent] = json.loads(path.read_bytes())
            except (OSError, ValueError):
                continue
        return attempts

    def victims(self, pids):
        """Return the attempts of the runs that these processes execute."""
        identities = {identity(pid) for pid in pids} - {None}
        return {
            run: facts["attempt"]
            for run, facts in self.attempts().items()
            if facts["ended"] is None and (facts["pid"], facts["start"]) in identities
        }

    def kill(self, target):
        """Kill a target and restart it; return the attempts of its runs, and of all runs."""
        before = {run: facts["attempt"] for run, facts in self.attempts().items()}
        if target in ("worker", "node"):
            name = random.choice(list(self.nodes.nodes)) if target == "worker" else "second"
            pids = workers_of(self.nodes.nodes[name])
            affected = self.victims(pids)
            if target == "worker":
                if not pids:
                    return None, {}
                os.kill(random.choice(pids), signal.SIGKILL)
            else:
                self.nodes.kill("second")
                self.nodes.start_node("second")
            return affected, before
        if target == "driver":
            self.driver.send_signal(signal.SIGKILL)
            self.driver.wait()
            self.start_driver()
            return {}, before
        for name in list(self.nodes.nodes):
            if name != "head":
                self.nodes.kill(name)  # nodes leave with their head, after a minute
        self.nodes.kill("head")
        self.start()
        return {}, before

    def has_continued(self, affected, before):
        """Return True if all affected runs, or any run if none was affected, have a new attempt."""
        current = {run: facts["attempt"] for run, facts in self.attempts().items()}
        if affected:
            return all(current.get(run, 0) > attempt for run, attempt in affected.items())
        return current != before


class SilenceMonitor:
    """Measures the longest time without progress of a run or output of the driver."""

    def __init__(self, scene):
        self.scene, self.longest, self.since = scene, 0.0, time.monotonic()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        before = None
        while True:
            now = self._progress()
            if now != before:
                before, self.since = now, time.monotonic()
            self.longest = max(self.longest, time.monotonic() - self.since)
            time.sleep(0.25)

    def _progress(self):
        log = self.scene.folder / "driver.log"
        found = [log.stat().st_size if log.exists() else 0]
        for name in ("heartbeat.json", "process.json"):
            for path in self.scene.study.rglob(name):
                try:
                    found.append(path.stat().st_mtime_ns)
                except OSError:
                    continue
        return found

    def pop_longest(self):
        """Return the longest time since the last call."""
        longest, self.longest = self.longest, 0.0
        return round(longest, 1)


def identity(pid):
    """Return a process's number in its own namespace and its start time, or None."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        inner = int(status.partition("NSpid:")[2].splitlines()[0].split()[-1])
        start = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
    return inner, start


def store_row(row):
    """Store and print a row."""
    append_row(FAMILY, row)
    print(row, flush=True)


def run_studies(num_kills, steps, seed):
    """Run studies until the number of kills is reached."""
    os.environ.update(ENVIRONMENT)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    folder = Path(tempfile.mkdtemp(prefix="k"))
    scene = Scene(folder)
    scene.start()
    num_killed, number = 0, 1000 * seed
    random.seed(seed)
    monitor, targets = SilenceMonitor(scene), []
    while num_killed < num_kills:
        path = folder / f"study-{number}.json"
        path.write_text(json.dumps(make_study(number, steps)))
        scene.drive(path)
        before = scene.attempts()
        while True:
            wait_for(
                "a run to begin", lambda b=before: scene.keep_driving() or scene.attempts() != b
            )
            end = time.monotonic() + random.uniform(0.0, 3.0)
            while time.monotonic() < end and scene.driver.poll() is None:
                time.sleep(0.02)
            if scene.keep_driving() or num_killed >= num_kills:
                break
            targets = targets or random.sample(TARGETS, len(TARGETS))
            start, target = time.monotonic(), targets[-1]
            monitor.pop_longest()
            affected, before = scene.kill(target)
            if affected is None:
                before = {}
                continue
            targets.pop()
            wait_for(
                f"the runs of the {target}",
                lambda a=affected, b=before: scene.keep_driving() or scene.has_continued(a, b),
            )
            num_killed += 1
            seconds = round(time.monotonic() - start, 2)
            row = {
                "seed": seed,
                "kill": num_killed,
                "who": target,
                "runs": len(affected),
                "seconds": seconds,
            }
            store_row(row | {"silence": monitor.pop_longest()})
            before = {}
        wait_for("the end of the study", scene.keep_driving, 1800.0)
        local = cp.sweep(
            make_study(number, steps), InProcessExecutor(), runs_folder=folder / "here"
        )
        expected, actual = all_results(local.folder, GAME), all_results(scene.study, GAME)
        num_lost = len(expected.keys() - actual.keys())
        store_row(
            {
                "study": number,
                "runs": len(actual),
                "lost": num_lost,
                "same bits": actual == expected,
            }
        )
        number += 1
    store_row({"drivers that ended by an error": len(scene.exits)})
    for name in list(scene.nodes.nodes):
        scene.nodes.kill(name)


def main():
    """Run studies under attack."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--steps", type=int, default=3_000_000, help="of a run")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    run_studies(args.kills, args.steps, args.seed)


if __name__ == "__main__":
    main()
