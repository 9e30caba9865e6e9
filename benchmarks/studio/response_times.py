"""Measure the studio's response times: many runs, long curves, large trees, shutdown.

    python -m benchmarks.studio.response_times --runs 100 --points 100000

Times are wall-clock seconds. Where a request is repeated, the best is printed beside the first.
"""

from __future__ import annotations

import argparse
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

from benchmarks.timing import first_paragraph
from counterplay.experiment.runner import new_run

LARGE_GAMES = ["kuhn_poker(num_cards=750)", "liars_dice(dice_sides=7)"]
CONFIG = {"name": "many", "algorithm": "cfr_plus", "game": "kuhn_poker"}


class Studio:
    """A studio process and its address."""

    def __init__(self, root: Path, state: Path):
        command = [sys.executable, "-m", "counterplay", "studio", str(root), "--no-browser"]
        self.start_time = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"XDG_STATE_HOME": str(state)},
        )
        assert self.process.stdout
        match = re.search(r"http://(\S+)/#token=(\w+)", self.process.stdout.readline())
        assert match
        self.address, self.token = match.groups()
        self.headers = {"Authorization": f"Bearer {self.token}"}

    def get(self, path: str) -> tuple[float, dict, int]:
        """Return the seconds, the response, and the number of requests until it was ready."""
        num_requests = 0
        while True:
            start = time.perf_counter()
            connection = http.client.HTTPConnection(self.address)
            connection.request("GET", path, headers=self.headers)
            response = connection.getresponse()
            body = response.read()
            seconds, num_requests = time.perf_counter() - start, num_requests + 1
            if response.status != 202:
                is_json = "json" in response.getheader("content-type", "")
                return seconds, json.loads(body) if is_json else {}, num_requests
            time.sleep(0.2)

    def time_requests(self, path: str, count: int = 7) -> tuple[float, float]:
        """Return the seconds of the first request and of the best."""
        seconds = [self.get(path)[0] for _ in range(count)]
        return seconds[0], min(seconds)

    def memory_mib(self) -> float:
        """Return the resident memory of the server."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]


def write_runs(root: Path, num_runs: int, num_points: int) -> None:
    """Write run folders with long metrics, as the library does."""
    record = '{{"step": {}, "seconds": {}, "average": {!r}, "current": {!r}}}\n'
    lines = [
        record.format(250 * k, round(k * 0.0123, 6), 1 / (k + 1.5), (1 + k % 7) / (k + 9) ** 0.5)
        for k in range(1, num_points + 1)
    ]
    text = "".join(lines)
    for number in range(num_runs):
        folder = root / "many" / f"20260101T{number:06d}Z"
        new_run(CONFIG | {"spec": {"max_steps": 250 * num_points, "seed": number}}, folder)
        (folder / "metrics.jsonl").write_text(text)


def measure_many_runs(root: Path, state: Path, num_points: int) -> None:
    """Measure the list of runs, charts and comparisons."""
    studio = Studio(root, state)
    studio.get("/")
    print(f"page: {time.perf_counter() - studio.start_time:.2f} s after the command")
    seconds, listing, _ = studio.get("/api/runs")
    print(f"list of {len(listing['runs'])} runs of {num_points:,} records, first: {seconds:.2f} s")
    names = [run["id"] for run in listing["runs"]]
    charts = [studio.get(f"/api/runs/{name}/metrics")[0] for name in names[:20]]
    print(f"chart, first time: median {sorted(charts)[10]:.3f} s, largest {max(charts):.3f} s")
    _, best = studio.time_requests(f"/api/runs/{names[0]}/metrics?from=1e6&to=2e7")
    print(f"the same chart, zoomed: {best:.3f} s")
    seconds = studio.get("/api/compare?" + "&".join(f"r={name}" for name in names[:5]))[0]
    print(f"five runs compared: {seconds:.2f} s")
    seconds = studio.time_requests("/api/runs")[1]
    print(f"list again: {seconds:.3f} s; memory of the server {studio.memory_mib():.0f} MB")
    stop_studio(studio, "with 8 streams open")


def stop_studio(studio: Studio, label: str) -> None:
    """Interrupt the server while eight streams are open."""
    connections = [http.client.HTTPConnection(studio.address) for _ in range(8)]
    for connection in connections:
        connection.request("GET", "/api/events", headers=studio.headers)
        connection.getresponse()
    start = time.perf_counter()
    studio.process.send_signal(signal.SIGINT)
    code = studio.process.wait()
    print(f"Ctrl-C {label}: ended in {time.perf_counter() - start:.2f} s, code {code}")


def measure_new_records(root: Path, state: Path) -> None:
    """Measure the time from a record in the file to the response of the page."""
    studio = Studio(root, state)
    folder = new_run(CONFIG | {"spec": {"max_steps": 10**9}}, root / "live" / "1").folder
    studio.get("/api/runs?fresh=1")
    delays = []
    connection = http.client.HTTPConnection(studio.address)
    connection.request("GET", "/api/events", headers=studio.headers)
    stream = connection.getresponse()
    stream.readline()
    with open(folder / "metrics.jsonl", "a") as file:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)  # as a run does: the studio shows it as running
        time.sleep(2)
        for step in range(1, 11):
            file.write(json.dumps({"step": step, "seconds": step, "average": 1 / step}) + "\n")
            file.flush()
            start = time.perf_counter()
            while True:
                event = json.loads(stream.readline())
                if event["kind"] == "run" and event["run"]["step"] >= step:
                    break
            studio.get("/api/runs/live/1/metrics?after=1")
            delays.append(time.perf_counter() - start)
            time.sleep(0.17 * step)
    mean = sum(delays) / len(delays)
    print(f"a new record is on the page in {mean:.2f} s, at most {max(delays):.2f} s")
    connection.close()
    stop_studio(studio, "after that")


def measure_large_trees(root: Path, state: Path) -> None:
    """Measure the pages of the explorer on trees of millions of nodes."""
    studio = Studio(root, state)
    for spec in LARGE_GAMES:
        base = f"game={spec}&policy=uniform"
        start = time.perf_counter()
        _, view, num_requests = studio.get(f"/api/explore/view?{base}")
        facts = view["facts"]
        seconds = time.perf_counter() - start
        print(f"{spec}: {facts['nodes']:,} nodes, {facts['infosets']:,} infosets")
        print(f"  open: {seconds:.0f} s, {num_requests} requests while it was built")
        child = view["children"][0]["node"]
        for _ in range(4):
            view = studio.get(f"/api/explore/view?{base}&node={child}")[1]
            child = (view["children"] or [{"node": child}])[0]["node"]
        for page in ("view", "grid", "drawing", "leaks", "overview"):
            first, best = studio.time_requests(f"/api/explore/{page}?{base}&node={child}")
            print(f"  {page}: {1000 * best:.0f} ms, the first time {1000 * first:.0f} ms")
    stop_studio(studio, "with large trees open")


def main() -> None:
    """Print all times."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--points", type=int, default=100_000, help="records of a run")
    args = parser.parse_args()
    place = Path(tempfile.mkdtemp())
    try:
        write_runs(place / "runs", args.runs, args.points)
        measure_many_runs(place / "runs", place / "state", args.points)
        measure_new_records(place / "live", place / "state")
        measure_large_trees(place / "none", place / "state")
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
