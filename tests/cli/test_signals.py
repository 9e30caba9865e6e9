"""Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from counterplay.cli.signals import catch_first_signal, terminate_as_interrupt


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_asks_and_second_interrupts(number):
    with pytest.raises(KeyboardInterrupt), catch_first_signal() as came:  # noqa: PT012
        assert not came()
        signal.raise_signal(number)
        assert came()
        signal.raise_signal(number)


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with terminate_as_interrupt(), catch_first_signal():
        assert signal.getsignal(signal.SIGINT) is not before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_terminate_is_an_interrupt():
    with pytest.raises(KeyboardInterrupt), terminate_as_interrupt():
        signal.raise_signal(signal.SIGTERM)


def test_second_signal_ends_even_compiled_code():
    # the hash runs for hours, without Python, and so without Python's handlers; "ready" is said
    # once the main thread has not moved on from it for a while
    program = """
import hashlib, sys, threading, time
from counterplay.cli.signals import catch_first_signal
main = threading.get_ident()
def watch():
    seen = []
    while len(seen) < 20 or len(set(seen[-20:])) > 1:
        time.sleep(0.02)
        seen.append(sys._current_frames()[main].f_lasti)
    print("ready", flush=True)
with catch_first_signal():
    threading.Thread(target=watch, daemon=True).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)
"""
    command = [sys.executable, "-c", program]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.readline() == "stopping after this step; again to abort\n"
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
    assert process.returncode == 130
