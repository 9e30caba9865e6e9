"""Hand histories: a published hand, side pots, damaged files, and reviews with known losses."""

from __future__ import annotations

import csv
import random

import pytest

import counterplay as cp
from counterplay.cli.main import main
from counterplay.core.game import TERMINAL
from counterplay.interop import acpc_format, hand_history, hand_review

# the hand of Dwan and Ivey, 2009, the example of the format's specification
DWAN_IVEY = """
variant = "NT"
antes = [500, 500, 500]
blinds_or_straddles = [1000, 2000, 0]
min_bet = 2000
starting_stacks = [1125600, 2000000, 553500]
actions = [
  "d dh p1 Ac2d", "d dh p2 ????", "d dh p3 7h6h",
  "p3 cbr 7000", "p1 cbr 23000", "p2 f", "p3 cc",
  "d db Jc3d5c",
  "p1 cbr 35000  # a comment", "p3 cc",
  "d db 4h",
  "p1 cbr 90000", "p3 cbr 232600", "p1 cbr 1067100", "p3 cc",
  "p1 sm Ac2d", "p3 sm 7h6h",
  "d db Jh",
]
players = ["Phil Ivey", "Patrik Antonius", "Tom Dwan"]
finishing_stacks = [572100, 1997500, 1109500]
"""
HEADS_UP = """
variant = "NT"
antes = [0, 0]
blinds_or_straddles = [0.5, 1]
min_bet = 1
starting_stacks = [50, 100]
actions = [
  "d dh p1 AcAd", "d dh p2 ????",
  "p2 cbr 2.50", "p1 cbr 50", "p2 f",
]
finishing_stacks = [52.5, 97.5]
"""
KUHN = """
GAMEDEF
limit
numPlayers = 2
numRounds = 1
blind = 1 1
raiseSize = 1
firstPlayer = 1
maxRaises = 1
numSuits = 1
numRanks = 3
numHoleCards = 1
numBoardCards = 0
END GAMEDEF
"""


def test_published_hand():
    hand = hand_history.parse_hand_history(DWAN_IVEY)
    assert hand.state.to_act == TERMINAL and hand.cards_known
    assert hand.state.contributions == (1_125_600, 2500, 553_500)
    # the longer straight takes the pot; the rest of Ivey's bet goes back
    assert hand.game.utilities(hand.state) == [-553_500.0, -2500.0, 556_000.0]
    assert [d.hole_cards_known for d in hand.decisions].count(False) == 1


def test_heads_up_blinds_are_reversed_and_cents_are_counted():
    hand = hand_history.parse_hand_history(HEADS_UP)
    assert hand.game.blinds == (100, 50) and hand.unit == 100
    assert [d.state.to_act for d in hand.decisions] == [1, 0, 1]
    assert hand.game.utilities(hand.state) == [250.0, -250.0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"p2 f"', '"p1 f"', "not to act"),
        ('"p3 cbr 7000"', '"p3 cbr 2500"', "no legal action"),
        ('"p3 cbr 7000"', '"p3 bet 7000"', "no legal action"),
        ('"p3 cbr 7000"', '"p9 f"', "no player"),
        ("d db 4h", "d db 7h", "twice"),
        ("d db 4h", "d db 4x", "not a card"),
        ('"d db Jc3d5c",', "", "not where cards|not to act|no legal"),
        ('variant = "NT"', 'variant = "PO"', "NT and FT"),
        ("antes = [500, 500, 500]", "antes = [500, 0, 0]", "equal antes"),
        ("[572100, 1997500, 1109500]", "[572100, 1997500, 1109400]", "by the rules"),
        ("starting_stacks = [1125600", "starting_stacks = [-1", "no amount"),
        ('"Tom Dwan"]', "]", "names"),
        ("actions = [", "actions = [1,", "list of strings"),
        ('variant = "NT"', "variant = ", "TOML"),
    ],
)
def test_wrong_histories_are_refused(old, new, message):
    assert old in DWAN_IVEY
    with pytest.raises(cp.ConfigError, match=message):
        hand_history.parse_hand_history(DWAN_IVEY.replace(old, new, 1))


def test_damaged_histories_give_one_sentence():
    rng = random.Random(0)
    refused = 0
    for _ in range(300):
        k = rng.randrange(len(HEADS_UP))
        damaged = HEADS_UP[:k] + rng.choice('"[]=pcf9.\n#') + HEADS_UP[k + 1 :]
        try:
            hand_history.parse_hand_history(damaged)
        except cp.ConfigError as error:
            refused += "\n" not in str(error)
    assert refused > 150


def test_losses_of_a_known_equilibrium(tmp_path, capsys):
    """In Kuhn poker folding a king and calling with a jack are the mistakes."""
    (tmp_path / "kuhn.game").write_text(KUHN)
    log = tmp_path / "match.log"
    log.write_text(
        "STATE:0:rf:Qs|As:1|-1:ann|bob\nSTATE:1:crc:Qs|As:-2|2:ann|bob\nSCORE:-1|1:a|b\n"
    )
    table = tmp_path / "losses.csv"
    words = ["review", str(log), "--game", str(tmp_path / "kuhn.game"), "--csv", str(table)]
    assert main([*words, "--agent", "cfr", "--iterations", "100"]) == 0
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["hand"] for row in rows[:1]] == ["0"] and len(rows) == 5
    losses = [float(row["ev_loss"]) for row in rows]
    assert losses == sorted(losses, reverse=True)
    # a king that folds loses the 4 chips of the pot after a call, less its call of 1: -1 against +2
    assert (rows[0]["cards"], rows[0]["action"], losses[0]) == ("As", "fold", pytest.approx(3.0))
    # a jack that calls loses one chip more than one that folds
    assert (rows[1]["cards"], rows[1]["action"], losses[1]) == ("Qs", "call", pytest.approx(1.0))
    assert max(losses[2:]) < 0.2
    assert capsys.readouterr().out.splitlines()[1].startswith("0 ")


def test_review_of_a_large_game_has_probabilities(tmp_path, capsys):
    path = tmp_path / "hand.phh"
    path.write_text(HEADS_UP)
    assert main(["review", str(path)]) == 0
    assert "0.0002172" in capsys.readouterr().out  # of 4,603 legal actions
    assert main(["review", str(tmp_path / "match.log")]) == 2
    assert "--game" in capsys.readouterr().err


def test_actions_of_a_log_are_those_of_its_states():
    game = acpc_format.parse_game(KUHN)
    hand = acpc_format.parse_log_line(game, "STATE:1:crc:Qs|As:-2|2:ann|bob")
    played = hand_review.hand_from_log(game, hand)
    assert [d.action for d in played.decisions] == [1, 2, 1] and played.state == hand.state
