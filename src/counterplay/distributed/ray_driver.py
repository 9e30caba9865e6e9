"""The process that calls Ray for `RayExecutor`; no other module imports Ray.

Ray kills its driver without an error when the head or the local node ends. So the driver is a
process of its own, and `ray_cluster` reports its end.
"""

from __future__ import annotations

import importlib
import logging
import os
import pickle
import socket
import threading
import time
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from counterplay.core.child_process import ParentConnection
from counterplay.distributed.ray_probe import check_protected
from counterplay.distributed.units import (
    POLL_SECONDS,
    SINGLE_THREAD_ENV,
    Notify,
    ReportResult,
    Stop,
    Unit,
    UnitFailure,
    run_unit,
    source_digest,
)
from counterplay.errors import ConfigError, CounterplayError, RunError

WAIT_NOTICE_SECONDS = 30.0  # without a result, until the user is told which units are running
CONNECT_TIMEOUT_SECONDS = 20.0  # to reach the cluster
HEAD_CHECK_SECONDS = 5.0  # between two checks that the head is reachable
USAGE_STATS_OFF = {"RAY_USAGE_STATS_ENABLED": "0"}  # by default Ray sends statistics to its makers
QUIET_RAY_ENV = USAGE_STATS_OFF | {"RAY_BACKEND_LOG_LEVEL": "fatal"}


class RayDriver:
    """Runs units on the cluster at `auto` or `host:port`."""

    def __init__(self, address: str, notify: Notify):
        self.address, self.notify = address, notify
        os.environ.update(QUIET_RAY_ENV)
        self.ray = _import_ray()
        logging.getLogger("ray").setLevel(logging.CRITICAL + 1)  # lost units are retried silently
        self._connect()
        self.remote_run_unit = self.ray.remote(max_retries=-1, num_cpus=1)(_run_unit)

    def _connect(self) -> None:
        """Join the cluster if it demands a token; raise ConfigError if that fails."""
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
        except Exception as error:  # Ray raises errors of many types
            text = " ".join(str(error).split()).partition(". ")[0][:300]
            hint = "is RAY_AUTH_TOKEN the token of the cluster, and Ray of the same version?"
            raise ConfigError(f"cannot join the cluster at {self.address}: {text}; {hint}") from (
                error
            )
        self.head_address = self.ray.get_runtime_context().gcs_address

    @property
    def size(self) -> int:
        """Number of cores that the cluster has at present."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 0)))

    def map(self, units: Sequence[Unit], report: ReportResult, stop: Stop) -> None:
        """Run units and report their results; after a failure no further unit starts."""
        waiting, running = list(range(len(units)))[::-1], dict[Any, int]()
        is_closed, last_result, last_check = False, time.monotonic(), time.monotonic()
        while running or (waiting and not is_closed):
            is_closed = is_closed or stop()
            # only one per core: Ray would start further ones before a unit that it retries
            while waiting and not is_closed and len(running) < self.size:
                number = waiting.pop()
                call = self.remote_run_unit.options(num_gpus=units[number].num_gpus)
                running[call.remote(units[number], source_digest())] = number
            references, _ = self.ray.wait(list(running), timeout=POLL_SECONDS)
            for reference in references:
                number, last_result = running.pop(reference), time.monotonic()
                result = self._fetch_result(reference, number)
                is_closed = is_closed or isinstance(result, UnitFailure)
                report(number, result)
            if time.monotonic() - last_check > HEAD_CHECK_SECONDS:
                self._check_head()
                last_check = time.monotonic()
            if time.monotonic() - last_result > WAIT_NOTICE_SECONDS:
                last_result = time.monotonic()
                self.notify(self._describe_waiting(sorted(running.values())))

    def _fetch_result(self, reference: Any, number: int) -> object:
        try:
            return self.ray.get(reference)
        except Exception as error:  # of Ray: errors of the unit are results
            text = " ".join(str(error).split())[:300]
            return UnitFailure(RunError.__name__, f"the cluster has lost unit {number}: {text}")

    def _check_head(self) -> None:
        """Raise RunError if the head is gone; Ray itself reports that only after minutes."""
        try:
            _check_reachable(self.head_address)
        except ConfigError as error:
            raise RunError(
                f"the head of the cluster at {self.head_address} is gone; start it again, then the "
                "same command, which continues from the last checkpoints"
            ) from error

    def _describe_waiting(self, numbers: list[int]) -> str:
        alive = [node for node in self.ray.nodes() if node["Alive"]]
        shown = ", ".join(map(str, numbers[:8])) + (", ..." if len(numbers) > 8 else "")
        free = self.ray.available_resources().get("CPU", 0)
        machines = f"{len(alive)} machines, {free:.0f} of {self.size} cores free"
        return f"waiting for units {shown} ({machines})"


def _run_unit(unit: Unit, expected_digest: str) -> object:
    return run_unit(unit, expected_digest)


def _find_local_cluster() -> str:
    """Return the address of the cluster that this machine belongs to."""
    services = importlib.import_module("ray._private.services")
    try:
        return str(services.canonicalize_bootstrap_address_or_die("auto"))
    except Exception as error:  # ConnectionError, or an error of Ray
        hint = "start Ray here, or give --on host:port"
        raise ConfigError(f"there is no cluster on this machine; {hint}") from error


def _check_reachable(address: str) -> None:
    """Raise ConfigError if no connection to `host:port` can be made."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT_SECONDS):
            return
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot reach a cluster at {address}: {why}") from error


def _import_ray() -> ModuleType:
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError as error:
        raise ConfigError(
            "a cluster needs the package ray: pip install 'counterplay[scale]' on all its machines"
        ) from error


def main() -> None:
    """Answer requests until the parent ends."""
    is_stopped = threading.Event()

    def handle_at_once(request: tuple[str, Any]) -> bool:
        if request[0] != "stop":
            return False
        is_stopped.set()
        return True

    connection = ParentConnection[tuple[str, Any]](pickle.load, pickle.dump, handle_at_once)
    driver: RayDriver | None = None
    while True:
        kind, content = connection.receive()
        try:
            if kind == "join":
                driver = RayDriver(content, lambda line: connection.send(("say", line)))
            assert driver
            if kind == "map":
                is_stopped.clear()
                driver.map(
                    content,
                    lambda number, result: connection.send(("result", number, result)),
                    is_stopped.is_set,
                )
            connection.send(("done", driver.size))
        except CounterplayError as error:
            connection.send(("failed", UnitFailure(type(error).__name__, str(error))))
        except Exception as error:  # of Ray, shortly before it kills this process
            text = " ".join(str(error).split())[:300]
            connection.send(("failed", UnitFailure("RunError", f"Ray has failed: {text}")))


if __name__ == "__main__":
    main()
