"""`counterplay bounds`."""

from __future__ import annotations

import json

from counterplay.cli.main import main


def test_bounds_stand_beside_the_truth(capsys):
    assert main(["bounds", "uniform", "kuhn_poker", "--episodes", "200", "--playouts", "50"]) == 0
    printed = capsys.readouterr().out
    assert "local found" in printed
    assert "of the exact NashConv, 0.916667" in printed
    assert "a match with uniform play earns +0" in printed


def test_without_a_tree_there_is_no_truth(capsys):
    given = ["bounds", "uniform", "kuhn_poker", "--episodes", "400", "--playouts", "50"]
    assert main([*given, "--sampled", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["nash_conv"] is None
    assert facts["local"]["nash_conv"]["low"] <= facts["local"]["nash_conv"]["mean"]
    assert facts["local"]["nash_conv"]["low"] < 0.92
    assert main(["bounds", "unknown_agent", "kuhn_poker"]) == 2


LEDUC = (
    "poker(blinds=(1,1),opens=(0,0),raises=(2,4),raise_caps=(2,2),ranks=3,suits=2,hole=1,"
    "board=(0,1))"
)


def test_poker_agents_meet_local_best_response(capsys):
    """Its winnings are below the exact exploitability of uniform play, 2,374 mbb."""
    words = ["bounds", "uniform", LEDUC, "--lbr", "pot_from_turn", "--episodes", "200"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "local best response (pot_from_turn) wins " in printed and "200 hands" in printed
    words[4] = "fold_call"
    assert main([*words, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["hands"] == 200 and facts["margin_mbb"] > 0.0
    assert facts["wins_mbb"] - facts["margin_mbb"] < 2374.0
    assert main([*words[:3], "--lbr", "all"]) == 2
    assert "must be one of fold_call, pot_from_turn" in capsys.readouterr().err
    assert main(["bounds", "uniform", "kuhn_poker", "--lbr", "fold_call"]) == 2
    assert "is for poker of two players" in capsys.readouterr().err
