"""Two Ray nodes on this machine with separate processes, on a network that is only `lo`.

    NEW="unshare --net --pid --fork --kill-child --mount-proc"
    $NEW python -m tests.distributed.cluster_scenario FOLDER quick|whole

does what the tests of the cluster ask for, in one go, and writes FOLDER/found.json: a study on one
node and on two; if `whole`, also walks, kills, a wrong token and a cluster that asks for none.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

PORT = 6379
ADDRESS = f"127.0.0.1:{PORT}"
ENVIRONMENT = {
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": "0123456789abcdef" * 2,
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "20000",
    "RAY_health_check_failure_threshold": "5",
    "RAY_gcs_rpc_server_connect_timeout_s": "10",
    "RAY_worker_register_timeout_seconds": "600",  # on a busy machine 60 is too short, for ever
    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
}
APART = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
NODE_OPTIONS = [
    "--num-cpus=1",
    "--object-store-memory=80000000",
    "--disable-usage-stats",
    "--block",
]


class Nodes:
    """The nodes that are up; killing one kills all of its processes at once."""

    def __init__(self, folder: Path):
        self.folder, self.nodes = folder, dict[str, subprocess.Popen[bytes]]()
        self.own = dict[str, list[str]]()  # what each was started with
        self.ray = shutil.which("ray", path=Path(sys.executable).parent) or "ray"

    def start_head(self) -> None:
        own = [
            "--head",
            f"--port={PORT}",
            "--include-dashboard=false",
            f"--temp-dir={self.folder}/r",
        ]
        self._start("head", [*own, "--node-ip-address=127.0.0.1"])
        wait_for("the head", lambda: self.keep() or self._listens())

    def start_node(self, name: str) -> None:
        self._start(name, [f"--address={ADDRESS}"])

    def keep(self) -> None:
        """Start those again that have given up by themselves: Ray does where all is very slow."""
        for name in [name for name, node in self.nodes.items() if node.poll() is not None]:
            self._start(name, self.own[name])

    def _start(self, name: str, own: list[str]) -> None:
        self.own[name] = own
        log = (self.folder / f"{name}.log").open("ab")
        command = [*APART, self.ray, "start", *own, *NODE_OPTIONS]
        self.nodes[name] = subprocess.Popen(
            command, stdout=log, stderr=log, env=os.environ | ENVIRONMENT
        )

    def kill(self, name: str) -> None:
        """kill -9, all processes of the node."""
        node = self.nodes.pop(name)
        node.send_signal(signal.SIGKILL)
        node.wait()

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", PORT), 1.0).close()
        except OSError:
            return False
        return True


def wait_for(what, condition, patience=900.0):
    """Return once the condition holds."""
    until = time.monotonic() + patience
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(f"waited {patience:.0f} s for {what}")
        time.sleep(0.1)


def workers_of(node):
    """Return the processes of a node that run units now: Ray names them after the call."""
    found, above = [], {node.pid}
    parents = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            parents[int(place.name)] = int(fields[1])
        except OSError:
            continue
    while below := {pid for pid, parent in parents.items() if parent in above} - above:
        above |= below
    for pid in above:
        try:
            if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::_run_unit"):
                found.append(pid)
        except OSError:
            continue
    return found


def main(folder: Path, whole: bool) -> None:
    from counterplay.distributed.ray_cluster import RayExecutor

    os.environ.update(ENVIRONMENT | {"RAY_worker_niceness": "0"})  # no less than those that waits
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    found: dict[str, object] = {}
    began, timeline = time.monotonic(), dict[str, float]()

    def record_time(what):
        timeline[what] = round(time.monotonic() - began, 1)

    nodes = Nodes(folder)
    nodes.start_head()
    record_time("head")
    with RayExecutor(ADDRESS) as executor:
        studies(folder, nodes, executor, found, record_time)
        if whole:
            found["walks"], found["deep walks"] = walks(executor), deep(executor)
            record_time("walks")
            found["killed"] = kills(folder, nodes, executor)
            record_time("kills")
    if whole:
        found["refused"] = run_with_wrong_token(folder)
        record_time("refused")
    found["processor"] = processor()
    for name in list(nodes.nodes):
        nodes.kill(name)
    if whole:
        found["open"] = open_cluster(folder)
        record_time("open")
    found["timeline"] = timeline
    (folder / "found.json").write_text(json.dumps(found))


def studies(folder, nodes, executor, found, record_time):
    """A study on one node, then on two."""
    import counterplay as cp
    from tests.distributed.test_sweeps import TINY

    wait_for("one node", lambda: executor.size == 1)
    cp.sweep(TINY, executor, runs_folder=folder / "one")
    record_time("one node")
    nodes.start_node("second")
    wait_for("two nodes", lambda: nodes.keep() or executor.size == 2)
    found["cores"] = executor.size
    record_time("second node")
    cp.sweep(TINY, executor, runs_folder=folder / "two")
    record_time("two nodes")


def walks(executor):
    """Return True for each table of a Monte Carlo run that is the same locally and remotely."""
    import counterplay as cp
    from counterplay.distributed.mccfr import DistributedMCCFR

    tree = cp.build_tree("kuhn_poker")
    algorithm = cp.algorithms.ExternalSampling(num_workers=6)
    away = DistributedMCCFR(algorithm, executor)
    memory = away.step(tree, away.init(tree), 300_000)
    here = algorithm.step(tree, algorithm.init(tree), 300_000)
    names = ("regret", "policy", "policy_sum", "nodes_touched")
    return [np.array_equal(getattr(memory, n), getattr(here, n)) for n in names]


def deep(executor):
    """Return True if walks under frozen networks are the same locally and on the cluster."""
    from counterplay.core.parallel import use_executor
    from counterplay.distributed.remote_calls import make_call_mapper
    from tests.distributed.toy_units import deep_walks

    with use_executor(make_call_mapper(executor)):
        there = deep_walks("leduc_poker", 300)
    return all(map(np.array_equal, there, deep_walks("leduc_poker", 300)))


def kills(folder, nodes, executor):
    """Processes killed during a study: a worker, then a whole node."""
    import counterplay as cp
    from tests.distributed.test_sweeps import TINY

    killed = []

    def kill(progress):
        runs = len(list((folder / "killed").rglob("metrics.jsonl")))
        if runs >= 1 and not killed and (pids := workers_of(nodes.nodes["head"])):
            os.kill(pids[0], signal.SIGKILL)
            killed.append("worker")
        if runs >= 3 and killed == ["worker"]:
            nodes.kill("second")
            killed.append("node")

    def watch():
        kill(None)
        return False

    cp.sweep(TINY, executor, runs_folder=folder / "killed", report=kill, stop=watch)
    return killed


def processor():
    """Seconds of the processor that all processes in here have used so far, the dead left out."""
    ticks = 0
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        except OSError:
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def open_cluster(folder):
    """Exit code and stderr of a driver with a token, at a cluster without one."""
    ENVIRONMENT.update({"RAY_AUTH_MODE": "disabled"})
    nodes = Nodes(folder)
    nodes.start_head()
    try:
        return run_with_wrong_token(folder)
    finally:
        nodes.kill("head")


def run_with_wrong_token(folder):
    """Exit code and stderr of a driver with a wrong token."""
    from tests.distributed.test_sweeps import TINY

    study = folder / "grid.json"
    study.write_text(json.dumps(TINY))
    command = [sys.executable, "-m", "counterplay", "sweep", str(study), "--on", ADDRESS]
    wrong = os.environ | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "f" * 32}
    done = subprocess.run(command, capture_output=True, text=True, env=wrong, timeout=300)
    return done.returncode, done.stderr


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] == "whole")
