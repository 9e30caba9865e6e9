"""Calls that know nothing of each other, such as everybody's response, done here or elsewhere.

Who makes them does not care where. `scale` offers processes and machines; the results come in the
order of the calls, so that they are the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Carrier = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]]
_carrier: ContextVar[Carrier | None] = ContextVar("carrier", default=None)


def results(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """The result of each call, in their order; the function changes nothing but what it returns."""
    carrier = _carrier.get()
    if carrier is None or len(arguments) < 2:
        return [function(*one) for one in arguments]
    return carrier(function, arguments)


def in_turn(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """The same one after the other: done here, a call begins when its result is asked for."""
    if _carrier.get() is None:
        return (function(*one) for one in arguments)
    return iter(results(function, arguments))


@contextmanager
def carried(carrier: Carrier) -> Iterator[None]:
    """Inside, calls are done by the carrier."""
    before = _carrier.set(carrier)
    try:
        yield
    finally:
        _carrier.reset(before)
