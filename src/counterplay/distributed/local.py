"""Units on processes of this machine; nothing else is needed.

A process that is killed is started again, with the unit it had: what a unit has put into its run's
folder is not lost.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from counterplay.distributed.units import (
    SINGLE_THREAD_ENV,
    Notify,
    ReportResult,
    Unit,
    UnitFailure,
    source_digest,
    unwrap_results,
)
from counterplay.errors import ConfigError, RunError
from counterplay.kernels.runtime.threads import num_threads

MAX_ATTEMPTS_PER_UNIT = (
    20  # of one unit, before whatever ends its process is called the unit's fault
)
POLL_SECONDS = 0.2  # seconds between two questions whether to stop


class LocalExecutor:
    """An executor of so many processes."""

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
        stop: Callable[[], bool] | None = None,
    ) -> list[Any]:
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(len(units)):
            waiting.put(number)
        done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        closed = threading.Event()

        def run_worker(worker: _Worker) -> None:
            while not closed.is_set():
                try:
                    number = waiting.get_nowait()
                except queue.Empty:
                    break
                done.put((number, self._run_with_retries(worker, number, units[number])))
            done.put((-1, None))

        serving = self.workers[: len(units)]
        for worker in serving:
            threading.Thread(target=run_worker, args=(worker,), daemon=True).start()
        results: list[Any] = [None] * len(units)
        left = len(serving)
        while left:
            if stop and stop():
                closed.set()
            try:
                number, result = done.get(timeout=POLL_SECONDS)
            except queue.Empty:
                continue
            if number < 0:
                left -= 1
                continue
            results[number] = result
            if isinstance(result, UnitFailure):
                closed.set()
            elif report:
                report(number, result)
        return unwrap_results(results)

    def _run_with_retries(self, worker: _Worker, number: int, unit: Unit) -> Any:
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
        """The processes that are there by now."""
        return [worker.process.pid for worker in self.workers if worker.process]

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(self, *problem: Any) -> None:
        for worker in self.workers:
            worker.stop()


class _Worker:
    """One process, started when it is first asked."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.pid = 0

    def run(self, unit: Unit) -> Any:
        if self.process is None:
            self.process = start_module_process("counterplay.distributed.worker", SINGLE_THREAD_ENV)
            self.pid = self.process.pid
        ours, theirs = self.process.stdin, self.process.stdout
        assert ours and theirs
        pickle.dump((unit, source_digest()), ours)
        ours.flush()
        return pickle.load(theirs)

    def stop(self) -> str:
        """End the process; how it ended."""
        if self.process is None:
            return "not begun"
        process, self.process = self.process, None
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # it may be gone with something still unsent
                if stream:
                    stream.close()
        try:
            code = process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        return f"signal {-code}" if code < 0 else f"exit code {code}"


def start_module_process(
    module: str, environment: dict[str, str], stderr: int | None = None
) -> subprocess.Popen[bytes]:
    """A process that runs a module of ours, which we speak with by stdin and stdout."""
    env = os.environ | environment | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command, pipe = [sys.executable, "-m", module], subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr, env=env)
