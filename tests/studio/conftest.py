"""A studio in a process of its own, and ways to ask it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from counterplay.experiment import run
from tests.experiment.conftest import config

TIMEOUT_SECONDS = 120.0  # seconds; machines may be busy


class Studio:
    """`counterplay studio` on a folder of runs."""

    def __init__(self, root, state, *options, within=()):
        command = [sys.executable, "-m", "counterplay", "studio", str(root), "--no-browser"]
        options = options if "--port" in options else ("--port", "0", *options)
        self.root, self.state = root, state
        self.process = subprocess.Popen(
            [*within, *command, *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"XDG_STATE_HOME": str(state)},
        )
        line = self.process.stdout.readline()
        found = re.search(r"http://(\S+)/#token=(\w+)", line)
        assert found, (line, self.process.stderr.read())
        self.address, self.token = found.groups()
        self.url = f"http://{self.address}"

    def raw(self, method, path, headers=None, body=None, host=None):
        """Status, headers and body; nothing is added to the headers."""
        connection = http.client.HTTPConnection(self.address, timeout=TIMEOUT_SECONDS)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", self.address if host is None else host)
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def children(self):
        """The processes of its desks and runs."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(number) for number in listed.read_text().split()]

    def only_child(self):
        """The process of the one open game, after the one that compiles kernels has ended."""
        (child,) = wait_until(lambda: found if len(found := self.children()) == 1 else None)
        return child

    @property
    def headers(self):
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    def ask(self, method, path, body=None, **headers):
        """Status and JSON; asks again while the answer is being made."""
        text = None if body is None else json.dumps(body).encode()
        wait_until = time.monotonic() + TIMEOUT_SECONDS
        while True:
            status, _, found = self.raw(method, path, self.headers | headers, text)
            if status != 202:
                return status, json.loads(found)
            assert time.monotonic() < wait_until
            method, text = ("GET", None) if path.endswith(("/act", "/next")) else (method, text)
            path = re.sub("/(act|next)$", "", path)
            time.sleep(0.1)

    def get(self, path):
        status, found = self.ask("GET", path)
        assert status == 200, found
        return found

    def post(self, path, body=None):
        status, found = self.ask("POST", path, body or {})
        assert status == 200, found
        return found

    def runs(self):
        return {run["id"]: run for run in self.get("/api/runs?fresh=1")["runs"]}

    def end(self, number=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(TIMEOUT_SECONDS)
        self.process.kill()
        out, error = self.process.communicate(timeout=TIMEOUT_SECONDS)
        return self.process.returncode, out, error


def free_port():
    """A port without listener, below the range that systems assign."""
    for _ in range(100):
        port = random.randrange(10_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as one:
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def wait_until(condition, patience=TIMEOUT_SECONDS):
    """Wait for something to be true, and return it."""
    end = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.1)
    return found


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory):
    """Finished runs of Kuhn poker, three seeds of a sampled one, and a run that was damaged."""
    root = tmp_path_factory.mktemp("runs")
    run(config(max_steps=2000) | {"name": "kuhn"}, root / "kuhn" / "20260101T000000Z")
    for seed in range(3):
        whole = config("external_sampling", max_steps=300, seed=seed) | {"name": "sampled"}
        run(whole, root / "sampled" / f"20260101T00000{seed}Z")
    run(config("psro", max_steps=6) | {"name": "pool"}, root / "pool" / "20260101T000000Z")
    run(config(max_steps=20) | {"name": "hurt"}, root / "hurt" / "20260101T000000Z")
    (root / "hurt" / "20260101T000000Z" / "config.json").write_text("{")
    return root


@pytest.fixture(scope="session")
def studio(runs_folder, tmp_path_factory):
    """A studio that tests share and leave as it was."""
    made = Studio(runs_folder, tmp_path_factory.mktemp("state"))
    yield made
    made.end()


@pytest.fixture
def fresh(tmp_path):
    """Makes studios that are ended after the test."""
    made = []

    def make(*options, root=None, **more):
        made.append(Studio(root or tmp_path / "runs", tmp_path / "state", *options, **more))
        return made[-1]

    yield make
    for one in made:
        one.end(signal.SIGKILL)
