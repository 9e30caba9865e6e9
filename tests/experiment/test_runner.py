"""Runs: the files they write, and when they stop."""

from __future__ import annotations

import errno
import json
import sys

import numpy as np
import pytest

import counterplay as cp
from counterplay.core import archive as archives
from counterplay.core import solve
from counterplay.core.solve import SolveSession
from counterplay.errors import ConfigError, RunError
from counterplay.experiment import resume, run, runner
from counterplay.experiment import run_folder as files
from counterplay.experiment.metrics import MetricsWriter, load_metrics
from counterplay.experiment.run_folder import find_runs
from counterplay.experiment.run_status import read_status
from counterplay.experiment.runner import new_run, open_run
from tests.experiment.conftest import config, file_contents, load_final_state, load_untimed_records


def test_run_folder_has_all_files(tmp_path):
    result = run(config("cfr_hedge", eta=40), runs_folder=tmp_path / "runs")
    assert result.folder.parent == tmp_path / "runs" / "small"
    assert sorted(file_contents(result.folder)) == [
        "checkpoint.npz",
        "checkpoint.previous.npz",
        "config.json",
        "env.json",
        "heartbeat.json",
        "metrics.jsonl",
        "process.json",
    ]
    whole = json.loads((result.folder / "config.json").read_text())
    assert whole["spec"]["eta"] == 40.0
    assert whole["spec"]["decay_power"] == 0.25
    env = json.loads((result.folder / "env.json").read_text())
    assert env["seed"] == 0
    assert env["versions"]["counterplay"] == cp.__version__
    assert {"commit", "platform", "time"} <= set(env)
    assert {"numpy", "numba", "python"} <= set(env["versions"])
    assert (result.step, result.stopped) == (200, False)


@pytest.mark.parametrize("algorithm", ["cfr_plus", "cfr_hedge"])
def test_metrics_are_what_solve_says(kuhn, tmp_path, algorithm):
    result = run(config(algorithm, max_steps=110), tmp_path / "run")
    assert load_metrics(tmp_path / "run") == list(result.records)
    assert [r["step"] for r in result.records] == [1, 20, 40, 60, 80, 100, 110]
    method = cp.load_algorithm(algorithm)
    names = [*method.averages, "current"]
    assert [list(r) for r in result.records] == [["step", "seconds", *names]] * 7
    for record in result.records:
        solved = cp.solve(kuhn, method, iterations=record["step"])
        assert record[names[0]] == solved.exploitability
        for name in names:
            assert record[name] == cp.exploitability(kuhn, solved.policies[name])
    seconds = [r["seconds"] for r in result.records]
    assert seconds == sorted(seconds)
    assert cp.exploitability(kuhn, result.policies[names[0]]) == result.records[-1][names[0]]


def test_algorithms_may_name_their_policies(tmp_path):
    result = run(config("toy", max_steps=5), tmp_path / "run")
    assert [list(r)[2:] for r in result.records] == [["uniform", "same"]] * 2


def test_exact_methods_finish_early(tmp_path):
    result = run(config("sequence_form_lp", max_steps=1000), tmp_path / "run")
    assert (result.step, result.stopped, len(result.records)) == (1, False, 1)
    assert list(result.records[0])[2:] == ["equilibrium"]
    assert open_run(tmp_path / "run").finished
    assert resume(tmp_path / "run", max_steps=2000).step == 1


def test_two_runs_at_once_get_two_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_candidate_paths", lambda parent: [parent / "a", parent / "a-2"])
    folders = [new_run(config(), runs_folder=tmp_path).folder.name for _ in range(2)]
    assert folders == ["a", "a-2"]
    with pytest.raises(ConfigError, match="exists already; choose another folder, or resume"):
        new_run(config(), runs_folder=tmp_path)
    assert sorted(p.name for p in (tmp_path / "small").iterdir()) == folders


