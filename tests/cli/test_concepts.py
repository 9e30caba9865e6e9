"""`counterplay concepts`: values of a game, judgement of a policy, reasons."""

from __future__ import annotations

import json

import counterplay as cp


def test_values_of_kuhn_poker(run):
    answer = run("concepts", "kuhn_poker", "--json")
    facts = json.loads(answer.out)["concepts"]
    assert facts["exact value"] == facts["quasi-perfect equilibrium"] == "-1/18"
    assert facts["subgames"] == 1
    assert "joint plans" in facts["optimal EFCE, values"] or facts["optimal EFCE, values"]


def test_concepts_that_do_not_apply_say_why(run):
    answer = run("concepts", "chicken")
    assert answer.code == 0
    assert "needs a two-player zero-sum game" in " ".join(answer.out.split())
    assert "5.25 5.25" in answer.out


def test_teams(run):
    answer = run("concepts", "kuhn_poker(players=3)", "--teams", "0,1/2", "--json")
    facts = json.loads(answer.out)["concepts"]
    assert round(facts["first team's value (TMECor)"], 6) == -0.041667  # -1/24
    unnamed = run("concepts", "kuhn_poker(players=3)").out
    assert "name two teams, such as --teams 0,2/1" in " ".join(unnamed.split())
    wrong = run("concepts", "kuhn_poker(players=3)", "--teams", "0/1")
    assert "must name each of the players 0 to 2 once" in " ".join(wrong.out.split())
    refused = run("concepts", "kuhn_poker(players=3)", "--teams", "a/b")
    assert refused.code == 2
    assert "must be players by team" in refused.err


def test_judges_a_policy(run, tmp_path):
    path = tmp_path / "uniform.json"
    cp.uniform_policy("kuhn_poker").to_json(path)
    facts = json.loads(run("concepts", "kuhn_poker", "--policy", str(path), "--json").out)
    judged = facts["concepts"]
    assert not judged["equilibrium"] and not judged["sequentially rational"]
    assert round(judged["NashConv"], 6) == 0.916667
    assert judged["at infoset"] in cp.build_tree("kuhn_poker").infoset_keys
    assert "no" in run("concepts", "kuhn_poker", "--policy", str(path)).out


def test_a_negative_tolerance_is_refused(run):
    answer = run("concepts", "kuhn_poker", "--tolerance", "-1")
    assert answer.code == 2
    assert "is negative" in answer.err
