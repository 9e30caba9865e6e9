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
