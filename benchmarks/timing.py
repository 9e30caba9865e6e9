"""Clocks, memory and tables that the benchmark scripts share."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any


class Stopwatch:
    """Wall-clock and processor seconds spent inside `with stopwatch:` blocks, added up."""

    def __init__(self) -> None:
        self.wall_seconds = self.cpu_seconds = 0.0

    def __enter__(self) -> Stopwatch:
        self._start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall_seconds += time.perf_counter() - self._start[0]
        self.cpu_seconds += time.process_time() - self._start[1]


def time_call(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Return the seconds of one call: processor time of all threads, unless told otherwise."""
    start = clock()
    work()
    return clock() - start


def time_in_turns(
    works: Sequence[Callable[[], object]],
    num_turns: int,
    clock: Callable[[], float] = time.process_time,
) -> list[list[float]]:
    """Return the seconds of each function [functions, turns].

    The functions alternate, so that a busy machine slows all of them alike.
    """
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(num_turns):
        for times, work in zip(seconds, works, strict=True):
            times.append(time_call(work, clock))
    return seconds


def peak_memory_mib() -> float:
    """Return the largest resident memory that this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def format_row(cells: Iterable[Any]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def format_head(columns: Sequence[str]) -> str:
    """Return the head of a Markdown table."""
    return f"{format_row(columns)}\n|{'---|' * len(columns)}"


def format_seconds(seconds: float) -> str:
    """Return seconds with a unit that suits them, such as `13.5 µs`."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def first_paragraph(doc: str | None) -> str:
    """Return the first paragraph of a docstring, for the help of a command."""
    return (doc or "").split("\n\n")[0]
