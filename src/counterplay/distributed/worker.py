"""A process that does units: they come on stdin, results leave on what was stdout.

`python -m counterplay.distributed.worker` is started by `local`, and ends with whoever started it.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
from typing import Any

from counterplay.distributed.units import run_unit


def main() -> None:
    """Do units until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, who asks us to stop
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a game or a library prints must not end up between results
    units: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read_units, args=(units,), daemon=True).start()
    while True:
        unit, source = units.get()
        pickle.dump(run_unit(unit, source), out)
        out.flush()


def _read_units(units: queue.SimpleQueue[Any]) -> None:
    """Take units from stdin; at its end, whoever asked is gone and nobody waits for us."""
    try:
        while True:
            units.put(pickle.load(sys.stdin.buffer))
    except (EOFError, OSError, pickle.UnpicklingError):
        os._exit(0)


if __name__ == "__main__":
    main()
