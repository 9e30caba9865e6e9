"""Calls that know nothing of each other, such as everybody's response, done here or elsewhere.

Who makes them does not care where. `scale` offers processes and machines; the results come in the
order of the calls, so that they are the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

CallExecutor = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]]
_current_executor: ContextVar[CallExecutor | None] = ContextVar("executor", default=None)


def map_calls(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The result of each call, in their order; the function changes nothing but what it returns."""
    carrier = _current_executor.get()
    if carrier is None or len(arguments) < 2:
        return [function(*one) for one in arguments]
    return carrier(function, arguments)


def imap_calls(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """The same one after the other: done here, a call begins when its result is asked for."""
    if _current_executor.get() is None:
        return (function(*one) for one in arguments)
    return iter(map_calls(function, arguments))


@contextmanager
def use_executor(executor: CallExecutor) -> Iterator[None]:
    """Inside, calls are done by the carrier."""
    before = _current_executor.set(executor)
    try:
        yield
    finally:
        _current_executor.reset(before)
