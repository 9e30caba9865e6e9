"""Independent function calls, run locally or on an executor.

Callers need not know which: `distributed` provides executors on processes and machines. Results
come in the order of the calls, so that they are bit-identical.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

Report = Callable[[int, Any], None]  # called with the number and the result of a call
Stop = Callable[[], bool]  # True ends the work


class CallExecutor(Protocol):
    """Runs calls elsewhere, as `map_calls` describes."""

    def __call__(
        self,
        function: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        report: Report | None = None,
        stop: Stop | None = None,
    ) -> list[Any]: ...


_current_executor: ContextVar[CallExecutor | None] = ContextVar("executor", default=None)


def map_calls(
    function: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    report: Report | None = None,
    stop: Stop | None = None,
) -> list[Any]:
    """Return the result of each call, in order; the function must have no side effects.

    Args:
        function: a function that can be pickled by name.
        arguments: the positional arguments of each call.
        report: called with every result when it arrives, in any order.
        stop: once it returns True no further call starts; a call that has not started has the
            result None.
    """
    executor = _current_executor.get()
    if executor is not None and len(arguments) > 1:
        return executor(function, arguments, report, stop)
    results: list[Any] = [None] * len(arguments)
    for number, call in enumerate(arguments):
        if stop and stop():
            break
        results[number] = function(*call)
        if report:
            report(number, results[number])
    return results


def imap_calls(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """Iterate over the results of `map_calls`; locally, each call runs when its result is read."""
    if _current_executor.get() is None:
        return (function(*call) for call in arguments)
    return iter(map_calls(function, arguments))


@contextmanager
def use_executor(executor: CallExecutor) -> Iterator[None]:
    """Run the calls made inside the `with` block on an executor."""
    token = _current_executor.set(executor)
    try:
        yield
    finally:
        _current_executor.reset(token)
