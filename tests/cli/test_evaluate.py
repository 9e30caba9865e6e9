"""`evaluate`."""

from __future__ import annotations

import json

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.game_arena import GAME_POLICY_FORMAT
from counterplay.core.archive import read_format_name, write_archive
from counterplay.experiment import saved_policies


@pytest.fixture
def uniform(tmp_path):
    """A file with the uniform policy of Kuhn poker: exploitability 11/24."""
    file = tmp_path / "uniform.policy"
    cp.uniform_policy(cp.build_tree(cp.load_game("kuhn_poker"))).save(file)
    return file


def test_text_shows_values_and_exploitability(run, uniform):
    answer = run("evaluate", uniform)
    assert answer.code == 0
    assert answer.lines == [
        "game  kuhn_poker",
        "player  value      best response  gain",
        "0       0.125000   0.500000       3.75e-01",
        "1       -0.125000  0.416667       5.42e-01",
        "NashConv        9.17e-01",
        "exploitability  4.58e-01",
    ]


def test_json_has_values_and_exploitability(run, uniform):
    result = json.loads(run("evaluate", uniform, "--json").out)
    assert result["game"] == "kuhn_poker"
    assert result["values"] == pytest.approx([1 / 8, -1 / 8])
    assert result["best_values"] == pytest.approx([1 / 2, 5 / 12])
    assert result["gains"] == pytest.approx([3 / 8, 13 / 24])
    assert result["nash_conv"] == pytest.approx(11 / 12)
    assert result["exploitability"] == pytest.approx(11 / 24)


def test_export_writes_a_table(run, uniform, tmp_path):
    file = tmp_path / "uniform.csv"
    answer = run("evaluate", uniform, "--export", file)
    assert answer.err == f"wrote {file}\n"
    lines = file.read_text().splitlines()
    assert lines[0] == "player,infoset,action,probability"
    assert len(lines) == 25
    assert "0,0pb,bet,0.5" in lines


def test_the_game_may_be_given(run, uniform):
    assert run("evaluate", uniform, "--game", "kuhn_poker(num_cards=3)").code == 0


def test_missing_file(run, tmp_path):
    file = tmp_path / "none.policy"
    answer = run("evaluate", file)
    assert (answer.code, answer.err) == (2, f"error: there is no file {file}\n")


def test_foreign_policy(run, uniform):
    answer = run("evaluate", uniform, "--game", "leduc_poker")
    assert answer.code == 2
    assert answer.err.startswith(f"error: {uniform} is a policy for kuhn_poker ")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "archive", "directory"])
def test_damaged_file(run, uniform, damage):
    whole = uniform.read_bytes()
    if damage == "directory":
        uniform.unlink()
        uniform.mkdir()
    elif damage == "archive":  # one of NumPy's, but none of ours
        np.savez(uniform.with_suffix(".npz"), probabilities=np.zeros(3))
        uniform.with_suffix(".npz").rename(uniform)
    else:
        uniform.write_bytes({"cut": whole[: len(whole) // 2], "text": b"hello"}.get(damage, b""))
    answer = run("evaluate", uniform)
    if damage == "directory":
        assert answer == (2, "", f"error: there is no run in {uniform}\n")
        return
    assert answer.code == 2
    assert answer.err.startswith(f"error: cannot read {uniform}: ")
    assert answer.err.count("\n") == 1


def test_bad_export_name(run, uniform):
    assert run("evaluate", uniform, "--export", "x.xml").code == 2


def test_policies_of_public_trees(run, tmp_path, monkeypatch):
    path = tmp_path / "flop.policy"
    write_archive(path, GAME_POLICY_FORMAT, {"policy": np.zeros(3, np.uint16)})
    assert read_format_name(path) == GAME_POLICY_FORMAT
    assert read_format_name(tmp_path / "none") == ""
    code, _, error = run("evaluate", path)
    assert code == 2 and "not a whole policy" in error
    whole = HoldemPolicy(None, None, None)
    monkeypatch.setattr(saved_policies, "load_holdem_policy", lambda path: whole)
    assert saved_policies.load_policies(path, allow_holdem=True) == {"policy": whole}
    for command in ("show", "export"):
        code, _, error = run(command, path, *([tmp_path / "x.json"] if command == "export" else []))
        assert code == 2 and "whole ranges of hands" in error


def test_agent_that_searches(run):
    answer = run("evaluate", "--agent", "is_mcts(simulations=5)", "kuhn_poker", "--seeds", "2")
    assert answer.code == 0
    assert answer.lines[:2] == ["game   kuhn_poker", "agent  is_mcts(simulations=5)"]
    names = [line.split()[0] for line in answer.lines[5:]]
    assert names == ["NashConv", "exploitability", "by", "per"]


def test_agent_as_json_and_export(run, tmp_path):
    file = tmp_path / "agent.json"
    options = ("--agent", "resolving(iterations=50)", "--json", "--export", file)
    facts = json.loads(run("evaluate", "kuhn_poker", *options).out)
    assert facts["agent"] == "resolving(iterations=50)" and facts["seconds_per_decision"] > 0.0
    assert facts["exploitability"] == pytest.approx(cp.exploitability(cp.load_policy(file)))
    assert facts["by_seed"] == [pytest.approx(facts["exploitability"])]


@pytest.mark.parametrize(
    ("game", "agent", "note"),
    [
        ("matching_pennies", "resolving", "has one public state: its players never know anything"),
        ("kuhn_poker", "resolving(seconds=1e-9)", "a time limit of 1e-09 s is too short"),
    ],
)
def test_warnings_of_agents_are_one_line_each(run, game, agent, note):
    answer = run("evaluate", "--agent", agent, game)
    (line,) = [line for line in answer.err.splitlines() if note in line]
    assert line.startswith("note: ") and "UserWarning" not in answer.err


def test_paths_without_quotes_are_explained(run):
    answer = run("evaluate", "--agent", "resolving(blueprint=runs/leduc)", "kuhn_poker")
    assert answer.code == 2 and "with quotes around paths" in answer.err


def test_unknown_agent(run):
    answer = run("evaluate", "--agent", "is_mtcs", "kuhn_poker")
    assert answer.code != 0 and "did you mean 'is_mcts'" in answer.err
