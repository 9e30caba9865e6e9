"""Two writers of one run, where files cannot be locked: exactly one finishes."""

from __future__ import annotations

import pytest

import counterplay as cp
from counterplay.experiment import metrics as metrics_files
from counterplay.experiment import run_folder as files
from counterplay.experiment.run_folder import RunTakenOverError
from counterplay.experiment.run_status import read_status
from tests.experiment.conftest import config, load_final_state, load_untimed_records


@pytest.mark.parametrize("late", ["before a record", "before a checkpoint"])
def test_an_orphan_that_lives_on_is_fenced(tmp_path, monkeypatch, late):
    monkeypatch.setattr(
        metrics_files, "try_lock", lambda handle: None
    )  # as on some network file systems
    whole = cp.run(config(), tmp_path / "whole")
    orphan = cp.experiment.new_run(config(), tmp_path / "run")
    finished = []

    def take_over(record):
        """A second process is sent while the first one is still at work."""
        if not finished and record["step"] == (60 if late == "before a record" else 80):
            finished.append(cp.resume(tmp_path / "run"))

    with pytest.raises(cp.RunError, match=r"taken over by process|was removed or changed"):
        orphan.advance(report=take_over)
    assert load_final_state(tmp_path / "run")[2:] == load_final_state(whole.folder)[2:]
    assert load_untimed_records(tmp_path / "run") == load_untimed_records(whole.folder)
    found = read_status(tmp_path / "run")
    assert found.state == "finished" and found.process["attempt"] == 2
    assert finished[0].step == 200


def test_a_status_of_an_earlier_attempt_fences_no_writer(tmp_path):
    """It had looked before the run was taken over, and wrote afterwards."""
    whole = cp.run(config(), tmp_path / "whole")
    first = cp.experiment.new_run(config(), tmp_path / "run")
    first.advance(stop=lambda: True)
    before = (tmp_path / "run" / "process.json").read_bytes()
    second = cp.experiment.open_run(tmp_path / "run")
    second.advance(report=lambda _: (tmp_path / "run" / "process.json").write_bytes(before))
    assert load_final_state(tmp_path / "run")[2:] == load_final_state(whole.folder)[2:]
    found = read_status(tmp_path / "run")
    assert found.state == "finished" and found.process["attempt"] == 2


def test_what_an_orphan_writes_late_goes_nowhere(tmp_path, monkeypatch):
    """It had looked at the size of the file before the run was taken over, and wrote afterwards."""
    monkeypatch.setattr(metrics_files, "try_lock", lambda handle: None)
    cp.run(config(max_steps=40), tmp_path / "run")
    metrics = tmp_path / "run" / files.METRICS_FILE
    content = metrics.read_bytes()
    (tmp_path / "run" / "process.json").unlink()  # a process that takes over writes its own
    with metrics_files.MetricsWriter(tmp_path / "run", len(content)) as orphan:
        with metrics_files.MetricsWriter(tmp_path / "run", 0) as taken:
            taken.append({"step": 1, "seconds": 0.0})
            orphan.file.write(b"late")
            orphan.file.flush()
            taken.append({"step": 2, "seconds": 0.0})
        assert [record["step"] for record in metrics_files.load_metrics(tmp_path / "run")] == [1, 2]
        with pytest.raises(cp.RunError, match="was removed or changed"):
            orphan.append({"step": 3, "seconds": 0.0})
    assert not list((tmp_path / "run").glob(f".{files.METRICS_FILE}.*"))


def test_attempts_are_numbered(tmp_path):
    made = cp.experiment.new_run(config(), tmp_path / "run")
    made.advance(stop=lambda: True)
    cp.resume(tmp_path / "run")
    assert read_status(tmp_path / "run").process["attempt"] == 2


def test_who_is_fenced_says_by_whom(tmp_path):
    made = cp.experiment.new_run(config(), tmp_path / "run")
    with pytest.raises(RunTakenOverError, match=r"taken over by process 7 on elsewhere"):
        made.advance(
            report=lambda _: files.write_json(
                tmp_path / "run" / "process.json", {"pid": 7, "host": "elsewhere"}
            )
        )
