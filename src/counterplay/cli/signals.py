"""Ctrl-C and SIGTERM: they mean the same, and a long run may end in good order first."""

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
ABORT_GRACE_SECONDS = 1.0  # seconds that compiled code has to return after the second signal

SignalHandler = Callable[[int, object], None]


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """Inside, SIGTERM raises KeyboardInterrupt just as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    with _handle_signals(handle, signal.SIGTERM):
        yield


@contextmanager
def catch_first_signal() -> Iterator[Callable[[], bool]]:
    """A function that says whether a signal has come; the second one raises KeyboardInterrupt.

    The first one is acknowledged on stderr as soon as it comes, even if compiled code keeps Python
    from handling it; the second then ends the process.
    """
    came = False
    acknowledge = _AcknowledgeOnce()

    def handle(number: int, frame: object) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True
        acknowledge()

    if threading.current_thread() is not threading.main_thread():  # only that one gets signals
        yield lambda: False
        return
    with _handle_signals(handle, signal.SIGINT, signal.SIGTERM), _watch_signals(acknowledge):
        yield lambda: came


class _AcknowledgeOnce:
    """Says that the signal has come, whoever notices it first."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __call__(self) -> None:
        if self.lock.acquire(blocking=False):  # and never released
            os.write(2, f"{CLEAR_LINE if sys.stderr.isatty() else ''}{STOPPING_MESSAGE}".encode())


@contextmanager
def _watch_signals(acknowledge: Callable[[], None]) -> Iterator[None]:
    """Look out for signals from a thread, in case that compiled code keeps Python busy."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    left = threading.Event()

    def watch() -> None:
        with ours:
            if not ours.recv(1):
                return
            acknowledge()
            if ours.recv(1) and not left.wait(ABORT_GRACE_SECONDS):
                if sys.stderr.isatty():
                    os.write(2, SHOW_CURSOR.encode())
                os._exit(130)

    threading.Thread(target=watch, daemon=True).start()
    before = signal.set_wakeup_fd(theirs.fileno())
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        left.set()
        theirs.close()


@contextmanager
def _handle_signals(handler: SignalHandler, *numbers: signal.Signals) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
