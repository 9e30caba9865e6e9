"""Handling of Ctrl-C and SIGTERM, which mean the same: end now, or end in good order."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHOW_CURSOR = "\x1b[?25h"  # progress bars hide it
CLEAR_LINE = "\r\x1b[K"
STOPPING_MESSAGE = "stopping after this step; again to abort\n"
ABORT_GRACE_SECONDS = 1.0  # for compiled code to return after the second signal

SignalHandler = Callable[[int, object], None]


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """Inside, SIGTERM raises KeyboardInterrupt as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    with _handle_signals(handle, signal.SIGTERM):
        yield


@contextmanager
def catch_first_signal() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns True after the first signal; the second one aborts.

    The first signal is acknowledged on stderr at once, even while compiled code keeps Python from
    handling it. The second one raises KeyboardInterrupt, or ends the process if compiled code does
    not return.
    """
    has_signal = False
    acknowledge = _AcknowledgeOnce()

    def handle(number: int, frame: object) -> None:
        nonlocal has_signal
        if has_signal:
            raise KeyboardInterrupt
        has_signal = True
        acknowledge()

    if threading.current_thread() is not threading.main_thread():  # others get no signals
        yield lambda: False
        return
    with _handle_signals(handle, signal.SIGINT, signal.SIGTERM), _watch_signals(acknowledge):
        yield lambda: has_signal


class _AcknowledgeOnce:
    """Prints the message about the first signal once, from whichever thread is first."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __call__(self) -> None:
        if self.lock.acquire(blocking=False):  # and never released
            os.write(2, f"{CLEAR_LINE if sys.stderr.isatty() else ''}{STOPPING_MESSAGE}".encode())


@contextmanager
def _watch_signals(acknowledge: Callable[[], None]) -> Iterator[None]:
    """Watch for signals from a thread, because compiled code may keep Python busy."""
    read_end, write_end = socket.socketpair()
    write_end.setblocking(False)
    has_ended = threading.Event()

    def watch() -> None:
        with read_end:
            if not read_end.recv(1):
                return
            acknowledge()
            if read_end.recv(1) and not has_ended.wait(ABORT_GRACE_SECONDS):
                if sys.stderr.isatty():
                    os.write(2, SHOW_CURSOR.encode())
                os._exit(130)

    threading.Thread(target=watch, daemon=True).start()
    previous_fd = signal.set_wakeup_fd(write_end.fileno())
    try:
        yield
    finally:
        signal.set_wakeup_fd(previous_fd)
        has_ended.set()
        write_end.close()


@contextmanager
def _handle_signals(handler: SignalHandler, *numbers: signal.Signals) -> Iterator[None]:
    previous = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old_handler in previous.items():
            signal.signal(number, old_handler)
