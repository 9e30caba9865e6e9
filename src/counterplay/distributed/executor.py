"""Selection of an executor: processes of this machine, or a Ray cluster."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext

from counterplay.distributed.local import LocalExecutor
from counterplay.distributed.units import Executor, Notify
from counterplay.errors import ConfigError


def open_executor(
    target: str | Executor, num_processes: int | None = None, notify: Notify | None = None
) -> AbstractContextManager[Executor]:
    """Return the executor of a target, as a context that ends it.

    Args:
        target: "local" for processes of this machine, "auto" or "host:port" for a Ray cluster, or
            an executor, which stays open.
        num_processes: number of local processes; by default one per core.
        notify: called with messages for the user.
    """
    if not isinstance(target, str):
        return nullcontext(target)
    if target == "local":
        return LocalExecutor(num_processes, notify)
    if target != "auto" and not re.fullmatch(r"[A-Za-z0-9_.-]+:\d{1,5}", target):
        raise ConfigError(f"--on is {target!r}, must be local, auto or host:port")
    if num_processes is not None:
        raise ConfigError("processes can be set for --on local only; a cluster has its own number")
    from counterplay.distributed.ray_cluster import RayExecutor

    return RayExecutor(target, notify)
