"""Units of distributed work, and the protocol of executors.

A unit is a call of a function of this package, named by module and function, with plain arguments.
It is a pure function of them and of a run's folder, so it can run on any machine, and again after a
failure. Results come in the order of the units, so the number of processes or machines never
changes a bit.
"""

from __future__ import annotations

import hashlib
import importlib
import platform
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from counterplay import __version__
from counterplay.errors import ConfigError, CounterplayError, GameError, RunError

POLL_SECONDS = 0.2  # between two calls of `stop`, and between two attempts to lock a folder
SINGLE_THREAD_ENV = {  # environment of a process that runs units: one core each
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
ERROR_BY_NAME: dict[str, type[CounterplayError]] = {
    kind.__name__: kind for kind in (ConfigError, GameError, RunError, CounterplayError)
}

ReportResult = Callable[[int, Any], None]  # called with the number and the result of each unit
Notify = Callable[[str], None]  # called with a message for the user, such as a replaced process
Stop = Callable[[], bool]  # called several times a second; True ends the work


@dataclass(frozen=True)
class Unit:
    """A function as `module:function`, and its arguments."""

    function: str
    arguments: tuple[Any, ...]
    num_gpus: int = 0  # that it needs


class Executor(Protocol):
    """Runs units on processes or machines; a context manager that ends them."""

    @property
    def size(self) -> int:
        """Number of units that run at the same time."""
        ...

    def map(
        self,
        units: Sequence[Unit],
        report: ReportResult | None = None,
        stop: Stop | None = None,
    ) -> list[Any]:
        """Run units, and return their results in the order of the units.

        Args:
            report: called with every result when it arrives.
            stop: called several times a second; once it returns True no further unit starts, and
                the result of a unit that has not started is None.

        Raises:
            CounterplayError: a unit has failed; the first failure in the order of the units is
                raised after the running units have ended.
        """
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


@dataclass(frozen=True)
class UnitFailure:
    """An error of a unit, as sent between processes."""

    error_name: str
    message: str
    traceback_text: str = ""

    def to_error(self) -> CounterplayError:
        """Return the error to raise; an unexpected one becomes a RunError with its traceback."""
        if self.error_name in ERROR_BY_NAME:
            return ERROR_BY_NAME[self.error_name](self.message)
        return RunError(f"{self.error_name}: {self.message} {self.traceback_text}")


class ResultCollector:
    """Collects the results of units, and reports those that are not failures."""

    def __init__(self, num_units: int, report: ReportResult | None):
        self.results: list[Any] = [None] * num_units
        self.report = report
        self.has_failed = False

    def add(self, number: int, result: object) -> None:
        """Store the result of a unit."""
        self.results[number] = result
        if isinstance(result, UnitFailure):
            self.has_failed = True
        elif self.report:
            self.report(number, result)

    def unwrap(self) -> list[Any]:
        """Return the results in the order of the units.

        Raises:
            CounterplayError: the first failure.
        """
        for result in self.results:
            if isinstance(result, UnitFailure):
                raise result.to_error()
        return self.results


def run_unit(unit: Unit, expected_digest: str) -> Any:
    """Run a unit in this process, and return its result or a `UnitFailure`.

    Args:
        expected_digest: `source_digest` of the process that sent the unit; another one here is a
            failure.
    """
    from counterplay.kernels.runtime.threads import set_num_threads

    try:
        if expected_digest != source_digest():
            raise ConfigError(
                f"counterplay {__version__} on {platform.node()} differs from the one that sends "
                "the work; install the same version on all machines"
            )
        set_num_threads(1)
        module, _, name = unit.function.partition(":")
        return getattr(importlib.import_module(module), name)(*unit.arguments)
    except CounterplayError as error:
        kind = next(name for name, kind in ERROR_BY_NAME.items() if isinstance(error, kind))
        return UnitFailure(kind, str(error))
    except MemoryError:
        return UnitFailure("RunError", f"out of memory on {platform.node()}")
    except Exception as error:
        return UnitFailure(type(error).__name__, str(error), traceback.format_exc(limit=-3))


@cache
def source_digest() -> str:
    """Return a hash of the version and of all source files of this package."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256(__version__.encode())
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)} ".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
