"""`inspect`."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from tests.cli.test_usability import OWN

KUHN = {
    "game": "kuhn_poker",
    "players": 2,
    "nodes": 58,
    "terminals": 30,
    "chance_nodes": 4,
    "infosets": 12,
    "infosets_by_player": [6, 6],
    "sequences": 24,
    "longest_episode": 3,
    "longest_history": 5,
    "most_actions": 2,
    "lowest_utilities": [-2.0, -2.0],
    "highest_utilities": [2.0, 2.0],
    "zero_sum": True,
    "constant_sum": True,
    "perfect_recall": True,
}


def test_kuhn_as_json(run):
    facts = json.loads(run("inspect", "kuhn_poker", "--json").out)
    assert facts.pop("memory_bytes") > 58 * 8
    assert facts == KUHN


def test_kuhn_as_text(run):
    answer = run("inspect", "kuhn_poker")
    facts = dict(line.split("  ", 1) for line in answer.lines)
    facts = {name: value.strip() for name, value in facts.items()}
    assert answer.code == 0
    assert facts["nodes"] == "58"
    assert facts["infosets by player"] == "6, 6"
    assert facts["lowest utilities"] == "-2, -2"
    assert facts["zero sum"] == "yes"
    assert facts["memory"].endswith(" KiB")


def test_parameters_reach_the_game(run):
    facts = json.loads(run("inspect", "kuhn_poker(players=3)", "--json").out)
    assert (facts["nodes"], facts["infosets_by_player"]) == (617, [16, 16, 16])


def test_general_sum(run):
    facts = json.loads(run("inspect", "battle_of_the_sexes", "--json").out)
    assert facts["zero_sum"] is False
    assert facts["highest_utilities"] == [2.0, 2.0]


def test_check_comes_first(run):
    answer = run("inspect", "kuhn_poker", "--check")
    assert answer.lines[1].endswith("58 nodes, no fault found, perfect recall")
    assert any(line.split() == ["nodes", "58"] for line in answer.lines)


def test_check_reports_players_who_forget(run):
    answer = run("inspect", "goofspiel(num_cards=4, forgetful=True)", "--check")
    assert answer.code == 0
    assert answer.lines[1].endswith("no fault found, imperfect recall")
    assert any(line.split() == ["perfect", "recall", "no"] for line in answer.lines)


def test_estimate_is_near_the_exact_size(run):
    answer = run("inspect", "kuhn_poker", "--estimate", "--json")
    facts = json.loads(answer.out)
    assert abs(facts["estimated_nodes"] - 58) <= 5 * facts["standard_error"] + 1e-9
    assert facts["build_seconds"] == pytest.approx(facts["estimated_nodes"] / 100_000)
    assert "nodes" not in facts  # nothing was built


def test_estimate_of_a_game_too_large_to_build(run):
    answer = run("inspect", "goofspiel(num_cards=10)", "--estimate")
    assert answer.code == 0
    assert [line.split("  ")[0] for line in answer.lines] == [
        "game",
        "estimated nodes",
        "memory",
        "time to build",
    ]
    assert " +- " in answer.lines[1]
    assert answer.lines[2].endswith(" TiB")
    assert answer.lines[3].endswith(" days")


def test_episode_shows_the_observations_of_all_players(run):
    steps = json.loads(run("inspect", "kuhn_poker", "--episode", "--seed", 1, "--json").out)[
        "episode"
    ]
    assert steps[0]["player"] == -1
    assert steps[0]["actions"] == pytest.approx({"deal 0": 1 / 3, "deal 1": 1 / 3, "deal 2": 1 / 3})
    assert [view["infoset_key"] for view in steps[0]["views"]] == ["", ""]
    for before, after in pairwise(steps):
        assert after["history"] == [*before["history"], before["taken"]]
        assert before["taken"] in before["actions"]
        assert all(len(view["observation"]) == 11 for view in before["views"])
    assert steps[-1]["player"] == -2
    assert sum(steps[-1]["utilities"]) == 0.0


def test_episode_as_text(run):
    first, second = (run("inspect", "kuhn_poker", "--episode", "--seed", 3) for _ in range(2))
    assert first == second
    assert "step 0: (the start)" in first.lines
    assert "  player 0 acts: pass, bet" in first.lines
    assert "  player 1 knows ''  observation 01000000000" in first.lines
    assert first.lines[-1].startswith("  over; utilities ")


def test_episodes_depend_on_the_seed(run):
    texts = {run("inspect", "leduc_poker", "--episode", "--seed", seed).out for seed in range(5)}
    assert len(texts) > 1


def test_observations_that_are_not_zeros_and_ones(run, monkeypatch):
    def observation(self, state, player):
        return [0.5, 3.0]

    monkeypatch.setattr("counterplay.games.kuhn_poker.KuhnPoker.observation", observation)
    assert (
        "  player 0 knows ''  observation 0.5 3" in run("inspect", "kuhn_poker", "--episode").lines
    )


def test_games_without_observations(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    answer = run("inspect", "own.py:Pennies", "--episode")
    assert answer.code == 0
    assert "observation" not in answer.out
