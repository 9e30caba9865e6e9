"""How quick the studio is: many runs, long curves, large trees, an end with streams open.

python benchmarks/studio.py [runs] [points]

Times are wall-clock, best of several where a question is asked again; the first is there too.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from counterplay.experiment.runner import new_run

TREES = ["kuhn_poker(num_cards=750)", "liars_dice(dice_sides=7)"]
CONFIG = {"name": "many", "algorithm": "cfr_plus", "game": "kuhn_poker"}


class Studio:
    def __init__(self, root: Path, state: Path):
        command = [sys.executable, "-m", "counterplay", "studio", str(root), "--no-browser"]
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"XDG_STATE_HOME": str(state)},
        )
        assert self.process.stdout
        found = re.search(r"http://(\S+)/#token=(\w+)", self.process.stdout.readline())
        assert found
        self.address, self.token = found.groups()
        self.headers = {"Authorization": f"Bearer {self.token}"}

    def ask(self, path: str) -> tuple[float, dict, int]:
        """Seconds, the answer, and how many times it had to be asked for."""
        turns = 0
        while True:
            began = time.perf_counter()
            line = http.client.HTTPConnection(self.address)
            line.request("GET", path, headers=self.headers)
            answer = line.getresponse()
            body = answer.read()
            took, turns = time.perf_counter() - began, turns + 1
            if answer.status != 202:
                kind = answer.getheader("content-type", "")
                return took, json.loads(body) if "json" in kind else {}, turns
            time.sleep(0.2)

    def best(self, path: str, times: int = 7) -> tuple[float, float]:
        found = [self.ask(path)[0] for _ in range(times)]
        return found[0], min(found)

    def memory(self) -> float:
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]


def synthetic(root: Path, runs: int, points: int) -> None:
    """Folders of runs with so many records each, as the library writes them."""
    record = '{{"step": {}, "seconds": {}, "average": {!r}, "current": {!r}}}\n'
    lines = [
        record.format(250 * k, round(k * 0.0123, 6), 1 / (k + 1.5), (1 + k % 7) / (k + 9) ** 0.5)
        for k in range(1, points + 1)
    ]
    text = "".join(lines)
    for number in range(runs):
        folder = root / "many" / f"20260101T{number:06d}Z"
        new_run(CONFIG | {"spec": {"max_steps": 250 * points, "seed": number}}, folder)
        (folder / "metrics.jsonl").write_text(text)


def many_runs(root: Path, state: Path, runs: int, points: int) -> None:
    studio = Studio(root, state)
    studio.ask("/")
    print(f"page: {time.perf_counter() - studio.began:.2f} s after the command")
    took, found, _ = studio.ask("/api/runs")
    print(f"list of {len(found['runs'])} runs of {points:,} records, first: {took:.2f} s")
    names = [run["id"] for run in found["runs"]]
    charts = [studio.ask(f"/api/runs/{name}/metrics")[0] for name in names[:20]]
    print(f"chart, first time: median {sorted(charts)[10]:.3f} s, most {max(charts):.3f} s")
    _, best = studio.best(f"/api/runs/{names[0]}/metrics?from=1e6&to=2e7")
    print(f"the same again, closer: {best:.3f} s")
    took = studio.ask("/api/compare?" + "&".join(f"r={name}" for name in names[:5]))[0]
    print(f"five compared: {took:.2f} s")
    took = studio.best("/api/runs")[1]
    print(f"list again: {took:.3f} s; memory of the server {studio.memory():.0f} MB")
    end(studio, "with 8 streams open")


def end(studio: Studio, how: str) -> None:
    lines = [http.client.HTTPConnection(studio.address) for _ in range(8)]
    for line in lines:
        line.request("GET", "/api/events", headers=studio.headers)
        line.getresponse()
    began = time.perf_counter()
    studio.process.send_signal(signal.SIGINT)
    code = studio.process.wait()
    print(f"Ctrl-C {how}: ended in {time.perf_counter() - began:.2f} s, code {code}")


def new_records(root: Path, state: Path) -> None:
    """From a record in the file to the page's answer."""
    studio = Studio(root, state)
    folder = new_run(CONFIG | {"spec": {"max_steps": 10**9}}, root / "live" / "1").folder
    studio.ask("/api/runs?fresh=1")
    delays = []
    line = http.client.HTTPConnection(studio.address)
    line.request("GET", "/api/events", headers=studio.headers)
    stream = line.getresponse()
    stream.readline()
    with open(folder / "metrics.jsonl", "a") as file:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)  # as a run does: it is seen as running
        time.sleep(2)
        for step in range(1, 11):
            file.write(json.dumps({"step": step, "seconds": step, "average": 1 / step}) + "\n")
            file.flush()
            began = time.perf_counter()
            while True:
                event = json.loads(stream.readline())
                if event["kind"] == "run" and event["run"]["step"] >= step:
                    break
            studio.ask("/api/runs/live/1/metrics?after=1")
            delays.append(time.perf_counter() - began)
            time.sleep(0.17 * step)
    most = max(delays)
    print(f"a new record is on the page in {sum(delays) / 10:.2f} s, at most {most:.2f} s")
    line.close()
    end(studio, "after that")


def large_trees(root: Path, state: Path) -> None:
    studio = Studio(root, state)
    for spec in TREES:
        base = f"game={spec}&policy=uniform"
        began = time.perf_counter()
        _, found, turns = studio.ask(f"/api/explore/view?{base}")
        facts = found["facts"]
        whole = time.perf_counter() - began
        print(f"{spec}: {facts['nodes']:,} nodes, {facts['infosets']:,} infosets")
        print(f"  open: {whole:.0f} s, asked {turns} times while it was built")
        child = found["children"][0]["node"]
        for _ in range(4):
            found = studio.ask(f"/api/explore/view?{base}&node={child}")[1]
            child = (found["children"] or [{"node": child}])[0]["node"]
        for what in ("view", "grid", "drawing", "leaks", "overview"):
            first, best = studio.best(f"/api/explore/{what}?{base}&node={child}")
            print(f"  {what}: {1000 * best:.0f} ms, the first time {1000 * first:.0f} ms")
    end(studio, "with large trees at desks")


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    points = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    place = Path(tempfile.mkdtemp())
    try:
        synthetic(place / "runs", runs, points)
        many_runs(place / "runs", place / "state", runs, points)
        new_records(place / "live", place / "state")
        large_trees(place / "none", place / "state")
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
