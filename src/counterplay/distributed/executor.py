"""Where work is done: on this machine, or on a cluster."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext

from counterplay.distributed.local import LocalExecutor
from counterplay.distributed.units import Executor, Notify
from counterplay.errors import ConfigError


def open_executor(
    target: str | Executor, num_processes: int | None = None, notify: Notify | None = None
) -> AbstractContextManager[Executor]:
    """The executor that `local`, `auto` or `host:port` names; one that is given stays open."""
    if not isinstance(target, str):
        return nullcontext(target)
    if target == "local":
        return LocalExecutor(num_processes, notify)
    if target != "auto" and not re.fullmatch(r"[A-Za-z0-9_.-]+:\d{1,5}", target):
        raise ConfigError(f"--on is {target!r}, must be local, auto or host:port")
    if num_processes is not None:
        raise ConfigError("processes are for this machine (--on local); a cluster has its own")
    from counterplay.distributed.ray_cluster import RayExecutor

    return RayExecutor(target, notify)
