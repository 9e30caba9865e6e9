"""The process that runs units for `LocalExecutor`: `python -m counterplay.distributed.worker`."""

from __future__ import annotations

import pickle

from counterplay.core.child_process import ParentConnection
from counterplay.distributed.units import Unit, run_unit


def main() -> None:
    """Run units until the parent ends."""
    connection = ParentConnection[tuple[Unit, str]](pickle.load, pickle.dump)
    while True:
        unit, digest = connection.receive()
        connection.send(run_unit(unit, digest))


if __name__ == "__main__":
    main()
