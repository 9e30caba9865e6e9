"""Interrupted runs continue with the same bits, wherever they were stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from counterplay.core.archive import read_archive, write_archive
from counterplay.errors import ConfigError, RunError
from counterplay.experiment import checkpoint as checkpoints
from counterplay.experiment import resume, run
from counterplay.experiment.metrics import load_metrics
from counterplay.experiment.runner import new_run, open_run
from counterplay.registry import ALGORITHMS
from tests.experiment.conftest import (
    config,
    dump_json,
    file_contents,
    load_final_state,
    load_untimed_records,
)

ROOT = Path(__file__).parent.parent.parent
WHOLE = config("cfr_hedge", eta=20)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    folder = run(WHOLE, tmp_path_factory.mktemp("whole") / "run").folder
    return load_final_state(folder), load_untimed_records(folder)


def same(folder, whole_run):
    return (load_final_state(folder), load_untimed_records(folder)) == whole_run


def stop_after(chunks):
    answers = iter([False] * chunks)
    return lambda: next(answers, True)


@pytest.mark.parametrize("chunks", [0, 1, 2, 3, 5, 8, 11])
def test_stopped_runs_go_on(tmp_path, whole_run, chunks):
    folder = tmp_path / "run"
    result = run(WHOLE, folder, stop=stop_after(chunks))
    assert result.stopped
    assert open_run(folder).step == result.step < 200
    again = resume(folder)
    assert not again.stopped
    assert same(folder, whole_run)
    assert list(again.records) == load_metrics(folder)


def test_stopped_at_every_chunk(tmp_path):
    short = config(max_steps=10, evaluate_every=4, checkpoint_every=5)
    folder = run(short, tmp_path / "run", stop=lambda: True).folder
    while resume(folder, stop=lambda: True).stopped:
        pass
    run(short, tmp_path / "whole")
    assert load_final_state(folder) == load_final_state(tmp_path / "whole")
    assert load_untimed_records(folder) == load_untimed_records(tmp_path / "whole")
    env = json.loads((folder / "env.json").read_text())
    assert [entry["step"] for entry in env["resumed"]] == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_a_signal_just_before_an_evaluation_loses_no_record(tmp_path, whole_run):
    at = []
    folder = tmp_path / "run"
    result = run(WHOLE, folder, tick=at.append, stop=lambda: at[-1] == 40)
    assert (result.step, result.records[-1]["step"]) == (40, 20)
    resume(folder)
    assert same(folder, whole_run)


def test_a_signal_at_the_end_is_too_late(tmp_path, whole_run):
    at = []
    assert not run(WHOLE, tmp_path / "run", tick=at.append, stop=lambda: at[-1] == 200).stopped
    assert same(tmp_path / "run", whole_run)


class KilledError(BaseException):
    pass


MOMENTS = [
    ("os.replace", 1),
    ("os.replace", 2),
    ("os.replace", 3),
    ("os.link", 1),
    ("os.fsync", 1),
    ("os.fsync", 2),
    ("os.fsync", 5),
    ("counterplay.core.archive._write_zip", 1),
    ("counterplay.core.archive._write_zip", 3),
]


@pytest.mark.parametrize(("function", "call"), MOMENTS)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_death_at_any_system_call(tmp_path, monkeypatch, whole_run, function, call, before):
    """The run continues from a process that died at any step of writing a checkpoint."""
    module, name = function.rsplit(".", 1)
    real, calls = getattr(sys.modules[module], name), []

    def dies(*arguments, **keywords):
        calls.append(0)
        if len(calls) == call and before:
            raise KilledError
        done = real(*arguments, **keywords)
        if len(calls) == call:
            raise KilledError
        return done

    opened = new_run(WHOLE, tmp_path / "run")
    with monkeypatch.context() as patch:
        patch.setattr(sys.modules[module], name, dies)
        with pytest.raises((KilledError, RunError)):  # cleaning up may fail where all is clean
            opened.advance()
    resume(opened.folder)
    assert same(opened.folder, whole_run)


DEATH = """
import os, sys
import counterplay.experiment.runner as running
from counterplay.experiment.metrics import MetricsWriter
from counterplay.algorithms.cfr.cfr_hedge import CFRHedge

kind, count = sys.argv[3], int(sys.argv[4])
place, name = {"step": (CFRHedge, "step"), "save": (running, "write_checkpoint"),
               "record": (MetricsWriter, "append")}[kind]
real = getattr(place, name)

def dies(*arguments):
    global count
    count -= 1
    if count == 0 and kind == "record":  # in the middle of a line
        arguments[0].file.write(b'{"step": 60, "sec')
        arguments[0].file.flush()
    if count == 0:
        os._exit(9)
    return real(*arguments)