def test_an_existing_folder_is_left_alone(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").touch()
    with pytest.raises(ConfigError, match="exists already"):
        run(config(), tmp_path / "run")
    assert [p.name for p in tmp_path.rglob("*")] == ["run", "mine"]


@pytest.mark.parametrize(
    ("whole", "message"),
    [
        (config(game="nim"), "unknown game 'nim'"),
        (config(etaa=1), "unknown key"),
        (config("sequence_form_lp", params={"players": 3}), "needs a two-player zero-sum game"),
    ],
)
def test_bad_input_makes_no_folder(tmp_path, whole, message):
    with pytest.raises(ConfigError, match=message):
        run(whole, runs_folder=tmp_path / "runs")
    assert list(tmp_path.iterdir()) == []


def test_unwritable_places(tmp_path):
    (tmp_path / "runs").touch()
    with pytest.raises(RunError, match=r"cannot create .*runs"):
        run(config(), runs_folder=tmp_path / "runs")


def test_chunks_never_cross_an_evaluation_or_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(solve, "MAX_CHUNK_GROWTH", 10**6)
    seen = []
    run(config(max_steps=130), tmp_path / "run", tick=seen.append)
    assert seen == sorted(set(seen))
    assert {1, 20, 40, 50, 60, 80, 100, 120, 130} <= set(seen)


def test_long_waits_are_cut_short_by_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "MAX_SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    checkpoints = []
    write = runner.write_checkpoint
    monkeypatch.setattr(
        runner, "write_checkpoint", lambda *a: (checkpoints.append(a[3].step), write(*a))[1]
    )
    run(config(max_steps=20), tmp_path / "run")
    assert len(checkpoints) > 2
    assert checkpoints[-1] == 20


@pytest.mark.parametrize(
    ("algorithm", "how", "message"),
    [
        ("toy", "nan", r"memory\.weights\.first holds NaN"),
        ("toy", "runaway", r"memory\.weights\.first has diverged to 2e\+06"),
        ("toy", "shape", r"has changed the shape of its memory: trail\.0 is int8 \[4\]"),
    ],
)
def test_broken_memories_stop_the_run(tmp_path, algorithm, how, message):
    folder = tmp_path / "run"
    with pytest.raises(RunError, match=message) as caught:
        run(config(algorithm, break_at=112, how=how), folder)
    at = 150 if how == "shape" else 120
    assert f"{folder} stopped at step {at}: " in str(caught.value)
    assert f"the last good checkpoint is {folder / 'checkpoint.npz'} (step 100)" in str(
        caught.value
    )
    opened = open_run(folder)
    assert opened.step == 100
    assert np.isfinite(opened.session.memory.weights["first"]).all()


def test_breaking_before_the_first_checkpoint(tmp_path):
    with pytest.raises(RunError, match=r"at step 20: .* there is no checkpoint yet"):
        run(config("toy", break_at=3), tmp_path / "run")
    assert not (tmp_path / "run" / "checkpoint.npz").exists()
    assert [r["step"] for r in load_metrics(tmp_path / "run")] == [1]


def test_large_numbers_outside_of_the_policy_are_accepted(tmp_path):
    assert run(config("toy", break_at=3, how="large elsewhere"), tmp_path / "run").step == 200


def test_a_memory_without_a_policy_is_a_failure_of_the_run(tmp_path):
    with pytest.raises(RunError, match="at step 1: not a probability distribution; there is no"):
        run(config("no_policy"), tmp_path / "run")


def test_infinite_exploitability_stops_the_run(tmp_path, monkeypatch):
    class Judgement:
        exploitability = float("nan")

    monkeypatch.setattr(solve, "judge", lambda tree, policy: Judgement)
    with pytest.raises(RunError, match="at step 1: the exploitability of linear_average is nan"):
        run(config(), tmp_path / "run")


def test_full_disk_keeps_the_checkpoint_before(tmp_path, monkeypatch):
    whole, folder = config(), tmp_path / "run"
    real, calls = archives._write_zip, []

    def fails_at_the_third(file, *arguments):
        calls.append(0)
        if len(calls) == 3:
            file.write(b"half a file")
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, *arguments)

    monkeypatch.setattr(archives, "_write_zip", fails_at_the_third)
    with pytest.raises(RunError) as caught:
        run(whole, folder)
    assert "stopped at step 150: cannot write " in str(caught.value)
    assert "No space left on device" in str(caught.value)
    assert f"the last good checkpoint is {folder / 'checkpoint.npz'} (step 100)" in str(
        caught.value
    )
    assert load_final_state(folder)[0] == 100
    assert not [name for name in file_contents(folder) if name.startswith(".")]
    assert resume(folder).step == 200
    run(whole, tmp_path / "other")
    assert load_final_state(folder) == load_final_state(tmp_path / "other")
    assert load_untimed_records(folder) == load_untimed_records(tmp_path / "other")


