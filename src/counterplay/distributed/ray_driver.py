"""The process that speaks with Ray: requests come on stdin, answers leave on what was stdout.

Ray ends its driver without a word when the head or the machine's own node is gone, so it has a
process of its own, started by `cluster`, which then says what has happened. Nothing else imports
Ray.
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from counterplay.distributed.ray_probe import check_protected
from counterplay.distributed.units import (
    SINGLE_THREAD_ENV,
    Notify,
    ReportResult,
    Unit,
    UnitFailure,
    run_unit,
    source_digest,
)
from counterplay.errors import ConfigError, CounterplayError, RunError

POLL_SECONDS = 0.2  # seconds between two questions whether to stop
WAIT_NOTICE_SECONDS = 30.0  # seconds without a result, after which it is said what is waited for
CONNECT_TIMEOUT_SECONDS = 20.0  # seconds to reach the cluster
HEAD_CHECK_SECONDS = 5.0  # seconds between two looks whether the head is still there
USAGE_STATS_OFF = {"RAY_USAGE_STATS_ENABLED": "0"}  # Ray sends statistics home by default
QUIET_RAY_ENV = USAGE_STATS_OFF | {"RAY_BACKEND_LOG_LEVEL": "fatal"}


class RayDriver:
    """Does units on the cluster at `auto` or `host:port`."""

    def __init__(self, address: str, notify: Notify):
        self.address, self.notify = address, notify
        os.environ.update(QUIET_RAY_ENV)
        self.ray = _import_ray()
        logging.getLogger("ray").setLevel(logging.CRITICAL + 1)  # deaths are retried, not reported
        self._connect()
        self.remote_run_unit = self.ray.remote(max_retries=-1, num_cpus=1)(_run_unit)

    def _connect(self) -> None:
        """Join the cluster if it asks for a token, or say in one line why not."""
        address = _find_local_cluster() if self.address == "auto" else self.address
        _check_reachable(address)
        check_protected(address)
        try:
            self.ray.init(
                address=address,
                log_to_driver=False,
                logging_level="critical",
                configure_logging=False,
                runtime_env={"env_vars": SINGLE_THREAD_ENV | USAGE_STATS_OFF},
            )
        except Exception as error:  # Ray's own, of many kinds
            text = " ".join(str(error).split()).partition(". ")[0][:300]
            hint = "is RAY_AUTH_TOKEN the token of the cluster, and Ray of the same version?"
            raise ConfigError(
                f"the cluster at {self.address} does not let us in: {text}; {hint}"
            ) from (error)
        self.head_address = self.ray.get_runtime_context().gcs_address

    @property
    def size(self) -> int:
        """The cores that are there now."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 0)))

    def map(self, units: Sequence[Unit], report: ReportResult, stop: Callable[[], bool]) -> None:
        """Do units and report their results, failures too, after which no more are begun."""
        waiting, under_way = list(range(len(units)))[::-1], dict[Any, int]()
        closed, heard, looked = False, time.monotonic(), time.monotonic()
        while under_way or (waiting and not closed):
            closed = closed or stop()
            # one for each core: whatever waited there would be begun before a unit that is retried
            while waiting and not closed and len(under_way) < self.size:
                number = waiting.pop()
                call = self.remote_run_unit.options(num_gpus=units[number].num_gpus)
                under_way[call.remote(units[number], source_digest())] = number
            done, _ = self.ray.wait(list(under_way), timeout=POLL_SECONDS)
            for one in done:
                number, heard = under_way.pop(one), time.monotonic()
                result = self._fetch_result(one, number)
                closed = closed or isinstance(result, UnitFailure)
                report(number, result)
            if time.monotonic() - looked > HEAD_CHECK_SECONDS:
                self._check_head()
                looked = time.monotonic()
            if time.monotonic() - heard > WAIT_NOTICE_SECONDS:
                heard = time.monotonic()
                self.notify(self._describe_waiting(sorted(under_way.values())))

    def _fetch_result(self, reference: Any, number: int) -> Any:
        try:
            return self.ray.get(reference)
        except Exception as error:  # Ray's own: the cluster has lost the unit, not our code
            text = " ".join(str(error).split())[:300]
            return UnitFailure(RunError.__name__, f"the cluster has lost unit {number}: {text}")

    def _check_head(self) -> None:
        """Without its head a cluster does nothing more, and says so only after minutes."""
        try:
            _check_reachable(self.head_address)
        except ConfigError as error:
            raise RunError(
                f"the head of the cluster at {self.head_address} is gone; start it again, then the "
                "same command: it goes on from the last checkpoints"
            ) from error

    def _describe_waiting(self, numbers: list[int]) -> str:
        alive = [node for node in self.ray.nodes() if node["Alive"]]
        shown = ", ".join(map(str, numbers[:8])) + (", ..." if len(numbers) > 8 else "")
        free = self.ray.available_resources().get("CPU", 0)
        machines = f"{len(alive)} machines, {free:.0f} of {self.size} cores free"
        return f"waiting for units {shown} ({machines})"


def _run_unit(unit: Unit, expected_digest: str) -> Any:
    return run_unit(unit, expected_digest)


def _find_local_cluster() -> str:
    """The address of the cluster that this machine belongs to."""
    services = importlib.import_module("ray._private.services")
    try:
        return str(services.canonicalize_bootstrap_address_or_die("auto"))
    except Exception as error:  # ConnectionError, or Ray's own
        hint = "start Ray here, or give --on host:port"
        raise ConfigError(f"there is no cluster on this machine; {hint}") from error


def _check_reachable(address: str) -> None:
    import socket

    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT_SECONDS):
            return
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot reach a cluster at {address}: {why}") from error


def _import_ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError as error:
        raise ConfigError(
            "a cluster needs the package ray: pip install 'counterplay[scale]' on all its machines"
        ) from error


def main() -> None:
    """Answer requests until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started us
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def send_message(kind: str, *content: Any) -> None:
        pickle.dump((kind, *content), out)
        out.flush()

    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stopped = threading.Event()
    threading.Thread(target=_read_requests, args=(requests, stopped), daemon=True).start()
    driver: RayDriver | None = None
    while True:
        kind, content = requests.get()
        try:
            if kind == "join":
                driver = RayDriver(content, lambda line: send_message("say", line))
            assert driver
            if kind == "map":
                stopped.clear()
                report = partial(send_message, "result")
                driver.map(content, report, stopped.is_set)
            send_message("done", driver.size)
        except CounterplayError as error:
            send_message("failed", UnitFailure(type(error).__name__, str(error)))
        except Exception as error:  # Ray's own, when it is about to end us
            text = " ".join(str(error).split())[:300]
            send_message("failed", UnitFailure("RunError", f"Ray has failed: {text}"))


def _read_requests(requests: queue.SimpleQueue[Any], stopped: threading.Event) -> None:
    try:
        while True:
            kind, content = pickle.load(sys.stdin.buffer)
            if kind == "stop":
                stopped.set()
            else:
                requests.put((kind, content))
    except (EOFError, OSError, pickle.UnpicklingError):
        os._exit(0)  # whoever asked is gone; Ray ends what we have begun


if __name__ == "__main__":
    main()