setattr(place, name, dies)
running.run(sys.argv[1], sys.argv[2])
"""


@pytest.mark.parametrize(("kind", "count"), [("step", 9), ("save", 3), ("record", 5)])
def test_killed_processes(tmp_path, whole_run, kind, count):
    file, folder = dump_json(tmp_path / "config.json", WHOLE), tmp_path / "run"
    command = [sys.executable, "-c", DEATH, str(file), str(folder), kind, str(count)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (9, "")
    assert len(load_metrics(folder)) < len(whole_run[1])
    resume(folder)
    assert same(folder, whole_run)


def test_metrics_longer_than_the_checkpoint_says(tmp_path, whole_run):
    folder = run(WHOLE, tmp_path / "run", stop=stop_after(9)).folder
    with open(folder / "metrics.jsonl", "ab") as file:
        file.write(b'{"step": 60, "seconds": 1.0, "average": 9.0, "current": 9.0}\nhalf a li')
    resume(folder)
    assert same(folder, whole_run)


def test_without_a_checkpoint_it_starts_again_in_the_same_folder(tmp_path, whole_run):
    folder = run(WHOLE, tmp_path / "run").folder
    (folder / "checkpoint.npz").unlink()
    (folder / "checkpoint.previous.npz").unlink()
    opened = open_run(folder)
    assert (opened.step, opened.records) == (0, [])
    assert "has no checkpoint: starting from the first step" in opened.note
    opened.advance()
    assert same(folder, whole_run)
    assert "resumed" not in json.loads((folder / "env.json").read_text())


def test_half_written_files_are_swept_away(tmp_path, whole_run):
    folder = run(WHOLE, tmp_path / "run", stop=stop_after(9)).folder
    for name in (".checkpoint.next.npz.ab12", "checkpoint.next.npz", "checkpoint.spare.npz"):
        (folder / name).write_bytes(b"PK half")
    resume(folder)
    assert same(folder, whole_run)
    kept = {"checkpoint.npz", "checkpoint.previous.npz", "config.json", "env.json"}
    assert set(file_contents(folder)) == kept | {"heartbeat.json", "metrics.jsonl", "process.json"}


@pytest.mark.parametrize("size", [0, 100, -30])
def test_damaged_checkpoints_give_way_to_the_previous_one(tmp_path, whole_run, size):
    folder = run(WHOLE, tmp_path / "run").folder
    path = folder / "checkpoint.npz"
    path.write_bytes(path.read_bytes()[:size])
    opened = open_run(folder)
    assert opened.step == 150
    assert "damaged" in opened.note
    assert f"continuing from {folder / 'checkpoint.previous.npz'}" in opened.note
    opened.advance()
    assert same(folder, whole_run)


def test_two_damaged_checkpoints_are_an_error(tmp_path):
    folder = run(WHOLE, tmp_path / "run").folder
    for name in ("checkpoint.npz", "checkpoint.previous.npz"):
        (folder / name).write_bytes(b"nothing")
    before = file_contents(folder)
    with pytest.raises(RunError, match=r"damaged.*damaged.*remove them to start again"):
        resume(folder)
    assert file_contents(folder) == before


def test_lost_records(tmp_path, whole_run):
    folder = run(WHOLE, tmp_path / "run").folder
    path = folder / "metrics.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:9]))  # up to step 160; the previous checkpoint is at 150
    opened = open_run(folder)
    assert opened.step == 150
    assert "lacks records" in opened.note
    opened.advance()
    assert same(folder, whole_run)
    path.write_bytes(lines[0])
    before = file_contents(folder)
    with pytest.raises(RunError, match=r"lacks records that .*; restore them, or remove"):
        resume(folder)
    assert file_contents(folder) == before


def test_finished_runs_are_left_alone(tmp_path):
    folder = run(WHOLE, tmp_path / "run").folder
    before = file_contents(folder)
    assert open_run(folder).finished
    result = resume(folder)
    assert (result.step, result.stopped, len(result.records)) == (200, False, 11)
    assert file_contents(folder) == before


def test_finished_runs_may_be_made_longer(tmp_path, whole_run):
    folder = run(WHOLE | {"spec": WHOLE["spec"] | {"max_steps": 120}}, tmp_path / "run").folder
    with pytest.raises(ConfigError, match="is at step 120 already, beyond 100"):
        resume(folder, max_steps=100)
    assert resume(folder, max_steps=200).step == 200
    assert same(folder, whole_run)
    assert json.loads((folder / "config.json").read_text())["spec"]["max_steps"] == 200


def test_evaluations_may_become_denser(tmp_path):
    folder = run(WHOLE | {"spec": WHOLE["spec"] | {"evaluate_every": 100}}, tmp_path / "run").folder
    whole = json.loads((folder / "config.json").read_text())
    whole["spec"] |= {"evaluate_every": 7, "max_steps": 220}
    dump_json(folder / "config.json", whole)
    assert [r["step"] for r in resume(folder).records] == [1, 100, 200, 203, 210, 217, 220]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"game": {"name": "leduc_poker", "params": {}}},
            "from another run: game is kuhn_poker there, leduc_poker here",
        ),
        (
            {"algorithm": "cfr", "spec": {"max_steps": 300}},
            "algorithm is cfr_hedge there, cfr here",
        ),
        ({"spec": WHOLE["spec"] | {"eta": 21}}, "eta is 20.0 there, 21.0 here"),
        ({"spec": WHOLE["spec"] | {"seed": 5}}, "seed is 0 there, 5 here"),
    ],
)
def test_foreign_checkpoints_are_refused(tmp_path, change, message):
    folder = run(WHOLE, tmp_path / "run").folder
    dump_json(folder / "config.json", json.loads((folder / "config.json").read_text()) | change)
    before = file_contents(folder)
    with pytest.raises(ConfigError, match=message):
        resume(folder, max_steps=400)
    assert file_contents(folder) == before


def test_checkpoints_of_another_version_are_refused(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "FORMAT_VERSION", 99)
        folder = run(WHOLE, tmp_path / "run").folder
    before = file_contents(folder)
    with pytest.raises(ConfigError, match=r"is a checkpoint of version 99 \(counterplay .*, not 2"):
        resume(folder, max_steps=400)
    assert file_contents(folder) == before


def test_other_files_are_no_checkpoints(tmp_path):
    folder = run(WHOLE, tmp_path / "run").folder
    write_archive(folder / "checkpoint.npz", "counterplay policy 1", {"x": np.zeros(3)})
    before = file_contents(folder)
    with pytest.raises(ConfigError, match="it is a 'counterplay policy 1' file"):
        resume(folder, max_steps=400)
    assert file_contents(folder) == before


@pytest.mark.parametrize("part", ["identity", "progress", "scalars"])
def test_incomplete_checkpoints(tmp_path, part):
    folder = run(WHOLE, tmp_path / "run").folder
    path = folder / "checkpoint.npz"
    values = read_archive(path, checkpoints.CHECKPOINT_FORMAT)
    del values[part]
    write_archive(path, checkpoints.CHECKPOINT_FORMAT, values)
    assert "is not a complete checkpoint" in open_run(folder).note


def test_checkpoints_must_fit_the_memory(tmp_path):
    folder = run(WHOLE, tmp_path / "run").folder
    path = folder / "checkpoint.npz"
    values = read_archive(path, checkpoints.CHECKPOINT_FORMAT)
    values["memory.regret"] = values["memory.regret"].astype(np.float32)
    write_archive(path, checkpoints.CHECKPOINT_FORMAT, values)
    with pytest.raises(
        ConfigError, match=r"does not fit this .*: regret is float32 \[25\], must be"
    ):
        resume(folder)


def test_a_folder_without_a_run(tmp_path):
    with pytest.raises(ConfigError, match="there is no run in"):
        resume(tmp_path)
    new_run(WHOLE, tmp_path / "runs" / "run")
    with pytest.raises(ConfigError, match="is not the folder of a run"):
        resume(tmp_path / "runs")


def test_file_systems_without_links(tmp_path, monkeypatch, whole_run):
    def link(*_):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", link)
    folder = run(WHOLE, tmp_path / "run").folder
    assert same(folder, whole_run)
    (folder / "checkpoint.npz").unlink()
    assert open_run(folder).step == 150


@pytest.mark.parametrize(
    "algorithm",
    [
        *("cfr_plus", "cfr_br", "pcfr_plus", "xfp", "batch_fsp", "toy"),
        *("external_sampling", "outcome_sampling", "vr_mccfr_plus"),
    ],
)
def test_other_algorithms(tmp_path, algorithm):
    whole = config(algorithm, max_steps=120)
    run(whole, tmp_path / "whole")
    folder = run(whole, tmp_path / "run", stop=stop_after(6)).folder
    resume(folder)
    assert load_final_state(folder) == load_final_state(tmp_path / "whole")
    assert load_untimed_records(folder) == load_untimed_records(tmp_path / "whole")


@pytest.mark.slow
def test_deep_algorithms(tmp_path):
    pytest.importorskip("jax")
    if "deep_hedge" not in ALGORITHMS:
        pytest.skip("no deep algorithm yet")
    whole = config("deep_hedge", max_steps=300) | {"networks": {"hidden_sizes": [8]}}
    run(whole, tmp_path / "whole")
    folder = run(whole, tmp_path / "run", stop=stop_after(7)).folder
    resume(folder)
    assert load_final_state(folder) == load_final_state(tmp_path / "whole")
    assert load_untimed_records(folder) == load_untimed_records(tmp_path / "whole")
