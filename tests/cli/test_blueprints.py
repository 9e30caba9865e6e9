"""Blueprints from the command line: run, export, an expert for a part, a match of three agents."""

from __future__ import annotations

import json

import pytest

GAME = {"players": 3, "blinds": [1, 2, 0], "opens": [2], "raises": [4], "raise_caps": [1]}
SPEC = "poker(players=3,blinds=(1,2,0),opens=(2,),raises=(4,),raise_caps=(1,),board=(0,))"


@pytest.fixture
def blueprints(run, tmp_path, monkeypatch):
    """A base, and an expert for two players that plays with it, as files."""
    monkeypatch.chdir(tmp_path)
    config = {
        "name": "base",
        "algorithm": "external_sampling",
        "game": {"name": "poker", "params": {**GAME, "board": [0]}},
        "abstraction": "by_equity(perfect_recall=False)",
        "arena": "rules",
        "spec": {"max_steps": 3000, "dense_tables": True, "linear_period": 100},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert run("run", "config.json").code == 0
    assert run("export", "runs/base", "base.npz").code == 0
    part = ("--set", "spec.part=heads_up", "--set", "spec.outside=base.npz")
    assert run("run", "config.json", "--name", "expert", *part).code == 0
    assert run("export", "runs/expert", "expert.npz").code == 0


def test_an_expert_plays_with_its_base_at_a_table(run, blueprints):
    answer = run("match", "expert.npz", "base.npz", SPEC, "--episodes", 30_000, "--json")
    facts = json.loads(answer.out)
    assert facts["episodes"] == 30_000 and not facts["exact"]
    score = facts["scores"][0]
    assert score["low"] < score["mean"] < score["high"] and abs(score["mean"]) < 0.5
    names = ("match", "expert.npz", "base.npz", SPEC, "--more", "uniform", "--episodes", 60)
    answer = run(*names, "--sampled")
    assert answer.lines[1:4] == ["A     expert.npz", "B     base.npz", "C     uniform"]
    assert answer.lines[-1] == "60 episodes, the same random numbers for all"


def test_blueprints_are_written_to_files_of_their_own(run, blueprints):
    answer = run("export", "runs/base", "base.json")
    assert answer.code and "is a blueprint; write it to a .npz file" in answer.err
    answer = run("match", "expert.npz", "base.npz", SPEC, "--more", "base.npz", "--aivat")
    assert answer.code and "leave out --more" in answer.err
