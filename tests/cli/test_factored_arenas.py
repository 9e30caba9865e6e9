"""Commands take generated arenas where they take trees."""

from __future__ import annotations

import json
import re

import pytest

import counterplay as cp
from counterplay.arenas import build
from counterplay.cli.main import main

SPEC = "dark_hex(num_rows=2,num_cols=2)"
CONFIG = {
    "name": "hex",
    "algorithm": "pcfr_plus",
    "game": {"name": "dark_hex", "params": {"num_rows": 2, "num_cols": 2}},
    "arena": "generated",
    "spec": {"max_steps": 20, "evaluate_every": 10, "checkpoint_every": 10},
}


@pytest.fixture
def all_generated(monkeypatch):
    monkeypatch.setattr(build, "MIN_INFOSETS_FOR_FACTORED", 1)


def test_solve_and_evaluate(all_generated, tmp_path, capsys):
    file = tmp_path / "hex.policy"
    solve = ["solve", SPEC, "--algorithm", "pcfr_plus", "--iterations", "50", "--json"]
    assert main([*solve, "--save", str(file)]) == 0
    solved = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert main(["evaluate", str(file), "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    assert judged["exploitability"] == solved["exploitability"]
    tree = cp.build_tree(cp.load_game(SPEC))
    stored = cp.solve(tree, cp.algorithms.PCFRPlus(), iterations=50)
    assert solved["exploitability"] == pytest.approx(stored.exploitability, abs=1e-12)


def test_algorithms_that_need_nodes_get_a_tree(all_generated, capsys):
    assert main(["solve", SPEC, "--algorithm", "external_sampling", "--iterations", "5"]) == 0
    assert "exploitability" in capsys.readouterr().out


def test_too_large_for_anything(capsys):
    assert main(["solve", "dark_hex(num_rows=9,num_cols=9)"]) == 1
    error = capsys.readouterr().err
    assert "infosets: its arena and an algorithm take at least" in error
    assert error.count("\n") == 1
    walked = ["solve", "dark_hex(num_rows=4,num_cols=4)", "--algorithm", "external_sampling"]
    assert main(walked) == 1
    assert re.search(
        r"nodes: its tree takes about .* GiB.*solve --sampled", capsys.readouterr().err
    )


def test_runs_resume(tmp_path):
    from counterplay.experiment import resume, run

    whole = run(CONFIG, tmp_path / "whole")
    short = run(CONFIG, tmp_path / "short", overrides={"spec.max_steps": 10})
    longer = resume(short.folder, max_steps=20)
    policies = [found.policies["average"].probabilities for found in (whole, longer)]
    assert (policies[0] == policies[1]).all()
    assert whole.records[-1]["average"] == longer.records[-1]["average"]


def test_matches_and_play_use_policies_of_generated_arenas():
    arena = cp.build_arena(cp.load_game(SPEC), "generated")
    policy = cp.solve(arena, cp.algorithms.PCFRPlus(), iterations=100).policy
    found = cp.head_to_head(arena.game, policy, cp.TabularPolicy(arena.game), max_episodes=200)
    assert found.scores[0].mean > 0.0
