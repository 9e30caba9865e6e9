"""`matrix`: tables, JSON, files and refusals."""

from __future__ import annotations

import json

import pytest
from pytest import approx


def test_a_named_game(run):
    answer = run("matrix", "battle_of_the_sexes")
    assert answer.code == 0
    assert answer.lines[0] == "battle_of_the_sexes: 2 players, 2 x 2 actions, general-sum"
    assert "movie  2, 1   0, 0" in answer.lines
    assert "no action is strictly dominated" in answer.lines
    assert "Nash equilibria found: 3 by support_enumeration (these are all)" in answer.lines
    mixed = next(line for line in answer.lines if line.startswith("3 "))
    assert mixed.split()[2:] == ["0", "2/3", "2/3", "movie"]
    assert (
        "correlated equilibria" in answer.lines and "coarse correlated equilibria" in answer.lines
    )


def test_the_order_of_elimination(run):
    answer = run("matrix", "prisoners_dilemma")
    rows = [line.split() for line in answer.lines if "strictly" in line]
    assert [row[:3] for row in rows] == [["1", "0", "cooperate"], ["2", "1", "cooperate"]]
    assert "1 x 1 actions are left" in answer.lines


def test_a_game_with_a_tree(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    answer = run("matrix", "king_ace_poker")
    assert answer.lines[0] == "king_ace_poker: 2 players, 4 x 4 actions, zero-sum"
    row = next(line for line in answer.lines if line.startswith("A: raise, K: raise "))
    assert row.split()[-4:] == ["1", "7/6", "-1/6", "0"]
    assert "the game is degenerate" in answer.out


def test_json_lists_actions_and_equilibria(run):
    facts = json.loads(run("matrix", "chicken", "--json").out)
    assert facts["actions"] == [2, 2]
    assert len(facts["nash"]["equilibria"]) == 3
    best = facts["correlated"][0]
    assert best["objective"] == "welfare"
    assert best["values"] == approx([5.25, 5.25])
    assert [one["objective"] for one in facts["coarse_correlated"]] == [
        *("welfare", "player 0", "player 1", "entropy")
    ]


def test_three_players(run):
    answer = run("matrix", "matching_pennies_3p")
    assert "Nash equilibria found: 1 by support_systems" in answer.out
    assert answer.out.count("1/2    heads") == 3


@pytest.mark.parametrize("method", ["zero_sum_lp", "lemke_howson", "nash_nlp"])
def test_every_method_finds_the_equilibrium(run, method):
    answer = run("matrix", "rock_paper_scissors", "--method", method)
    assert f"Nash equilibria found: 1 by {method}" in answer.out


def test_matrices_are_read_from_files(run, tmp_path):
    (tmp_path / "a.csv").write_text("2,1,5\n-3,-4,-2\n")
    answer = run("matrix", tmp_path / "a.csv")
    assert "2 x 3 actions, zero-sum" in answer.lines[0]
    assert "1 x 1 actions are left" in answer.lines


def test_weak_elimination(run, tmp_path):
    (tmp_path / "a.json").write_text("[[[1, 0], [1, 1]], [[1, 1], [0, 1]]]")
    assert "weakly dominated in the remaining game" in run("matrix", tmp_path / "a.json").out
    assert "1 x 1 actions are left" in run("matrix", tmp_path / "a.json", "--weak").out


def test_learners_print_a_table(run):
    answer = run("matrix", "shapleys_game", "--learner", "hedge", "--iterations", 100)
    rows = [line.split() for line in answer.lines if line[:1].isdigit()]
    assert [int(row[0]) for row in rows] == [1, 2, 5, 10, 20, 50, 100]
    assert "NashConv of the averages" in answer.out
    options = ["--learner", "regret_matching", "--iterations", 300, "--json"]
    facts = json.loads(run("matrix", "chicken", *options).out)
    assert facts["coarse_correlated_gain"] == approx(max(0, *facts["regret"][-1]["regrets"]))


def test_parts_that_are_too_large_are_left_out(run, tmp_path):
    (tmp_path / "a.csv").write_text("1\n" * 30_000)
    answer = run("matrix", tmp_path / "a.csv")
    assert answer.code == 0
    assert "left out: dominance among 30,000 actions" in answer.out
    assert "left out: correlated_equilibrium" in answer.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["leduc_poker"], 1, "reduced pure policies, more than 1,000,000"),
        (["nothing"], 2, "unknown game 'nothing'"),
        (["missing.csv"], 2, "there is no file missing.csv"),
        (["chicken", "--method", "magic"], 2, "unknown method 'magic'"),
        (["chicken", "--method", "zero_sum_lp"], 2, "zero_sum_lp needs two players"),
        (["chicken", "--learner", "hegde"], 2, "did you mean 'hedge'"),
        (["goofspiel(forgetful=true)"], 2, "forget"),
    ],
)
def test_bad_arguments_are_refused(run, arguments, code, message):
    answer = run("matrix", *arguments)
    assert answer.code == code
    assert message in answer.err
