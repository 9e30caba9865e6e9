"""Played hands as spots: the published hand, later streets, and hands without a spot."""

from __future__ import annotations

import pytest

from counterplay.arenas.holdem.inspection import find_node
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.cli.main import main
from counterplay.errors import ConfigError
from counterplay.interop.hand_history import parse_hand_history
from counterplay.interop.spot_review import spot_from_hand
from tests.interop.test_hand_history import DWAN_IVEY, HEADS_UP

RANGES = ("A2o,AA,AJs,JJ", "76s,JJ,AJs,33")


def test_the_published_hand_is_a_spot():
    found = spot_from_hand(parse_hand_history(DWAN_IVEY), RANGES)
    assert found.spot.board == "Jc3d5c" and found.names == ("Phil Ivey", "Tom Dwan")
    assert found.spot.pot == 3 * 500 + 2000 + 2 * 23000
    assert found.spot.stacks == (1125600 - 23500, 553500 - 23500)
    line = [(decision.street, decision.action) for decision in found.decisions]
    assert line == [
        ("flop", "bet 35000"),
        ("flop", "call"),
        ("turn", "bet 90000"),
        ("turn", "raise 232600"),
        ("turn", "all-in 495000"),
        ("turn", "call"),
    ]
    assert [d.played == d.action for d in found.decisions] == [True] * 6
    assert {d.hand for d in found.decisions} == {"Ac2d", "7h6h"}
    arena = SpotArena(found.spot)
    for decision in found.decisions:
        node = arena.betting.nodes[find_node(arena, decision.history).node]
        assert node.kind == decision.position and decision.action in node.actions


def test_spots_start_on_later_streets():
    hand = parse_hand_history(DWAN_IVEY)
    found = spot_from_hand(hand, RANGES, "turn")
    assert found.spot.board == "Jc3d5c4h" and found.spot.pot == 49500 + 70000
    assert [d.history for d in found.decisions][:2] == ["", "bet 90000"]
    for street, message in (("river", "no decision on the river"), ("preflop", "must be one of")):
        with pytest.raises(ConfigError, match=message):
            spot_from_hand(hand, RANGES, street)


def test_a_checked_street_and_a_river_bet():
    text = """
variant = "NT"
antes = [0, 0]
blinds_or_straddles = [1, 2]
min_bet = 2
starting_stacks = [200, 200]
actions = [
  "d dh p1 AcAd", "d dh p2 KsQs",
  "p2 cbr 6", "p1 cc",
  "d db 2h7d9s", "p1 cc", "p2 cc",
  "d db Th", "p1 cc", "p2 cbr 8", "p1 cc",
  "d db 3c", "p1 cc", "p2 cbr 20", "p1 f",
]
"""
    found = spot_from_hand(parse_hand_history(text), ("random", "random"))
    assert [d.history for d in found.decisions][2:5] == [
        "check,check|Th",
        "check,check|Th,check",
        "check,check|Th,check,bet 8",
    ]
    assert found.decisions[-1].action == "fold" and found.decisions[-2].action == "bet 20"
    with pytest.raises(ConfigError, match="no decision on the flop"):
        spot_from_hand(parse_hand_history(HEADS_UP), RANGES)


def test_the_command_prices_decisions(tmp_path, capsys):
    file = tmp_path / "hand.phh"
    file.write_text(DWAN_IVEY)
    command = ["review", str(file), "--street", "turn", "-t", "5%", "--oop", RANGES[0]]
    assert main([*command, "--ip", RANGES[1]]) == 0
    shown = capsys.readouterr().out
    assert "EV loss" in shown and "Ac2d" in shown and "7h6h" in shown
    assert main(command) == 2
    assert "--ip" in capsys.readouterr().err
    file.write_text(HEADS_UP)
    assert main([*command, "--ip", RANGES[1]]) == 2
    assert "no hand is heads-up" in capsys.readouterr().err
