"""Play: no hidden information leaks, no action counts twice, and losses are exact."""

from __future__ import annotations

import json

import pytest
from pytest import approx

import counterplay as cp
from counterplay.core.game import TERMINAL, action_labels
from counterplay.play.episodes import RandomStreams, play_from
from counterplay.studio.worker.studio_worker import StudioWorker
from tests.conftest import game_tree


def test_an_episode_of_kuhn(studio):
    play = studio.post(
        "/api/play", {"game": "kuhn_poker", "policy": "solve:cfr_plus@200", "seat": 0}
    )["play"]
    tree = game_tree("kuhn_poker")
    policy = cp.solve(tree, cp.algorithms.CFRPlus(), iterations=200).policy
    best = cp.mistakes(tree, policy).best_value
    score = lost = 0.0
    for number in range(6):
        state = studio.get(f"/api/play/{play}")
        while not state["over"]:
            assert "seed" not in state and "history" not in state and "utilities" not in state
            body = {"action": 1, "move": state["move"], "number": number}
            stale = body | {"move": state["move"] + 1}
            assert studio.ask("POST", f"/api/play/{play}/act", stale)[0] == 409
            assert studio.ask("POST", f"/api/play/{play}/next", {"number": number})[0] == 409
            code, _ = studio.ask("POST", f"/api/play/{play}/act", body | {"action": 7})
            assert code == 422
            infoset = tree.find_infoset(state["key"], 0)
            first = tree.offset[infoset]
            code, state = studio.ask("POST", f"/api/play/{play}/act", body)
            assert code == 200
            assert studio.ask("POST", f"/api/play/{play}/act", body)[0] == 409  # another tab
            row = best[first : first + 2]
            assert state["decisions"][-1]["loss"] == approx(row.max() - row[1])
            lost += row.max() - row[1]
        score += state["utilities"][0]
        assert state["score"] == approx(score) and state["lost"] == approx(lost)
        assert state["episodes"] == number + 1
        names = [step["name"] for step in state["history"]]
        assert names[0].startswith("deal") and len(names) >= 3
        code, state = studio.ask("POST", f"/api/play/{play}/next", {"number": number})
        assert code == 200 and state["number"] == number + 1
        again = studio.ask("POST", f"/api/play/{play}/next", {"number": number})[1]
        assert again["number"] == number + 1  # pressing twice goes on once
    assert studio.ask("GET", "/api/play/unknown")[0] == 404
    assert studio.ask("POST", f"/api/play/{play}/cheat", {})[0] == 404


@pytest.mark.parametrize("spec", ["kuhn_poker", "leduc_poker", "liars_dice(dice_sides=3)"])
@pytest.mark.parametrize("seat", [0, 1])
def test_until_the_end_only_the_infoset_is_told(spec, seat):
    """States that the person cannot tell apart look the same, to the letter."""
    tree = game_tree(spec)
    game = tree.game
    desk = StudioWorker(lambda told: None)
    desk.game_spec = spec
    shown: dict[str, str] = {}
    for seed in range(60):
        call = {"do": "play", "policy": {"text": "uniform"}, "name": str(seed), "seat": seat}
        call |= {"seed": seed, "number": 0, "actions": [], "hint": True}
        while not (found := desk.handle_call(call))["over"]:
            key = found["key"]
            text = json.dumps(found)
            assert shown.setdefault(key, text) == text
            call = call | {"actions": [*call["actions"], seed % len(found["actions"])]}
        assert len(found["utilities"]) == game.num_players
    assert len(shown) > 3


def test_an_episode_survives_its_desk():
    """Played on from its seed and actions alone, by a desk that has never seen it."""
    calls = []
    one = StudioWorker(lambda told: None)
    one.game_spec = "leduc_poker"
    call = {"do": "play", "policy": {"text": "uniform"}, "name": "a", "seat": 1, "seed": 5}
    call |= {"number": 3, "actions": []}
    while True:
        found = one.handle_call(call)
        calls.append((dict(call), json.dumps(found)))
        if found["over"]:
            break
        call = call | {"actions": [*call["actions"], len(found["actions"]) - 1]}
    for call, text in reversed(calls):
        other = StudioWorker(lambda told: None)
        other.game_spec = "leduc_poker"
        assert json.dumps(other.handle_call(call)) == text


def test_episodes_are_those_of_the_library():
    game = cp.load_game("kuhn_poker")
    desk = StudioWorker(lambda told: None)
    desk.game_spec = "kuhn_poker"
    call = {"do": "play", "policy": {"text": "uniform"}, "name": "b", "seat": 0, "seed": 9}
    call |= {"number": 0, "actions": []}
    found = desk.handle_call(call)
    tree, draw = game_tree("kuhn_poker"), RandomStreams(9, 0)
    for seat in range(2):
        draw(seat)
    _, state = play_from(game, game.initial_state(), [None, cp.uniform_policy(tree)], draw)
    assert game.player(state) != TERMINAL
    assert found["has_regret"] and found["key"] == game.infoset_key(state, 0)
    assert [action["words"] for action in found["actions"]] == action_labels(game, state)


def test_searchers_play_too(studio):
    body = {"game": "tic_tac_toe", "policy": "search:alpha_beta(max_depth=2)", "seat": 0}
    play = studio.post("/api/play", body)["play"]
    state = studio.get(f"/api/play/{play}")
    assert "0 1 2" in state["board"] and len(state["actions"]) == 9
    while not state["over"]:
        body = {"action": 0, "move": state["move"], "number": 0}
        code, state = studio.ask("POST", f"/api/play/{play}/act", body)
        assert code == 200
    assert all(one["loss"] is None for one in state["decisions"])
    assert not state["has_regret"]
    bad = {"game": "kuhn_poker", "policy": "search:alpha_beta", "seat": 0}
    play = studio.post("/api/play", bad)["play"]
    code, found = studio.ask("GET", f"/api/play/{play}")
    assert code in (409, 422) and found["error"]["message"]