def test_full_disk_while_writing_records(tmp_path, monkeypatch):
    opened = new_run(config(), tmp_path / "run")

    def full(self, record):
        raise self._write_error(OSError(errno.ENOSPC, "No space left on device"))

    monkeypatch.setattr(MetricsWriter, "append", full)
    with pytest.raises(RunError, match=r"at step 1: cannot write .*metrics\.jsonl: No space left"):
        opened.advance()


def test_one_process_at_a_time(tmp_path):
    pytest.importorskip("fcntl")
    folder = new_run(config(), tmp_path / "run").folder
    with (
        MetricsWriter(folder, 0),
        pytest.raises(RunError, match=r"another process is running .*run right now"),
    ):
        resume(folder)
    assert resume(folder).step == 200


def test_find_runs(tmp_path):
    runs = tmp_path / "runs"
    folders = [
        new_run(config() | {"name": name}, runs / name / str(n)).folder
        for name in ("a", "b")
        for n in (1, 2)
    ]
    (runs / "a" / ".new-x").mkdir()
    assert find_runs([runs]) == folders
    assert find_runs([runs / "a"]) == folders[:2]
    assert find_runs([folders[3], str(runs), folders[0]]) == [folders[3], *folders[:3]]
    assert find_runs([str(runs / "*" / "2")]) == [folders[1], folders[3]]
    assert find_runs([str(runs / "b*")]) == folders[2:]
    for nothing in (tmp_path / "none", str(runs / "c*"), tmp_path / "runs" / "a" / ".new-x"):
        with pytest.raises(ConfigError, match="there is no run in"):
            find_runs([nothing])


def test_records_under_way(tmp_path):
    folder = tmp_path / "run"
    run(config(), folder)
    whole = load_metrics(folder)
    path = folder / "metrics.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(RunError, match="it ends at step 180, but the run finished at 200"):
        load_metrics(folder)
    (folder / "process.json").unlink()  # so the last line may still be under way
    assert load_metrics(folder) == whole[:-1]
    path.write_text('{"step": 1}\n')
    with pytest.raises(RunError, match="line 1 is damaged"):
        load_metrics(folder)
    path.unlink()
    assert load_metrics(folder) == []


def test_tensorboard_needs_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ConfigError, match=r"pip install 'counterplay\[tensorboard\]'"):
        run(config(), tmp_path / "run", tensorboard=True)
    assert list(tmp_path.iterdir()) == []


def test_tensorboard_gets_the_metrics(tmp_path):
    pytest.importorskip("tensorboardX")
    folder = run(config(max_steps=40), tmp_path / "run", tensorboard=True).folder
    resume(folder, max_steps=60, tensorboard=True)
    files = sorted((folder / "tensorboard").iterdir())
    assert len(files) == 2
    assert b"exploitability/linear_average" in files[0].read_bytes()
    assert b"exploitability/current" in files[1].read_bytes()


def test_devices_are_those_of_jax(tmp_path):
    pytest.importorskip("jax")
    from counterplay.experiment.config import load_config

    settings = load_config(config() | {"device": "tpu"})
    assert run(settings, tmp_path / "run").step == 200  # tabular algorithms do not care
    deep = type("Deep", (), {"required_extra": "deep"})()
    object.__setattr__(settings, "algorithm", deep)
    with pytest.raises(ConfigError, match="device is 'tpu', but JAX finds none here"):
        runner.use_device(settings)
    object.__setattr__(settings, "device", "cpu")
    with runner.use_device(settings):
        pass


def test_a_refused_run_leaves_no_folder(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise ConfigError("not like this")

    monkeypatch.setattr(SolveSession, "advance", refuse)
    with pytest.raises(ConfigError, match="not like this"):
        run(config(), runs_folder=tmp_path / "runs")
    assert list((tmp_path / "runs").iterdir()) == []


def test_what_a_kill_in_the_last_write_left_is_removed(tmp_path):
    folder = run(config(), tmp_path / "run").folder
    process = json.loads((folder / "process.json").read_text())
    gone = {"ended": None, "start": 1}  # not this process
    (folder / "process.json").write_text(json.dumps(process | gone))
    (folder / ".process.json.abc").write_text("{")
    assert read_status(folder).state == "killed"
    resume(folder)  # there is nothing left to do
    assert not list(folder.glob(".*"))
    assert read_status(folder).state == "finished"
