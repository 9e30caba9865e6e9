"""Progress bars: on stderr, and only where a terminal watches."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from counterplay.cli.progress import ProgressBar, ProgressFollower, build_tree_with_progress
from counterplay.games.kuhn_poker import KuhnPoker

pty = pytest.importorskip("pty")


def test_bar_goes_to_the_terminal_and_results_to_stdout():
    ours, theirs = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "counterplay.cli.main",
        "solve",
        "kuhn_poker",
        "-a",
        "cfr_plus",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True) as process:
        os.close(theirs)
        shown = _read_all(ours)
        lines = process.stdout.read().splitlines()
    assert process.returncode == 0
    assert lines[0] == "iteration  exploitability"
    assert lines[-1] == "1000  8.74e-05"
    assert not any("\x1b" in line for line in lines)
    assert "solving" in shown
    assert "1,000 iterations in " in shown.splitlines()[-1]


def _read_all(handle):
    text = b""
    while True:
        try:
            part = os.read(handle, 4096)
        except OSError:  # the other end is closed
            part = b""
        if not part:
            os.close(handle)
            return text.decode()
        text += part


def test_nothing_without_a_terminal(capsys):
    with ProgressBar("solving", "it", total=10) as bar:
        bar.update(5, note="half")
        bar.print("a result")
    assert capsys.readouterr() == ("a result\n", "")


def test_results_are_printed_beside_the_bar(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    with ProgressBar("solving", "it", total=10) as bar:
        bar.update(5, note="half")
        assert bar.progress.live.is_started
        bar.print("a result")
        assert bar.progress.live.is_started
    assert not bar.progress.live.is_started
    assert capsys.readouterr().out == "a result\n"


def test_building_quickly_shows_nothing(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert build_tree_with_progress(KuhnPoker()).num_nodes == 58
    assert capsys.readouterr() == ("", "")


def test_follower_prints_a_header_when_columns_change(capsys):
    with ProgressFollower("solving", "it", 10) as follower:
        follower.print_row(("step", "average"), (1, "0.5"))
        follower.print_row(("step", "average"), (2, "0.25"))
        follower.print_row(("step", "nodes"), (3, "17"))
        assert not follower.stop()
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["step  average", "1  0.5", "2  0.25", "step  nodes", "3  17"]


def test_follower_shows_time_left_without_the_first_step(monkeypatch):
    clock, notes = [0.0], []
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    monkeypatch.setattr(
        "counterplay.cli.progress.ProgressBar.update",
        lambda self, done, total=0, note="": notes.append(note),
    )
    with ProgressFollower("running", "steps", 100, compiles=True, shows_time_left=True) as follower:
        follower.note = "exploitability 1"
        for seconds, done in ((50.0, 1), (60.0, 11)):
            clock[0] = seconds
            follower.tick(done)
    assert "compiling" in notes
    assert notes[-2:] == ["exploitability 1", "1.5 min left, exploitability 1"]
