"""Threads for kernels on large trees. Results do not depend on the number of threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

from counterplay.errors import ConfigError

_num_threads: int | None = None


def num_threads() -> int:
    """Return the number of threads for large trees: as set, or the cores of this process."""
    if _num_threads is not None:
        return _num_threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_num_threads(count: int | None) -> None:
    """Set the number of threads for large trees; None restores all cores of this process."""
    global _num_threads
    if count is not None and count < 1:
        raise ConfigError(f"the number of threads is {count}, must be at least 1")
    _num_threads = count


def run_in_threads(
    function: Callable[[int, int], object], parts: Sequence[tuple[int, int]]
) -> None:
    """Call `function(first, last)` for all parts in parallel and wait for the results.

    `function` must release the GIL. The first part runs on the calling thread.
    """
    if len(parts) == 1:
        function(*parts[0])
        return
    jobs = [_thread_pool(len(parts) - 1, os.getpid()).submit(function, *part) for part in parts[1:]]
    function(*parts[0])
    for job in jobs:
        job.result()


def split_evenly(first: int, last: int, count: int) -> list[tuple[int, int]]:
    """Cut a range into at most `count` parts of about equal length."""
    cuts = [first + (last - first) * k // count for k in range(count + 1)]
    return [(a, b) for a, b in pairwise(cuts) if a < b] or [(first, last)]


@cache
def _thread_pool(size: int, process: int) -> ThreadPoolExecutor:
    # one pool per process, because threads do not survive a fork
    return ThreadPoolExecutor(size, thread_name_prefix="counterplay")
