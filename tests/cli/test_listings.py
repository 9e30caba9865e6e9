"""`games` and `algorithms`."""

from __future__ import annotations

import json

import pytest

from counterplay.registry import ALGORITHMS, GAMES

LISTINGS = [("games", GAMES), ("algorithms", ALGORITHMS)]


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize(("command", "registry"), LISTINGS)
def test_everything_is_listed_at_any_width(run, monkeypatch, command, registry, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    answer = run(command)
    assert answer.code == 0
    names = [line.split()[0] for line in answer.lines if not line.startswith(" ")]
    assert names == list(registry)
    assert max(map(len, answer.lines)) <= columns


@pytest.mark.parametrize(("command", "registry"), LISTINGS)
def test_json_lists_the_registry(run, command, registry):
    found = json.loads(run(command, "--json").out)
    assert [entry["name"] for entry in found] == list(registry)
    assert all(entry["summary"].endswith(".") for entry in found)


def entries(text):
    """The listing by name, each entry in one line."""
    found, name = {}, ""
    for line in text.splitlines():
        name = name if line.startswith(" ") else line.split()[0]
        found[name] = f"{found.get(name, '')} {' '.join(line.split())}".strip()
    return found


def test_parameters_and_summary_of_games(run):
    rows = entries(run("games").out)
    assert "(players=2, num_cards=0)" in rows["kuhn_poker"]
    assert "(Kuhn, 1950), for any number of players." in rows["kuhn_poker"]
    assert "(payoffs=(required), action_names=())" in rows["matrix_game"]
    assert "(payoffs=..., " in rows["rock_paper_scissors"]
    assert "=" not in rows["tic_tac_toe"]


def test_json_has_what_the_table_has_no_room_for(run):
    found = {entry["name"]: entry for entry in json.loads(run("games", "--json").out)}
    assert found["kuhn_poker"]["parameters"] == {"players": 2, "num_cards": 0}
    assert found["matrix_game"]["required"] == ["payoffs"]
    assert found["rock_paper_scissors"]["parameters"]["payoffs"][0][0] == [0.0, -1.0, 1.0]


def test_summaries_of_algorithms_stop_before_the_equations(run):
    rows = entries(run("algorithms").out)
    assert rows["cfr_plus"] == "cfr_plus CFR+ (Tammelin, 2014). (delay=0)"
    assert rows["sequence_form_lp"].endswith("solved by HiGHS in one step. (tolerance=1e-06)")
