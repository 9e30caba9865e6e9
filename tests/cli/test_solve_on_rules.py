"""`solve --sampled`: without a tree."""

from __future__ import annotations

import json


def test_command_line(run, tmp_path):
    file = tmp_path / "leduc.policy"
    options = ("--algorithm", "external_sampling", "--sampled", "--iterations", 200)
    answer = run("solve", "leduc_poker", *options, "--save", file)
    assert answer.code == 0
    assert answer.lines[0] == "iteration  infosets  touched  bytes"
    assert [int(line.split()[0]) for line in answer.lines[1:]] == [1, 2, 5, 10, 20, 50, 100, 200]
    assert "200 iterations in " in answer.err and "nodes/s" in answer.err
    judged = json.loads(run("evaluate", file, "--json").out)
    assert judged["exploitability"] < 2.3736  # uniform play
    stored = json.loads(run("solve", "leduc_poker", *options, "--json").lines[-1])
    assert stored["algorithm"] == "external_sampling"
    assert stored["iterations"] == 200
    assert stored["infosets"] == int(answer.lines[-1].split()[1])


def test_command_line_refusals(run):
    answer = run("solve", "leduc_poker", "--sampled", "--iterations", 3)
    assert answer.code == 0  # without a name, an algorithm that runs on rules
    answer = run("solve", "leduc_poker", "--sampled", "--algorithm", "cfr_plus")
    assert answer.code == 2
    assert answer.err.startswith("error: cfr_plus runs on sequences or vectors; leduc_poker is")
    options = ("--algorithm", "external_sampling", "--sampled", "--target", 0.1)
    answer = run("solve", "leduc_poker", *options)
    assert (answer.code, answer.out) == (2, "")
    assert "a target needs exact exploitability" in answer.err
