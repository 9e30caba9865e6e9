"""kill -9 at random moments over worker, node, driver and head of a Ray cluster of two nodes.

    NEW="unshare --net --pid --fork --kill-child --mount-proc"
    $NEW python -m benchmarks.killed_sweeps 20 3000000 0          kills, steps of a run, seed

One study after another runs on the cluster until so many have been killed. Whatever dies is started
again, the driver by the same command. Every study must come to the end, and every run of it to the
bits that it has here, undisturbed. Each kill is a line of benchmarks/killed_sweeps.jsonl: who, the
seconds until the run that it had went on (driver and head: until any run did), and the longest time
until then in which no run got on and the driver said nothing.
"""

from __future__ import annotations

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

from tests.scale.cluster_scene import ADDRESS, ENVIRONMENT, Nodes, wait_for, workers_of
from tests.scale.test_sweeping import everything
from tests.scale.toys import Here

import counterplay as cp

OUTPUT = Path(__file__).with_suffix(".jsonl")
GAME = "leduc_poker"
DECK = ["worker"] * 8 + ["node"] * 5 + ["driver"] * 4 + ["head"] * 3  # of twenty kills


def study(number, steps):
    base = {
        "algorithm": "external_sampling",
        "game": GAME,
        "spec": {
            "max_steps": steps,
            "checkpoint_every": steps // 20,
            "evaluate_every": steps // 4,
        },
    }
    vary = {"gamma": {"grid": [0.0, 1.0]}, "plus": {"grid": [True, False]}}
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
    """The cluster, the driver, and whom to kill."""

    def __init__(self, folder: Path):
        self.folder, self.runs, self.study = folder, folder / "runs", folder / "runs"
        self.nodes, self.driver = Nodes(folder), None
        self.command: list[str] = []
        self.exits: list[int] = []

    def start(self):
        self.nodes.start_head()
        self.nodes.start_node("second")

    def drive(self, path: Path):
        self.study = self.runs / path.stem
        self.command = [sys.executable, "-m", "counterplay", "sweep", str(path), "--on", ADDRESS]
        self.command += ["--runs", str(self.runs)]
        self.start_driver()

    def start_driver(self):
        log = (self.folder / "driver.log").open("ab")
        env = os.environ | ENVIRONMENT
        self.driver = subprocess.Popen(self.command, stdout=log, stderr=log, env=env)

    def keep_driving(self):
        """Start the same command again whenever it has ended without success."""
        self.nodes.keep()
        code = self.driver.poll()
        if code is not None and code != 0:
            self.exits.append(code)
            self.start_driver()
        return code == 0

    def attempts(self):
        """Who runs each run, and at which attempt."""
        found = {}
        for path in self.study.rglob("process.json"):
            try:
                found[path.parent] = json.loads(path.read_bytes())
            except (OSError, ValueError):
                continue
        return found

    def victims(self, pids):
        """The runs that these processes have under way."""
        inside = {identity(pid) for pid in pids} - {None}
        return {
            run: facts["attempt"]
            for run, facts in self.attempts().items()
            if facts["ended"] is None and (facts["pid"], facts["start"]) in inside
        }

    def kill(self, who):
        """Kill, start again what nobody else does; the runs it had, by their attempts."""
        before = {run: facts["attempt"] for run, facts in self.attempts().items()}
        if who in ("worker", "node"):
            name = random.choice(list(self.nodes.nodes)) if who == "worker" else "second"
            pids = workers_of(self.nodes.nodes[name])
            had = self.victims(pids)
            if who == "worker":
                if not pids:
                    return None, {}
                os.kill(random.choice(pids), signal.SIGKILL)
            else:
                self.nodes.kill("second")
                self.nodes.start_node("second")
            return had, before
        if who == "driver":
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

    def went_on(self, had, before):
        now = {run: facts["attempt"] for run, facts in self.attempts().items()}
        if had:
            return all(now.get(run, 0) > attempt for run, attempt in had.items())
        return now != before


class Silence:
    """The longest time in which no run got on and the driver said nothing, between two looks."""

    def __init__(self, scene):
        self.scene, self.longest, self.since = scene, 0.0, time.monotonic()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        before = None
        while True:
            now = self._seen()
            if now != before:
                before, self.since = now, time.monotonic()
            self.longest = max(self.longest, time.monotonic() - self.since)
            time.sleep(0.25)

    def _seen(self):
        log = self.scene.folder / "driver.log"
        found = [log.stat().st_size if log.exists() else 0]
        for name in ("heartbeat.json", "process.json"):
            for path in self.scene.study.rglob(name):
                try:
                    found.append(path.stat().st_mtime_ns)
                except OSError:
                    continue
        return found

    def taken(self):
        """The longest since this was asked last."""
        longest, self.longest = self.longest, 0.0
        return round(longest, 1)


def identity(pid):
    """A process as it knows itself: its number in its own space, and when it started."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        inner = int(status.partition("NSpid:")[2].splitlines()[0].split()[-1])
        start = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
    return inner, start


def note(row):
    with OUTPUT.open("a") as file:
        file.write(json.dumps(row) + "\n")
    print(row, flush=True)


def main(kills, steps, seed):
    os.environ.update(ENVIRONMENT)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    folder = Path(tempfile.mkdtemp(prefix="k"))
    scene = Scene(folder)
    scene.start()
    killed, number = 0, 1000 * seed
    random.seed(seed)
    silence, deck = Silence(scene), []
    while killed < kills:
        path = folder / f"study-{number}.json"
        path.write_text(json.dumps(study(number, steps)))
        scene.drive(path)
        before = scene.attempts()
        while True:
            wait_for(
                "a run to begin", lambda b=before: scene.keep_driving() or scene.attempts() != b
            )
            until = time.monotonic() + random.uniform(0.0, 3.0)
            while time.monotonic() < until and scene.driver.poll() is None:
                time.sleep(0.02)
            if scene.keep_driving() or killed >= kills:
                break
            deck = deck or random.sample(DECK, len(DECK))
            began, who = time.monotonic(), deck[-1]
            silence.taken()
            had, before = scene.kill(who)
            if had is None:
                before = {}
                continue
            deck.pop()
            wait_for(
                f"what {who} had",
                lambda h=had, b=before: scene.keep_driving() or scene.went_on(h, b),
            )
            killed += 1
            seconds = round(time.monotonic() - began, 2)
            row = {"seed": seed, "kill": killed, "who": who, "runs": len(had), "seconds": seconds}
            note(row | {"silence": silence.taken()})
            before = {}
        wait_for("the end of the study", scene.keep_driving, 1800.0)
        here = cp.sweep(study(number, steps), Here(), runs_folder=folder / "here")
        wanted, found = everything(here.folding_player, GAME), everything(scene.study, GAME)
        lost = len(wanted.keys() - found.keys())
        note({"study": number, "runs": len(found), "lost": lost, "same bits": found == wanted})
        number += 1
    note({"drivers that ended by an error": len(scene.exits)})
    for name in list(scene.nodes.nodes):
        scene.nodes.kill(name)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