def test_games_too_large_for_a_tree_have_no_regret(studio):
    play = studio.post("/api/play", {"game": "ms1f1", "policy": "uniform", "seat": 0})["play"]
    state = studio.get(f"/api/play/{play}")
    assert len(state["table"]["hand"]) == 2 and not state["has_regret"]


def test_matrix_page_gives_equilibria_and_elimination(studio):
    found = studio.post("/api/matrix", {"game": "prisoners_dilemma"})
    assert len(found["elimination"]) == 2 and len(found["nash"]["equilibria"]) == 1
    own = {"utility": [[[1, 0], [0, 1]], [[1, 0], [0, 1]]], "names": [["u", "d"], ["l", "r"]]}
    assert len(studio.post("/api/matrix", own)["nash"]["equilibria"]) == 3
    for body in ({"utility": [[1, "x"]]}, {"utility": []}, {"utility": [[[1] * 150] * 150] * 2}):
        code, found = studio.ask("POST", "/api/matrix", body)
        assert code in (409, 422, 500) and found["error"]["message"]


@pytest.mark.parametrize(
    ("agent", "columns", "num_ranges"),
    [
        ("resolving(iterations=30)", ["probability", "value in the subgame"], 2),
        ("is_mcts(simulations=20)", ["probability", "visits", "mean value"], 1),
        ("smooth_uct(simulations=20)", ["probability", "visits", "mean value"], 1),
        ("pimc(num_states=5)", ["probability", "mean value"], 1),
        ("oos(simulations=20)", ["probability", "regret", "current policy"], 1),
        ("mirror_search", ["probability", "blueprint", "value against the blueprint"], 0),
    ],
)
def test_searches_are_reported_after_the_episode(agent, columns, num_ranges):
    desk = StudioWorker(lambda told: None)
    desk.game_spec = "leduc_poker"
    call = {"do": "play", "policy": {"text": f"search:{agent}"}, "name": "a", "seat": 0}
    call |= {"seed": 5, "number": 0, "actions": []}
    while not (found := desk.handle_call(call))["over"]:
        assert "history" not in found and "search" not in json.dumps(found)
        call = call | {"actions": [*call["actions"], 1]}
    searched = [step for step in found["history"] if "search" in step]
    assert searched == [step for step in found["history"] if step["player"] == 1]
    for step in searched:
        search = step["search"]
        assert search["columns"] == columns and len(search["ranges"]) == num_ranges
        assert [row[0] for row in search["rows"]] == [name for name, _ in step["odds"]]
        assert [row[1][0] for row in search["rows"]] == [p for _, p in step["odds"]]
        for held in search["ranges"]:
            assert sum(row[1] for row in held["rows"]) == approx(1.0)
    if "visits" in columns:
        assert sum(row[1][1] for row in searched[0]["search"]["rows"]) == 20
    json.dumps(found, allow_nan=False)


def test_a_page_names_blueprints_by_algorithm_or_run(studio):
    run_id = next(name for name, run in studio.runs().items() if run["name"] == "kuhn")
    for blueprint in ("uniform", "cfr_plus", f"run:{run_id}@average"):
        policy = f'search:mirror_search(blueprint="{blueprint}")'
        play = studio.post("/api/play", {"game": "kuhn_poker", "policy": policy})["play"]
        assert studio.get(f"/api/play/{play}")["actions"]
    for spec, status in (
        ("mirror_search(blueprint='/etc/passwd')", 422),
        ("mirror_search(blueprint='run:none/20260101T000000Z@average')", 404),
        ("hunl(blueprint='runs')", 422),
        ("belief_search(network='../x')", 422),
        ("unknown", 404),
        ("is_mcts(simulations=", 422),
    ):
        body = {"game": "kuhn_poker", "policy": f"search:{spec}"}
        code, found = studio.ask("POST", "/api/play", body)
        assert code == status and found["error"]["message"]


@pytest.mark.parametrize(
    ("game", "agent", "words"),
    [
        ("kuhn_poker(players=3)", "resolving", "two-player zero-sum"),
        ("kuhn_poker", "is_mcts(simulations=0)", "simulations"),
        ("kuhn_poker", "is_mcts(observer=none)", "must be single or multiple"),
        ("kuhn_poker", "resolving(method=x)", "must be one of"),
        ("kuhn_poker", "resolving(method=x", "cannot read"),
        ("chicken", "resolving", "two-player zero-sum"),
        ("limit_holdem", "mirror_search", "GiB may be used"),
        ("kuhn_poker", "resolving(blueprint=is_mcts)", "blueprint"),
        ("leduc_poker", "pimc(num_states=-1)", "num_states"),
        ("leduc_poker", "oos(simulations=10,seconds=-1)", "seconds"),
    ],
)
def test_settings_that_do_not_fit_get_a_sentence(studio, game, agent, words):
    code, found = studio.ask("POST", "/api/play", {"game": game, "policy": f"search:{agent}"})
    if code == 200:
        code, found = studio.ask("GET", f"/api/play/{found['play']}")
    assert code in (409, 422) and words in found["error"]["message"]
    assert len(found["error"]["message"]) < 300 and "Traceback" not in found["error"]["message"]
