"""`games` and `algorithms`."""

from __future__ import annotations

import json

import pytest

from counterplay.registry import ALGORITHMS, GAMES

LISTINGS = [("games", GAMES), ("algorithms", ALGORITHMS)]


@pytest.mark.parametrize(("command", "registry"), LISTINGS)
def test_one_line_each(run, command, registry):
    answer = run(command)
    header, *rows = answer.lines
    assert answer.code == 0
    assert header.split()[:2] == [command[:-1], "parameters"]
    assert [row.split()[0] for row in rows] == list(registry)


@pytest.mark.parametrize(("command", "registry"), LISTINGS)
def test_json(run, command, registry):
    entries = json.loads(run(command, "--json").out)
    assert [entry["name"] for entry in entries] == list(registry)
    assert all(entry["summary"].endswith(".") for entry in entries)


def test_parameters_and_summary_of_games(run):
    rows = {line.split()[0]: line for line in run("games").lines}
    assert "players=2, num_cards=0  " in rows["kuhn_poker"]
    assert rows["kuhn_poker"].endswith("(Kuhn, 1950), for any number of players.")
    assert "payoffs=(required), action_names=()  " in rows["matrix_game"]
    assert "payoffs=..., " in rows["rock_paper_scissors"]
    assert rows["tic_tac_toe"].split()[1] == "-"


def test_json_has_what_the_table_has_no_room_for(run):
    entries = {entry["name"]: entry for entry in json.loads(run("games", "--json").out)}
    assert entries["kuhn_poker"]["parameters"] == {"players": 2, "num_cards": 0}
    assert entries["matrix_game"]["required"] == ["payoffs"]
    assert entries["rock_paper_scissors"]["parameters"]["payoffs"][0][0] == [0.0, -1.0, 1.0]


def test_summaries_of_algorithms_stop_before_the_equations(run):
    rows = {line.split()[0]: line for line in run("algorithms").lines}
    assert rows["cfr_plus"].split() == ["cfr_plus", "delay=0", "CFR+", "(Tammelin,", "2014)."]
    assert rows["sequence_form_lp"].endswith("solved by HiGHS in one step.")


def test_wraps_in_a_terminal(run, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    answer = run("games")
    assert max(map(len, answer.lines)) <= 80
    assert len(answer.lines) > len(GAMES) + 1
    assert all(name in answer.out for name in GAMES)
