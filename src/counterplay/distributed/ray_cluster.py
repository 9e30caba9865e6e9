"""Units on a Ray cluster. Nothing lasting lives there: whatever dies, the same command goes on.

Whoever reaches a port of Ray can run code on its machines, so a cluster must ask for a token
(`RAY_AUTH_MODE=token`, everywhere the same `RAY_AUTH_TOKEN`), or it is not used. The cluster itself
is tested for that, by a call without a token (`ray_probe`), before it is joined.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import threading
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from counterplay.distributed.local import start_module_process
from counterplay.distributed.units import Notify, ReportResult, Unit, UnitFailure, unwrap_results
from counterplay.errors import ConfigError, RunError

NO_USAGE_STATS = {"RAY_USAGE_STATS_ENABLED": "0"}  # before Ray starts
POLL_SECONDS = 0.2  # seconds between two questions whether to stop
RESTART_ADVICE = "nothing is lost: start it again, then the same command"


class RayExecutor:
    """An executor on the cluster at `auto` or `host:port`."""

    def __init__(self, address: str, notify: Notify | None = None):
        self.address, self.notify = address, notify or (lambda line: None)
        _check_token()
        if _is_missing("ray"):
            advice = "pip install 'counterplay[scale]' on all its machines"
            raise ConfigError(f"a cluster needs the package ray: {advice}")
        quiet = subprocess.DEVNULL  # Ray's remarks; what matters comes as an answer
        self.process = start_module_process(
            "counterplay.distributed.ray_driver", NO_USAGE_STATS, stderr=quiet
        )
        self.messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._read_messages, daemon=True).start()
        try:
            self._request("join", address)
        except BaseException:
            self.close()
            raise

    @property
    def size(self) -> int:
        """The cores that are there now."""
        return int(self._request("size"))

    def map(
        self,
        units: Sequence[Unit],
        report: ReportResult | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> list[Any]:
        results: list[Any] = [None] * len(units)

        def store_result(number: int, result: Any) -> None:
            results[number] = result
            if report and not isinstance(result, UnitFailure):
                report(number, result)

        self._request("map", list(units), store_result, stop)
        return unwrap_results(results)

    def close(self) -> None:
        """Leave the cluster; units under way are ended there."""
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            try:
                stream.close()
            except OSError:
                continue
        try:
            self.process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> RayExecutor:
        return self

    def __exit__(self, *problem: Any) -> None:
        self.close()

    def _request(
        self,
        kind: str,
        content: Any = None,
        report: ReportResult | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Any:
        """What the process that speaks with Ray answers."""
        self._send(kind, content)
        told = False
        while True:
            if stop and not told and stop():
                self._send("stop")
                told = True
            elif stop and told:
                stop()  # it asks runs to stop, again and again
            try:
                what, *answer = self.messages.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if what == "done":
                return answer[0]
            if what == "say":
                self.notify(answer[0])
            elif what == "result" and report:
                report(*answer)
            elif what == "failed":
                raise answer[0].to_error()
            elif what == "ended":
                text = "is gone, or Ray on this machine"
                raise RunError(
                    f"the head of the cluster at {self.address} {text}; {RESTART_ADVICE}"
                )

    def _send(self, kind: str, content: Any = None) -> None:
        assert self.process.stdin
        try:
            pickle.dump((kind, content), self.process.stdin)
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended, which its last answer says

    def _read_messages(self) -> None:
        assert self.process.stdout
        try:
            while True:
                self.messages.put(pickle.load(self.process.stdout))
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            self.messages.put(("ended",))


def _check_token() -> None:
    if os.environ.get("RAY_AUTH_MODE") != "token":
        raise ConfigError(
            "a cluster without a token lets anybody on its network run code: set "
            "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here and on every machine of it"
        )
    if not (os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH")):
        raise ConfigError("RAY_AUTH_MODE is token, but RAY_AUTH_TOKEN is not set")


def _is_missing(package: str) -> bool:
    try:
        return find_spec(package) is None
    except ValueError:  # somebody has set it to None
        return True
