"""metrics.jsonl and its folder: no lost records, no damaged ones, no leftover files."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from benchmarks.robustness import power_loss
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterplay.core import archive as archives
from counterplay.core.archive import read_archive, write_archive
from counterplay.errors import ConfigError, RunError
from counterplay.experiment import checkpoint as checkpoints
from counterplay.experiment import resume, run
from counterplay.experiment import run_folder as folders
from counterplay.experiment.compare import compare
from counterplay.experiment.metrics import MetricsWriter, load_metrics
from counterplay.experiment.plots.run_plots import plot_runs
from counterplay.experiment.runner import new_run, open_run
from tests.conftest import run_benchmark
from tests.experiment.conftest import config, file_contents, load_final_state, load_untimed_records

WHOLE = config("cfr_plus")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(WHOLE, tmp_path_factory.mktemp("finished") / "run").folder


def spoil_lines(lines, how, place, letter):
    """The lines with one lost, doubled, swapped with the next, or with another letter."""
    lines = list(lines)
    if how == "lost":
        del lines[place]
    elif how == "doubled":
        lines.insert(place, lines[place])
    elif how == "swapped":
        lines[place : place + 2] = lines[place : place + 2][::-1]
    else:
        spot = letter % len(lines[place])
        other = b"1" if lines[place][spot : spot + 1] != b"1" else b"2"
        lines[place] = lines[place][:spot] + other + lines[place][spot + 1 :]
    return b"".join(lines)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["lost", "doubled", "swapped", "altered"]),
    st.integers(0, 7),  # before the previous checkpoint: there is nothing to fall back on
    st.integers(0, 200),
)
def test_spoiled_records_are_refused(finished, how, place, letter):
    if how == "doubled":
        place = min(place, 6)  # the copy of 7 comes after the previous checkpoint
    path = finished / "metrics.jsonl"
    whole = path.read_bytes()
    path.write_bytes(spoil_lines(whole.splitlines(keepends=True), how, place, letter))
    try:
        before = file_contents(finished)
        with pytest.raises(RunError, match=r"metrics\.jsonl (lacks|has other) records.*; restore"):
            resume(finished, max_steps=400)
        assert file_contents(finished) == before
    finally:
        path.write_bytes(whole)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["lost", "doubled", "swapped", "altered", "cut"]),
    st.integers(0, 10),
    st.integers(0, 200),
)
def test_damage_is_found_when_records_are_read(finished, how, place, letter):
    path = finished / "metrics.jsonl"
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    place = min(place, len(lines) - (2 if how == "swapped" else 1))
    damaged = b"".join(lines[:place]) if how == "cut" else spoil_lines(lines, how, place, letter)
    path.write_bytes(damaged)
    try:
        with pytest.raises(RunError, match=r"metrics\.jsonl.* is damaged: ") as caught:
            load_metrics(finished)
        assert "\n" not in str(caught.value)
    finally:
        path.write_bytes(whole)


def test_records_without_checksums_are_read_and_continued(tmp_path, finished):
    """As older versions wrote them."""
    folder = run(config("cfr_plus", max_steps=120), tmp_path / "run").folder
    for name in ("checkpoint.npz", "checkpoint.previous.npz"):
        values = read_archive(folder / name, checkpoints.CHECKPOINT_FORMAT)
        records = load_metrics(folder, values["progress"]["metrics_bytes"])
        text = "".join(json.dumps(record) + "\n" for record in records).encode()
        values["progress"] |= {"metrics_bytes": len(text), "metrics_sha256": ""}
        write_archive(folder / name, checkpoints.CHECKPOINT_FORMAT, values)
    records = load_metrics(folder)
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "metrics.jsonl").write_text(text)
    process = json.loads((folder / "process.json").read_text())
    del process["ended"]["metrics_bytes"]
    (folder / "process.json").write_text(json.dumps(process))
    assert load_metrics(folder) == records
    resume(folder, max_steps=200)
    assert load_untimed_records(folder) == load_untimed_records(finished)
    whole = (folder / "metrics.jsonl").read_bytes()
    (folder / "metrics.jsonl").write_bytes(whole.replace(b'"step": 20,', b'"step": 21,'))
    with pytest.raises(RunError, match="line 8 is damaged: the file up to here does not match"):
        load_metrics(folder)  # the first line with a checksum covers those before


def test_spoiled_after_the_previous_checkpoint(tmp_path, finished):
    folder = run(WHOLE, tmp_path / "run").folder
    path = folder / "metrics.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(spoil_lines(lines, "altered", 9, 30))
    opened = open_run(folder)
    assert opened.step == 150
    assert "has other records than" in opened.note
    opened.advance()
    assert (load_final_state(folder), load_untimed_records(folder)) == (
        load_final_state(finished),
        load_untimed_records(finished),
    )


@pytest.mark.parametrize("how", ["removed", "replaced", "cut", "grown"])
def test_records_changed_during_a_run_are_detected(tmp_path, how):
    opened = new_run(WHOLE, tmp_path / "run")
    path = opened.folder / "metrics.jsonl"

    def meddle(record):
        if record["step"] == 60:
            whole = path.read_bytes()
            if how in ("removed", "replaced"):
                path.unlink()
            if how == "replaced":
                path.write_bytes(whole)
            if how in ("cut", "grown"):
                os.truncate(path, len(whole) + (-3 if how == "cut" else 3))

    with pytest.raises(RunError, match=r"at step 80: .*metrics.jsonl was removed or changed"):
        opened.advance(report=meddle)


def test_records_that_change_before_they_are_locked(tmp_path):
    folder = run(WHOLE, tmp_path / "run").folder
    opened = open_run(folder, max_steps=400)
    with open(folder / "metrics.jsonl", "r+b") as file:
        file.write(b"{ ")
    with pytest.raises(RunError, match="has changed since it was read; resume again"):
        opened.advance()


ODD = {
    "not JSON": "{",
    "no object": "[1]",
    "no step": '{"seconds": 1.0, "average": 0.1}',
    "no seconds": '{"step": 3, "average": 0.1}',
    "a step in words": '{"step": "3", "seconds": 1.0, "average": 0.1}',
    "half a step": '{"step": 3.5, "seconds": 1.0, "average": 0.1}',
    "true": '{"step": true, "seconds": 1.0, "average": 0.1}',
    "backwards": '{"step": 1, "seconds": 1.0, "average": 0.1}',
    "earlier": '{"step": 3, "seconds": 0.1, "average": 0.1}',
    "NaN": '{"step": 3, "seconds": 1.0, "average": NaN}',
    "infinity": '{"step": 3, "seconds": 1.0, "average": 1e999}',
    "words": '{"step": 3, "seconds": 1.0, "average": "low"}',
    "a list": '{"step": 3, "seconds": 1.0, "average": [0.1]}',
    "another policy": '{"step": 3, "seconds": 1.0, "current": 0.1}',
    "no policy": '{"step": 3, "seconds": 1.0}',
    "huge": '{"step": 1' + "0" * 30 + ', "seconds": 1.0, "average": 0.1}',
    "huge seconds": '{"step": 3, "seconds": 1' + "0" * 400 + ', "average": 0.1}',
    "deep": "[" * 100_000,
    "no text": "\udcff",
}


@pytest.mark.parametrize("line", ODD.values(), ids=ODD)
def test_odd_records(tmp_path, line):
    folder = new_run(WHOLE, tmp_path / "run").folder
    first = b'{"step": 2, "seconds": 0.5, "average": 0.2}\n'
    text = line.encode(errors="surrogateescape")
    (folder / "metrics.jsonl").write_bytes(first + text + b"\n")
    for read in (
        load_metrics,
        lambda run: compare([run]),
        lambda run: plot_runs([run], run / "x.svg"),
    ):
        with pytest.raises(RunError, match=r"metrics\.jsonl: line 2 is damaged: .") as caught:
            read(folder)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change", [{"spec": 3}, {"game": []}, {"networks": "x"}, {"game": {"params": 1}}]
)
@pytest.mark.parametrize("seed", [0, "x", None])
def test_odd_configs(tmp_path, finished, change, seed):
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("config.json", "metrics.jsonl", "env.json"):
        (folder / name).write_bytes((finished / name).read_bytes())
    whole = json.loads((folder / "config.json").read_text())
    whole["spec"]["seed"] = seed
    (folder / "config.json").write_text(json.dumps(whole | change))
    for read in (lambda run: compare([run]), lambda run: plot_runs([run], run / "x.svg"), resume):
        with pytest.raises((RunError, ConfigError), match=r"config\.json"):
            read(folder)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"resumed": 3}', b'{"resumed": {"a": 1}}', b"\xff"]
)
def test_odd_environments(tmp_path, content):
    """env.json is a note to the user: the run continues with any contents."""
    folder = run(WHOLE, tmp_path / "run").folder
    (folder / "env.json").write_bytes(content)
    assert resume(folder, max_steps=220).step == 220
    assert json.loads((folder / "env.json").read_text())["resumed"][-1]["step"] == 200


def test_checkpoints_of_the_first_version(tmp_path, finished):
    """They have no checksums, but the steps of the records are compared."""
    folder = run(config("cfr_plus", max_steps=120), tmp_path / "run").folder
    for name in ("checkpoint.npz", "checkpoint.previous.npz"):
        values = read_archive(folder / name, checkpoints.CHECKPOINT_FORMAT)
        del values["progress"]["metrics_sha256"]
        write_archive(folder / name, checkpoints.CHECKPOINT_FORMAT, values | {"version": 1})
    whole = (folder / "metrics.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    (folder / "metrics.jsonl").write_bytes(b"".join(lines[:3] + lines[2:]))
    with pytest.raises(RunError, match="damaged: step 40 after step 40"):
        resume(folder, max_steps=200)
    (folder / "metrics.jsonl").write_bytes(whole)
    resume(folder, max_steps=200)
    assert (load_final_state(folder), load_untimed_records(folder)) == (
        load_final_state(finished),
        load_untimed_records(finished),
    )


@pytest.mark.parametrize(
    "change",
    [
        {"step": -1},
        {"step": 1.5},
        {"step": True},
        {"recorded": -1},
        {"recorded": 201},
        {"recorded": 20},
        {"seconds": -1.0},
        {"seconds": float("nan")},
        {"seconds": "x"},
        {"metrics_bytes": -5},
        {"metrics_bytes": 10},
        {"metrics_bytes": 10**6},
        {"metrics_sha256": 3},
        {"metrics_sha256": "0"},
    ],
)
def test_progress_that_cannot_be(tmp_path, change):
    folder = run(WHOLE, tmp_path / "run").folder
    path = folder / "checkpoint.npz"
    values = read_archive(path, checkpoints.CHECKPOINT_FORMAT)
    values["progress"] |= change
    write_archive(path, checkpoints.CHECKPOINT_FORMAT, values)
    opened = open_run(folder)
    assert (opened.step, "continuing from" in opened.note) == (150, True)


@pytest.mark.parametrize("algorithm", ["fsp", "batch_fsp", "table_lookup_fsp"])
@pytest.mark.parametrize(
    ("name", "value"), [("episodes", 10**6), ("episodes", -1), ("num_stored", -9)]
)
def test_indices_of_another_tree(tmp_path, algorithm, name, value):
    """A kernel would read them from somewhere else in memory."""
    folder = run(config(algorithm, max_steps=2), tmp_path / "run").folder
    path = folder / "checkpoint.npz"
    values = read_archive(path, checkpoints.CHECKPOINT_FORMAT)
    values[f"memory.{name}"].reshape(-1)[0] = value
    write_archive(path, checkpoints.CHECKPOINT_FORMAT, values)
    with pytest.raises(RunError, match="is damaged: episodes are no terminals"):
        resume(folder, max_steps=10)


def test_checkpoints_are_not_compressed(tmp_path):
    """Compressing takes ten times as long as writing."""
    folder = run(WHOLE, tmp_path / "run").folder
    values = read_archive(folder / "checkpoint.npz", checkpoints.CHECKPOINT_FORMAT)
    values["memory.x"] = np.zeros(100_000)
    write_archive(tmp_path / "a", checkpoints.CHECKPOINT_FORMAT, values)
    assert (tmp_path / "a").stat().st_size < 10_000
    arrays = [value for value in values.values() if isinstance(value, np.ndarray)][:-1]
    assert (folder / "checkpoint.npz").stat().st_size > sum(array.nbytes for array in arrays)


def test_folders_of_the_dead_are_removed(tmp_path):
    """Files of living processes and of other users stay."""
    pytest.importorskip("fcntl")
    dead, living, other = (tmp_path / f".new-{name}" for name in ("dead", "living", "other"))
    for folder in (dead, living, other):
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        (folder / ".env.json.x8").write_text("{")
    (other / "thesis.tex").write_text("all of it")
    handle = os.open(living, os.O_RDONLY)
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_EX)
    new_run(WHOLE, tmp_path / "run")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".new-living", ".new-other", "run"]
    os.close(handle)
    new_run(WHOLE, tmp_path / "run2")
    assert not living.exists()


def test_a_new_folder_swept_away_is_made_again(tmp_path, monkeypatch):
    """Between creation and locking another process may take it for an abandoned one."""
    real, swept = os.open, []

    def open_too_late(path, flags, *rest, **more):
        if not swept and os.path.basename(path).startswith(".new-"):
            swept.append(path)
            os.rmdir(path)
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", open_too_late)
    assert new_run(WHOLE, tmp_path / "run").advance().step == 200
    assert len(swept) == 1


def test_records_written_twice_at_once(tmp_path):
    folder = new_run(WHOLE, tmp_path / "run").folder
    with MetricsWriter(folder, 0) as metrics:
        metrics.append({"step": 1, "seconds": 0.1, "average": 0.5})
        length, digest = metrics.sync()
    with MetricsWriter(folder, length, digest) as metrics:
        assert metrics.sync() == (length, digest)
    with pytest.raises(RunError, match="has changed"):
        MetricsWriter(folder, length, "0" * 64)
    with pytest.raises(RunError, match="has changed"):
        MetricsWriter(folder, length + 1)
    assert (folder / "metrics.jsonl").stat().st_size == length


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_runs_lose_nothing():
    (found,) = run_benchmark("robustness.killed_runs", "--count", 6)
    assert found["the same"] == found["runs"]
    assert not any(found[name] for name in ("LOST", "DIFFERENT", "FAILED", "LEFT OVER")), found


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be synced there")
def test_loss_of_power(monkeypatch):
    found = power_loss.attack(repeats=1, every=15)
    assert found["nothing lost"] == found["disks"] > 20, found
    for module in (archives, checkpoints, folders):
        monkeypatch.setattr(module, "sync_folder", lambda folder: None)
    found = power_loss.attack(repeats=0, every=25)  # a missing sync is detected
    assert any(name.startswith("LOST") for name in found), found
