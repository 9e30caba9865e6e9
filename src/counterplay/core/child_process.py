"""Child processes that receive requests on stdin and send answers on stdout.

The parent starts a module with `start_module`, writes requests to its stdin, reads answers from its
stdout, and ends it with `stop_process`. In the child, `ParentConnection` reads and answers:

    connection = ParentConnection(pickle.load, pickle.dump)
    while True:
        connection.send(handle(connection.receive()))

The child exits as soon as the parent closes the pipe or ends, even in the middle of a request.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import IO, Any, Generic, TypeVar

EXIT_TIMEOUT_SECONDS = 5.0  # that a process has to end after its pipes are closed
PICKLE_ERRORS = (EOFError, OSError, ValueError, pickle.UnpicklingError)  # of a pipe that has ended

Request = TypeVar("Request")


class ParentConnection(Generic[Request]):
    """The connection of a child process with its parent.

    Making it redirects stdout to stderr, so that output of games and libraries cannot mix with
    answers, and ignores Ctrl-C, which the parent handles.

    Args:
        read: reads one request from stdin; raises one of `PICKLE_ERRORS` at the end.
        write: writes one answer to a file.
        handle_at_once: called in the reader thread with each request; True if it is done with it,
            so that the request is not queued. For requests that interrupt a running one.
    """

    def __init__(
        self,
        read: Callable[[IO[bytes]], Request],
        write: Callable[[Any, IO[bytes]], object],
        handle_at_once: Callable[[Request], bool] | None = None,
    ):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._read, self._write, self._handle_at_once = read, write, handle_at_once
        self._output = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self._lock = threading.Lock()
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
        threading.Thread(target=self._read_requests, daemon=True).start()

    def receive(self) -> Request:
        """Wait for the next request, and return it."""
        return self._requests.get()

    def send(self, answer: object) -> None:
        """Send an answer; any thread may call this. If the parent is gone, the process exits."""
        with self._lock:
            try:
                self._write(answer, self._output)
                self._output.flush()
            except OSError:
                os._exit(0)

    def _read_requests(self) -> None:
        try:
            while True:
                request = self._read(sys.stdin.buffer)
                if self._handle_at_once is None or not self._handle_at_once(request):
                    self._requests.put(request)
        except PICKLE_ERRORS:
            os._exit(0)  # at once: no process is left that waits for an answer
        except Exception:  # such as a class that the child cannot import
            traceback.print_exc()
            os._exit(1)


def read_json_line(file: IO[bytes]) -> dict[str, Any]:
    """Read one JSON object from a line.

    Raises:
        EOFError: the file has ended.
        ValueError: the line is not a JSON object.
    """
    line = file.readline()
    if not line:
        raise EOFError
    value = json.loads(line)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def write_json_line(value: object, file: IO[bytes]) -> None:
    """Write a value as one line of JSON."""
    file.write(json.dumps(value).encode() + b"\n")


def start_module(
    module: str, environment: Mapping[str, str], stderr: int | None = None
) -> subprocess.Popen[bytes]:
    """Start a process that runs a module with the same import path, with pipes to it.

    Args:
        environment: variables that are added to those of this process.
        stderr: as for `subprocess.Popen`.
    """
    env = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command, pipe = [sys.executable, "-m", module], subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr, env=env)


def send_pickle(process: subprocess.Popen[bytes], request: object) -> None:
    """Write a request to a child process.

    Raises:
        OSError: the process has ended.
    """
    assert process.stdin
    pickle.dump(request, process.stdin)
    process.stdin.flush()


def stop_process(process: subprocess.Popen[bytes]) -> str:
    """Close the pipes of a child process, wait for its end, and return how it ended."""
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):  # the process may have ended with input unread
            if stream:
                stream.close()
    try:
        code = process.wait(timeout=EXIT_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    return f"signal {-code}" if code < 0 else f"exit code {code}"
