"""An executor on processes of this machine.

A process that is killed is started again with the same unit; what the unit has written into its
run's folder is not lost.
"""

from __future__ import annotations

import pickle
import queue
import subprocess
import threading
from collections.abc import Sequence
from typing import Any, Self

from counterplay.core.child_process import send_pickle, start_module, stop_process
from counterplay.distributed.units import (
    POLL_SECONDS,
    SINGLE_THREAD_ENV,
    Notify,
    ReportResult,
    ResultCollector,
    Stop,
    Unit,
    UnitFailure,
    source_digest,
)
from counterplay.errors import ConfigError, RunError
from counterplay.kernels.runtime.threads import num_threads

MAX_ATTEMPTS_PER_UNIT = 20  # after this many ended processes, the unit itself fails


class LocalExecutor:
    """Runs units on processes of this machine.

    Args:
        num_processes: number of processes; by default one per core.
        notify: called with a message when a process was replaced.
    """

    def __init__(self, num_processes: int | None = None, notify: Notify | None = None):
        if num_processes is not None and num_processes < 1:
            raise ConfigError(f"processes is {num_processes}, must be at least 1")
        self.size = num_processes or num_threads()
        self.notify = notify or (lambda line: None)
        self.workers = [_Worker() for _ in range(self.size)]

    def map(
        self,
        units: Sequence[Unit],
        report: ReportResult | None = None,
        stop: Stop | None = None,
    ) -> list[Any]:
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(len(units)):
            waiting.put(number)
        finished: queue.SimpleQueue[tuple[int, object] | None] = queue.SimpleQueue()
        is_closed = threading.Event()

        def run_worker(worker: _Worker) -> None:
            while not is_closed.is_set():
                try:
                    number = waiting.get_nowait()
                except queue.Empty:
                    break
                finished.put((number, self._run_with_retries(worker, number, units[number])))
            finished.put(None)

        active_workers = self.workers[: len(units)]
        for worker in active_workers:
            threading.Thread(target=run_worker, args=(worker,), daemon=True).start()
        collector = ResultCollector(len(units), report)
        num_active = len(active_workers)
        while num_active:
            if collector.has_failed or (stop and stop()):
                is_closed.set()
            try:
                message = finished.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if message is None:
                num_active -= 1
            else:
                collector.add(*message)
        return collector.unwrap()

    def _run_with_retries(self, worker: _Worker, number: int, unit: Unit) -> object:
        for _ in range(MAX_ATTEMPTS_PER_UNIT):
            try:
                return worker.run(unit)
            except (EOFError, OSError, pickle.UnpicklingError):
                how = worker.stop()
                self.notify(f"process {worker.pid} ended ({how}) in unit {number}; started again")
        problem = (
            f"unit {number} has ended its process {MAX_ATTEMPTS_PER_UNIT} times (out of memory?)"
        )
        return UnitFailure(RunError.__name__, problem)

    def worker_pids(self) -> list[int]:
        """Return the ids of the processes that have been started."""
        return [worker.process.pid for worker in self.workers if worker.process]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for worker in self.workers:
            worker.stop()


class _Worker:
    """One process, started by its first unit."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.pid = 0

    def run(self, unit: Unit) -> object:
        """Run a unit in the process, and return its result."""
        if self.process is None:
            self.process = start_module("counterplay.distributed.worker", SINGLE_THREAD_ENV)
            self.pid = self.process.pid
        send_pickle(self.process, (unit, source_digest()))
        assert self.process.stdout
        return pickle.load(self.process.stdout)

    def stop(self) -> str:
        """End the process, and return how it ended."""
        if self.process is None:
            return "not started"
        process, self.process = self.process, None
        return stop_process(process)
