"""`run`, `resume`, `plot` and `compare`."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from counterplay.experiment.metrics import load_metrics
from tests.experiment.conftest import (
    config,
    dump_json,
    file_contents,
    load_final_state,
    load_untimed_records,
)

COMMAND = [sys.executable, "-m", "counterplay.cli.main"]


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return dump_json(tmp_path / "config.json", config(max_steps=1000, evaluate_every=100))


def only_run(tmp_path):
    (folder,) = (tmp_path / "runs" / "small").iterdir()
    return folder


def test_prints_some_records_and_where_the_rest_is(run, file, tmp_path):
    answer = run("run", file)
    assert answer.code == 0
    assert answer.lines[0] == "step  linear_average  average  current"
    assert answer.lines[1].startswith("1  4.58e-01  ")
    assert answer.lines[-1].startswith("1000  8.74e-05  ")
    assert [int(line.split()[0]) for line in answer.lines[1:]] == [1, 100, 200, 500, 1000]
    folder = only_run(tmp_path)
    assert answer.err.startswith(f"running runs/small/{folder.name}\n1,000 steps in ")
    assert answer.err.count("\n") == 2
    assert len(load_metrics(folder)) == 11


def test_the_last_record_is_printed_even_if_it_is_not_round(run, file):
    lines = run("run", file, "--steps", 330).lines
    assert [int(line.split()[0]) for line in lines[1:]] == [1, 100, 200, 330]


def test_options_override_the_config(run, file, tmp_path):
    answer = run(
        *("run", file, "--seed", 3, "--steps", 20, "--name", "other", "--runs", tmp_path / "here"),
        *("--set", "algorithm=cfr_hedge", "--set", "eta=7", "--set", "game.params.players=3"),
        "--json",
    )
    assert answer.code == 0
    *records, result = map(json.loads, answer.lines)
    assert [record["step"] for record in records] == [1, 20]
    assert (result["name"], result["step"], result["stopped"]) == ("other", 20, False)
    assert result["last"]["step"] == 20
    (folder,) = (tmp_path / "here" / "other").iterdir()
    assert result["folder"] == str(folder)
    whole = json.loads((folder / "config.json").read_text())
    assert (whole["spec"]["seed"], whole["spec"]["eta"]) == (3, 7.0)
    assert whole["game"]["params"]["players"] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "etaa=1"], "config.json: spec.etaa: unknown key"),
        (["--set", "eta"], "--set 'eta': write key=value, such as epsilon=0.1"),
        (["--set", "game.name=kuhn"], "unknown game 'kuhn'; did you mean 'kuhn_poker'?"),
        (["--set", "device=abacus"], "device is \"abacus\", must be one of 'cpu', 'gpu' or 'tpu'"),
        (["--name", "a/b"], 'name is "a/b"'),
        (["--steps", "0"], "--steps"),
        (["--seed", "-1"], "--seed"),
    ],
)
def test_bad_usage(run, file, tmp_path, options, message):
    answer = run("run", file, *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_a_missing_config(run, tmp_path):
    answer = run("run", tmp_path / "none.json")
    assert (answer.code, answer.err) == (2, f"error: there is no file {tmp_path / 'none.json'}\n")


def test_interrupt_and_resume(run, file, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        _stop_at_question(patch, 4)
        answer = run("run", file)
    folder = only_run(tmp_path)
    assert answer.code == 130
    assert "interrupted at step " in answer.err
    assert answer.err.endswith(f"to continue: counterplay resume runs/small/{folder.name}\n")
    again = run("resume", "runs/small")  # the only run there
    assert again.code == 0
    assert again.lines[-1].startswith("1000  8.74e-05  ")
    finished = run("resume", folder)
    assert (finished.code, finished.out) == (0, "")
    more = f"to continue: counterplay resume {folder} --steps 2000\n"
    assert finished.err == f"{folder} is finished, at step 1,000; {more}"
    assert json.loads(run("resume", folder, "--json").out)["step"] == 1000
    longer = run("resume", folder, "--steps", 1500)
    assert longer.code == 0
    assert longer.lines[-1].startswith("1500  ")
    assert run("resume", folder, "--steps", 500).code == 2


def _stop_at_question(monkeypatch, count):
    """Let the signal come when the run asks for the `count`-th time."""

    @contextmanager
    def first_signal():
        answers = iter([False] * (count - 1))
        yield lambda: next(answers, True)

    monkeypatch.setattr("counterplay.cli.progress.catch_first_signal", first_signal)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_checkpoint_and_the_run_goes_on(run, tmp_path, number):
    """Stop a long run at some moment; run to a step beyond, once with and once without the stop."""
    file = dump_json(
        tmp_path / "long.json",
        config("cfr_hedge", max_steps=10**9, evaluate_every=2000, checkpoint_every=10**6),
    )
    command = [*COMMAND, "run", str(file), "--runs", str(tmp_path / "runs")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for _ in range(4):
            process.stdout.readline()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    folder = only_run(tmp_path)
    assert process.returncode == 130
    assert err.endswith(f"to continue: counterplay resume {folder}\n")
    reached = load_final_state(folder)[0]
    end = (reached // 2000 + 2) * 2000
    assert run("resume", folder, "--steps", end).code == 0
    other = ("run", file, "--runs", tmp_path / "other", "--steps", end)
    whole = json.loads(run(*other, "--json").lines[-1])["folder"]
    assert load_final_state(folder) == load_final_state(type(folder)(whole))
    assert load_untimed_records(folder) == load_untimed_records(whole)


def test_resume_of_the_wrong_thing(run, file, tmp_path):
    run("run", file)
    folder = only_run(tmp_path)
    run("run", file, "--name", "small", "--seed", 1)
    answer = run("resume", tmp_path / "runs")
    assert answer.code == 2
    assert "has 2 runs; to continue them all: " in answer.err
    assert run("resume", tmp_path / "nowhere").code == 2
    whole = json.loads((folder / "config.json").read_text())
    dump_json(folder / "config.json", whole | {"game": {"name": "leduc_poker"}})
    before = file_contents(folder)
    answer = run("resume", folder)
    assert answer.code == 2
    assert "game is kuhn_poker there, leduc_poker here" in answer.err
    assert answer.err.count("\n") == 1
    assert file_contents(folder) == before


def test_damaged_checkpoints_are_mentioned(run, file, tmp_path):
    run("run", file)
    folder = only_run(tmp_path)
    (folder / "checkpoint.npz").write_bytes(b"")
    answer = run("resume", folder)
    assert answer.code == 0
    assert f"continuing from {folder / 'checkpoint.previous.npz'}" in answer.err


def test_bar_shows_rate_time_left_and_exploitability(run, file, monkeypatch):
    shown = []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(
        "counterplay.cli.progress.ProgressBar.update",
        lambda self, done, total=0, note="": shown.append((done, self.total, self.unit, note)),
    )
    assert run("run", file).code == 0
    done, total, unit, note = shown[-1]
    assert (done, total, unit) == (1000, 1000, "steps")
    assert "s left, exploitability 1." in note


def test_tensorboard_without_its_package(run, file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    answer = run("run", file, "--tensorboard")
    assert answer.code == 2
    assert "pip install 'counterplay[tensorboard]'" in answer.err
    assert not (tmp_path / "runs").exists()


def test_compare_prints_a_row_per_name(run, file, tmp_path):
    for seed in range(2):
        run("run", file, "--seed", seed)
    run("run", file, "--name", "hedge", "--set", "algorithm=cfr_hedge")
    answer = run("compare", "runs")
    header, hedge, small = answer.lines
    assert header.split()[:6] == ["name", "runs", "step", "exploitability", "best", "current"]
    assert hedge.split()[:3] == ["hedge", "1", "1,000"]
    assert small.split()[:5] == ["small", "2", "1,000", "8.74e-05", "8.39e-05"]
    rows = json.loads(run("compare", "runs/*", "--json", "--at", 150).out)
    assert [row["step"]["median"] for row in rows] == [100, 100]
    table = list(csv.DictReader(run("compare", "runs", "--csv").lines))
    assert [row["runs"] for row in table] == ["1", "2"]
    assert run("compare", "runs", "--csv", "--json").code == 2
    assert run("compare", "nowhere").code == 2


def test_plot_writes_svg_and_html(run, file, tmp_path):
    run("run", file)
    run("run", file, "--name", "hedge", "--set", "algorithm=cfr_hedge")
    for name in ("out.svg", "out.html"):
        answer = run("plot", "runs", "--output", name)
        assert (answer.code, answer.out, answer.err) == (0, "", f"wrote {name}\n")
        assert (tmp_path / name).stat().st_size > 10_000
    assert ">hedge (average)</text>" in (tmp_path / "out.svg").read_text()
    options = ("--policy", "current", "--x", "seconds", "--title", "Kuhn", "--log-x")
    assert run("plot", "runs/hedge", "-o", "out.svg", *options).code == 0
    assert ">Kuhn</text>" in (tmp_path / "out.svg").read_text()
    assert run("plot", "runs", "-o", "out.gif").code == 2
    assert run("plot", "runs").code == 2
    assert run("plot", "runs", "-o", "nowhere/out.png").code == 2
    assert run("plot", "runs", "-o", "out.png", "--reference", "none.json").code == 2


def test_compare_prints_tables_for_papers(run, file, tmp_path):
    assert run("run", file, "--runs", tmp_path / "runs", "--seeds", "0-2").code == 0
    answer = run("compare", tmp_path / "runs", "--table", "latex")
    assert answer.code == 0
    assert r"\begin{tabular}" in answer.out
    for options, problem in (
        (("--table", "html"), "unknown table format 'html'"),
        (("--baseline", "x"), "--baseline adds a column to --table"),
        (("--table", "csv", "--json"), "exclude each other"),
        (("--table", "csv", "--baseline", "x"), "no run is called 'x'"),
    ):
        refused = run("compare", tmp_path / "runs", *options)
        assert refused.code == 2
        assert problem in refused.err
