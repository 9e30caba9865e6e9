"""The connection between a process and its children."""

from __future__ import annotations

import io
import pickle
import subprocess

import pytest

from counterplay.core.child_process import (
    read_json_line,
    send_pickle,
    start_module,
    stop_process,
    write_json_line,
)
from counterplay.distributed.units import Unit, source_digest


@pytest.fixture
def worker():
    environment = {"CHILD_VARIABLE": "5"}
    process = start_module("counterplay.distributed.worker", environment, stderr=subprocess.PIPE)
    yield process
    stop_process(process)
    process.stderr.close()


def test_printed_text_does_not_mix_with_answers(worker):
    send_pickle(worker, (Unit("os:write", (1, b"printed")), source_digest()))
    send_pickle(worker, (Unit("os:getenv", ("CHILD_VARIABLE",)), source_digest()))
    assert pickle.load(worker.stdout) == len(b"printed")
    assert pickle.load(worker.stdout) == "5"
    assert stop_process(worker) == "exit code 0"
    assert worker.stderr.read() == b"printed"


def test_a_child_exits_in_the_middle_of_a_request_when_its_pipe_closes(worker):
    send_pickle(worker, (Unit("os:getpid", ()), source_digest()))
    assert pickle.load(worker.stdout) == worker.pid
    send_pickle(worker, (Unit("time:sleep", (600,)), source_digest()))
    assert stop_process(worker) == "exit code 0"  # and not by the kill after the timeout


def test_a_request_that_cannot_be_read_ends_the_child_with_an_error(worker):
    worker.stdin.write(b"cno_such_module\nname\n.")
    worker.stdin.flush()
    assert worker.wait(timeout=60) == 1
    assert b"no_such_module" in worker.stderr.read()


def test_a_child_that_was_killed_is_reported(worker):
    worker.kill()
    assert stop_process(worker) == "signal 9"


def test_json_lines():
    file = io.BytesIO()
    write_json_line({"id": 1, "text": "a\nb"}, file)
    write_json_line([1], file)
    file.seek(0)
    assert read_json_line(file) == {"id": 1, "text": "a\nb"}
    with pytest.raises(ValueError, match="not a JSON object"):
        read_json_line(file)
    with pytest.raises(EOFError):
        read_json_line(file)
