"""The status of a run in its folder, while it runs and after every kind of end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from counterplay.errors import RunError
from counterplay.experiment import resume, run
from counterplay.experiment.metrics import load_metrics
from counterplay.experiment.run_status import (
    CHECKPOINT_REQUEST,
    HEARTBEAT_FILE,
    PROCESS_FILE,
    STOP_REQUEST,
    find_locked_files,
    is_alive,
    process_identity,
    read_status,
    send_request,
)
from counterplay.experiment.runner import new_run
from tests.experiment.conftest import config, dump_json, load_final_state, load_untimed_records


def in_folder(folder, name):
    return json.loads((folder / name).read_text())


def test_a_run_that_finishes(tmp_path):
    made = new_run(config(), tmp_path / "run")
    assert read_status(made.folder).state == "new"
    seen = set()
    made.advance(report=lambda record: seen.add(read_status(made.folder).state))
    assert seen == {"running"}
    found = read_status(made.folder)
    assert (found.state, found.problem) == ("finished", "")
    assert found.heartbeat["step"] == found.process["ended"]["step"] == 200
    assert found.heartbeat["best"] == min(r["linear_average"] for r in load_metrics(made.folder))
    assert found.process["pid"] == os.getpid()


def test_a_request_to_stop(tmp_path):
    made = new_run(config(), tmp_path / "run")
    steps = []

    def tick(step):
        steps.append(step)
        if len(steps) == 2:
            send_request(made.folder, STOP_REQUEST)

    result = made.advance(tick=tick)
    assert (result.stopped, result.step) == (True, steps[-1])
    assert len(steps) == 2 and result.step < 200
    assert read_status(made.folder).state == "stopped"
    assert not (made.folder / STOP_REQUEST).exists()
    send_request(made.folder, STOP_REQUEST)  # without a process: forgotten at the next start
    assert not resume(made.folder).stopped
    run(config(), tmp_path / "whole")
    assert load_final_state(made.folder) == load_final_state(tmp_path / "whole")
    assert load_untimed_records(made.folder) == load_untimed_records(tmp_path / "whole")


def test_a_request_for_a_checkpoint(tmp_path):
    made = new_run(config(checkpoint_every=10_000), tmp_path / "run")
    there = []

    def tick(step):
        there.append((made.folder / "checkpoint.npz").exists())
        if len(there) == 2:
            send_request(made.folder, CHECKPOINT_REQUEST)

    assert not made.advance(tick=tick).stopped
    assert there[:2] == [False, False] and all(there[2:]) and len(there) > 3
    assert not (made.folder / CHECKPOINT_REQUEST).exists()


def test_failures_and_interruptions(tmp_path):
    with pytest.raises(RunError):
        run(config("toy", break_at=30), tmp_path / "run")
    found = read_status(tmp_path / "run")
    assert found.state == "failed" and "weights" in found.problem

    def interrupt(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(config(), tmp_path / "other", tick=interrupt)
    assert read_status(tmp_path / "other").state == "aborted"


def test_a_run_that_is_killed(tmp_path):
    whole = dump_json(tmp_path / "small.json", config(max_steps=10**9))
    command = [sys.executable, "-m", "counterplay", "run", str(whole), "--runs", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while not (found := list(tmp_path.glob(f"small/*/{HEARTBEAT_FILE}"))):
            assert time.monotonic() < until and process.poll() is None
            time.sleep(0.05)
        folder = found[0].parent
        assert read_status(folder).state == "running"
        assert is_alive(in_folder(folder, PROCESS_FILE))
        info = os.stat(folder / "metrics.jsonl")
        if sys.platform == "linux":
            assert (info.st_dev, info.st_ino) in find_locked_files()
        process.send_signal(signal.SIGKILL)
        until = time.monotonic() + 10
        while read_status(folder).state == "running":  # also while its corpse is not buried
            assert time.monotonic() < until
        assert read_status(folder).state == "killed"
        assert process.poll() is not None or not is_alive(in_folder(folder, PROCESS_FILE))
    finally:
        process.kill()
        process.wait()


def test_another_process_of_that_number(tmp_path):
    me = process_identity(os.getpid())
    assert is_alive(me)
    assert not is_alive(me | {"start": 12})
    assert not is_alive(me | {"boot": "another"})
    assert not is_alive(me | {"host": "another"})
    assert not is_alive({"pid": "1"}) and not is_alive({})


@pytest.mark.parametrize("text", ["", "{", "[]", '{"ended": 3}', '{"ended": {"how": "well"}}'])
def test_damaged_files_say_nothing(tmp_path, text):
    folder = run(config(), tmp_path / "run").folder
    (folder / PROCESS_FILE).write_text(text)
    (folder / HEARTBEAT_FILE).write_text(text)
    assert read_status(folder).state in ("ended", "lost")
    assert read_status(tmp_path / "nowhere").state == "new"


def test_silent_elsewhere(tmp_path):
    folder = run(config(), tmp_path / "run").folder
    away = in_folder(folder, PROCESS_FILE) | {"host": "elsewhere", "ended": None}
    dump_json(folder / PROCESS_FILE, away)
    assert read_status(folder).state == "running"  # its heart has just beaten
    dump_json(
        folder / HEARTBEAT_FILE,
        in_folder(folder, HEARTBEAT_FILE) | {"time": "2020-01-01T00:00:00+00:00"},
    )
    assert read_status(folder).state == "lost"


def test_a_folder_that_cannot_be_written_is_no_reason_to_fail(tmp_path, monkeypatch):
    from counterplay.experiment import run_status

    def full(*arguments):
        raise RunError("no space left on device")

    made = new_run(config(max_steps=10), tmp_path / "run")
    monkeypatch.setattr(run_status, "write_json", full)
    monkeypatch.setattr(run_status.tempfile, "mkstemp", _no_space)
    pulse = run_status.Heartbeat(made.folder)
    pulse.record_start(0)
    pulse.beat(1, 0.1, None)
    pulse.record_end("finished", 1)
    assert not (made.folder / PROCESS_FILE).exists()


def _no_space(*arguments, **options):
    raise OSError(28, "No space left on device")
