"""Where work is done: on this machine, or on a cluster."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext

from counterplay.errors import ConfigError
from counterplay.scale.local import Local
from counterplay.scale.units import Executor, Say


def executor_on(
    on: str | Executor, processes: int | None = None, say: Say | None = None
) -> AbstractContextManager[Executor]:
    """The executor that `local`, `auto` or `host:port` names; one that is given stays open."""
    if not isinstance(on, str):
        return nullcontext(on)
    if on == "local":
        return Local(processes, say)
    if on != "auto" and not re.fullmatch(r"[A-Za-z0-9_.-]+:\d{1,5}", on):
        raise ConfigError(f"--on is {on!r}, must be local, auto or host:port")
    if processes is not None:
        raise ConfigError("processes are for this machine (--on local); a cluster has its own")
    from counterplay.scale.cluster import Cluster

    return Cluster(on, say)
