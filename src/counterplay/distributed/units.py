"""Numbered units of work, and what an executor is.

A unit is a call of one of our own functions, named by module and function, with plain arguments: a
pure function of them and of a run's folder. So it may be done anywhere, and again. Results are
handed over in the order of the units, however many are done at once, and whoever combines them
cannot tell a laptop from a cluster: the size of either never changes a bit.
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
from typing import Any, Protocol

from counterplay import __version__
from counterplay.errors import ConfigError, CounterplayError, GameError, RunError

SINGLE_THREAD_ENV = {  # of a process that does units: a core each, whatever the machine has
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
ERROR_BY_NAME: dict[str, type[CounterplayError]] = {
    kind.__name__: kind for kind in (ConfigError, GameError, RunError, CounterplayError)
}


@dataclass(frozen=True)
class Unit:
    """One call: `module:function`, and what it is given."""

    function: str
    arguments: tuple[Any, ...]
    num_gpus: int = 0  # that it needs


ReportResult = Callable[
    [int, Any], None
]  # called with a unit's number and its result, as they come
Notify = Callable[
    [str], None
]  # called with a line for people: what is waited for, who was replaced


class Executor(Protocol):
    """Does units. `with` it, so that its processes end."""

    @property
    def size(self) -> int:
        """How many units are done at once."""
        ...

    def map(
        self,
        units: Sequence[Unit],
        report: ReportResult | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> list[Any]:
        """The results of all units, in their order.

        An error of a unit is raised here, the first in the order of the units, after those under
        way have ended. When `stop` says so no unit is begun any more; those without a result have
        None.
        """
        ...

    def __enter__(self) -> Any: ...

    def __exit__(self, *problem: Any) -> None: ...


@dataclass(frozen=True)
class UnitFailure:
    """An error as it travels between processes."""

    error_name: str
    message: str
    traceback_text: str = ""

    def to_error(self) -> CounterplayError:
        """The error to raise here; one of another kind is a defect, and shows where it was."""
        if self.error_name in ERROR_BY_NAME:
            return ERROR_BY_NAME[self.error_name](self.message)
        return RunError(f"{self.error_name}: {self.message} {self.traceback_text}")


def run_unit(unit: Unit, expected_digest: str) -> Any:
    """Do a unit here; the result, or a `Failure`. `source` is the digest of who asks."""
    from counterplay.kernels.runtime.threads import set_num_threads

    try:
        if expected_digest != source_digest():
            here = f"counterplay {__version__} on {platform.node()}"
            raise ConfigError(f"{here} has other sources than where the work comes from")
        set_num_threads(1)
        module, _, name = unit.function.partition(":")
        return getattr(importlib.import_module(module), name)(*unit.arguments)
    except CounterplayError as error:
        kind = next(name for name, one in ERROR_BY_NAME.items() if isinstance(error, one))
        return UnitFailure(kind, str(error))
    except MemoryError:
        return UnitFailure("RunError", f"out of memory on {platform.node()}")
    except Exception as error:
        return UnitFailure(type(error).__name__, str(error), traceback.format_exc(limit=-3))


@cache
def source_digest() -> str:
    """What tells this Counterplay from others: the version, and all of its source."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256(__version__.encode())
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)} ".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def unwrap_results(results: Sequence[Any]) -> list[Any]:
    """The results, unless there is a failure among them: the first of those is raised."""
    for result in results:
        if isinstance(result, UnitFailure):
            raise result.to_error()
    return list(results)
