"""`counterplay trace`."""

from __future__ import annotations

import json

import pytest

from counterplay.algorithms.cfr.trace import CFRTrace
from counterplay.cli.main import main


def test_the_equations_of_an_update_are_printed(capsys):
    assert main(["trace", "kuhn_poker", "--iterations", "3", "--infoset", "1pb"]) == 0
    out = capsys.readouterr().out
    assert "kuhn_poker, cfr: player 0 at '1pb'" in out
    assert "= 0 * (-1) + 0.1667 * (-1)  = -0.1667" in out
    assert "bet   = 0.5 / 0.75   = 0.6667" in out


def test_json_has_all_iterations_with_the_numbers_of_the_library(capsys):
    assert main(["trace", "kuhn_poker", "-a", "dcfr", "-i", "5", "-p", "1", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    trace = CFRTrace("kuhn_poker", "dcfr")
    assert [step["iteration"] for step in facts["steps"]] == [1, 2, 3, 4, 5]
    for step in facts["steps"]:
        expected = trace.step(step["iteration"], step["infoset"])
        assert step["player"] == 1 and step["regret"] == expected.regret.tolist()
        assert step["histories"][0]["cf_reach"] == expected.histories[0].cf_reach
    assert facts["exploitability"] == trace.exploitability.tolist()


def test_a_learner_is_traced_from_a_given_start(capsys):
    words = ["trace", "rock_paper_scissors", "--learner", "fictitious_play", "-i", "2"]
    assert main([*words, "--initial", "[[1,0,0],[0,1,0]]", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert steps[0]["mixture"] == [1, 0, 0] and steps[1]["mixture"] == [0, 0, 1]
    assert main([*words, "--initial", "uniform"]) == 0
    assert "Next mixture: a best response" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["kuhn"], "unknown game"),
        (["kuhn_poker", "-a", "efr"], "cannot be traced"),
        (["kuhn_poker", "-a", "external_sampling"], "cannot be traced"),
        (["kuhn_poker", "--infoset", "9"], "has no infoset '9'"),
        (["kuhn_poker", "-p", "2"], "--player is 2, must be from 0 to 1"),
        (["kuhn_poker", "-i", "0"], "too small"),
        (["kuhn_poker", "-i", "1e9"], "holds at most"),
        (["kuhn_poker", "--initial", "uniform"], "--learner"),
        (["chicken", "--learner", "x"], "unknown learner"),
        (["chicken", "--learner", "hedge", "-p", "5"], "from 0 to 1"),
        (["chicken", "--learner", "hedge", "--infoset", "x"], "--player"),
        (["chicken", "--learner", "hedge", "--initial", "{"], "one list of probabilities"),
        (["chicken", "--learner", "hedge", "--initial", "[[1,0]]"], "player"),
    ],
)
def test_wrong_input_is_one_line(words, message, capsys):
    assert main(["trace", *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
