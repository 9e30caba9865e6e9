"""An executor on a Ray cluster.

The cluster stores nothing: after any failure, the same command continues from the checkpoints.

Any computer that reaches a port of Ray can run code on its machines. So a cluster is only used if
it demands a token (`RAY_AUTH_MODE=token` and the same `RAY_AUTH_TOKEN` on every machine). This is
tested by a call without a token (`ray_probe`) before the cluster is joined.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Self

from counterplay.core.child_process import (
    PICKLE_ERRORS,
    send_pickle,
    start_module,
    stop_process,
)
from counterplay.distributed.units import (
    POLL_SECONDS,
    Notify,
    ReportResult,
    ResultCollector,
    Stop,
    Unit,
)
from counterplay.errors import ConfigError, RunError

NO_USAGE_STATS = {"RAY_USAGE_STATS_ENABLED": "0"}  # read when Ray starts


class RayExecutor:
    """Runs units on the Ray cluster at `auto` or `host:port`.

    Args:
        address: `auto` for the cluster of this machine, or the address of its head.
        notify: called with messages about units that take long.
    """

    def __init__(self, address: str, notify: Notify | None = None):
        self.address, self.notify = address, notify or (lambda line: None)
        _check_token()
        if _is_missing("ray"):
            advice = "pip install 'counterplay[scale]' on all its machines"
            raise ConfigError(f"a cluster needs the package ray: {advice}")
        self.process = start_module(
            "counterplay.distributed.ray_driver",
            NO_USAGE_STATS,
            stderr=subprocess.DEVNULL,  # Ray's log; the driver sends errors as messages
        )
        self.messages: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        threading.Thread(target=self._read_messages, daemon=True).start()
        try:
            self._request("join", address)
        except BaseException:
            self.close()
            raise

    @property
    def size(self) -> int:
        """Number of cores that the cluster has at present."""
        return self._request("size")

    def map(
        self,
        units: Sequence[Unit],
        report: ReportResult | None = None,
        stop: Stop | None = None,
    ) -> list[Any]:
        collector = ResultCollector(len(units), report)
        self._request("map", list(units), collector.add, stop)
        return collector.unwrap()

    def close(self) -> None:
        """Leave the cluster; units that are running there are ended."""
        stop_process(self.process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _request(
        self,
        kind: str,
        content: object = None,
        report: ReportResult | None = None,
        stop: Stop | None = None,
    ) -> int:
        """Send a request to the driver, handle its messages, and return the cluster's size."""
        self._send(kind, content)
        is_stop_sent = False
        while True:
            # `stop` is called again after it returned True: it repeats its requests to the runs
            if stop and stop() and not is_stop_sent:
                self._send("stop")
                is_stop_sent = True
            try:
                name, *values = self.messages.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if name == "done":
                return int(values[0])
            if name == "say":
                self.notify(values[0])
            elif name == "result" and report:
                report(*values)
            elif name == "failed":
                raise values[0].to_error()
            elif name == "ended":
                raise RunError(
                    f"the head of the cluster at {self.address}, or Ray on this machine, has "
                    "ended; nothing is lost: start it again, then the same command"
                )

    def _send(self, kind: str, content: object = None) -> None:
        with contextlib.suppress(OSError):  # the driver has ended: `messages` says so
            send_pickle(self.process, (kind, content))

    def _read_messages(self) -> None:
        assert self.process.stdout
        try:
            while True:
                self.messages.put(pickle.load(self.process.stdout))
        except PICKLE_ERRORS:
            self.messages.put(("ended",))


def _check_token() -> None:
    if os.environ.get("RAY_AUTH_MODE") != "token":
        raise ConfigError(
            "a cluster without a token lets any computer on its network run code: set "
            "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here and on every machine of it"
        )
    if not (os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH")):
        raise ConfigError("RAY_AUTH_MODE is token, but RAY_AUTH_TOKEN is not set")


def _is_missing(package: str) -> bool:
    try:
        return find_spec(package) is None
    except ValueError:  # sys.modules has None in its place
        return True
