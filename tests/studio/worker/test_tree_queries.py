"""Answers about trees and policies equal the library's results."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.arenas.tree.node_values import (
    compute_node_values,
    public_history_hashes,
    subtree_sizes,
)
from counterplay.core.game import CHANCE, TERMINAL, grid_position
from counterplay.errors import ConfigError
from counterplay.studio.worker.studio_worker import StudioWorker
from tests.conftest import game_tree
from tests.studio.conftest import wait_until

SPECS = ["kuhn_poker", "leduc_poker", "liars_dice(dice_sides=3)", "kuhn_poker(players=3)"]
SPECS += ["goofspiel(num_cards=3)", "grid_duel", "chicken"]


def desk(spec):
    told = []
    made = StudioWorker(told.append)
    made.game_spec = spec
    return made


@pytest.fixture(scope="module")
def leduc_desk():
    return desk("leduc_poker")


def ask(made, do, node=0, policy="uniform", **more):
    call = {"do": do, "node": node, "policy": {"text": policy}} | more
    return json.loads(json.dumps(made.handle_call(call)))


@pytest.mark.parametrize("spec", SPECS)
def test_walks_through_whole_trees(spec):
    """Every node that the outline leads to: names, reach, values and sizes; and all are found."""
    made, tree = desk(spec), game_tree(spec)
    policy = cp.uniform_policy(tree)
    measured = compute_node_values(tree, policy.probabilities)
    sizes = subtree_sizes(tree)
    waiting, seen = [0], set()
    while waiting and len(seen) < 300:
        node = waiting.pop()
        found = ask(made, "view", node)
        assert found["player"] == tree.player[node] and found["size"] == sizes[node]
        assert found["reach"] == approx(measured.reach[node])
        assert found["value"] == approx(measured.value[node], abs=1e-12)
        assert found["total"] == len(range(*tree.child_offset[node : node + 2]))
        if found["player"] >= 0:
            assert found["infoset"]["key"] == tree.infoset_key(int(tree.infoset[node]))
            names = [child["name"] for child in found["children"]]
            assert names == list(tree.action_names(int(tree.infoset[node])))
            total = sum(child["probability"] for child in found["children"])
            assert total == approx(1.0)
        for child in found["children"]:
            waiting.append(child["node"])
            assert tree.parent[child["node"]] == node
        seen.add(node)
        path = ask(made, "view", node)["path"]
        assert [step["node"] for step in path][-1:] == ([node] if node else [])
    assert len(seen) == min(tree.num_nodes, 300)


def test_values_and_losses(leduc_desk):
    tree = game_tree("leduc_poker")
    policy = cp.solve(tree, cp.algorithms.CFRPlus(), iterations=50).policy
    worth, lost = cp.infoset_values(tree, policy), cp.mistakes(tree, policy)
    for number in (0, 17, 500, 935):
        found = ask(leduc_desk, "infoset", policy="solve:cfr_plus@50", infoset=number)
        first, last = tree.offset[number : number + 2]
        rows = found["actions"]
        assert [row["probability"] for row in rows] == policy.probabilities[first:last].tolist()
        assert [row["value"] for row in rows] == approx(worth.action_value[first:last])
        assert [row["regret"] for row in rows] == approx(worth.regret[first:last])
        assert found["loss"] == approx(lost.gain[number])
        assert min(row["loss"] for row in rows) == 0.0
        assert {m["node"] for m in found["members"]} == set(
            np.flatnonzero(tree.infoset == number).tolist()
        )
        assert found["probability"] == approx(sum(m["reach"] for m in found["members"]))


def test_leaks_are_the_exploitability(leduc_desk):
    tree = game_tree("leduc_poker")
    policy = cp.solve(tree, cp.algorithms.CFRPlus(), iterations=50).policy
    found, start, total = [], 0, 1
    while start < total:
        page = ask(leduc_desk, "leaks", policy="solve:cfr_plus@50", start=start)
        found += page["leaks"]
        start, total = start + len(page["leaks"]), page["total"]
    losses = [one["loss"] for one in found]
    assert losses == sorted(losses, reverse=True)
    assert sum(losses) == approx(cp.nash_conv(tree, policy))
    assert found[-1]["sum"] == approx(1.0)
    assert sum(page["by_player"]) / 2 == approx(page["exploitability"])
    for one in found[:5]:
        assert tree.infoset[one["node"]] == one["infoset"] == tree.find_infoset(one["key"])
    mine = ask(leduc_desk, "leaks", policy="solve:cfr_plus@50", player=1)["leaks"]
    assert {one["player"] for one in mine} == {1}


@pytest.mark.parametrize("spec", SPECS)
def test_grids_hold_every_infoset_once(spec):
    made, tree = desk(spec), game_tree(spec)
    policy = cp.uniform_policy(tree)
    reach = compute_node_values(tree, policy.probabilities).reach
    for infoset in range(0, tree.num_infosets, max(tree.num_infosets // 12, 1)):
        node = int(np.flatnonzero(tree.infoset == infoset)[0])
        found = ask(made, "grid", node)
        assert found["here"] == infoset and found["player"] == tree.infoset_player[infoset]
        numbers = [cell["infoset"] for cell in found["cells"]]
        assert infoset in numbers or found["total"] > len(numbers)
        assert len(set(numbers)) == len(numbers)
        assert sum(found["mixture"].values()) == approx(1.0)
        for cell in found["cells"]:
            key = tree.infoset_key(cell["infoset"])
            assert [cell["row"], cell["column"]] == list(grid_position(tree.game, key)[1:])
            assert cell["reach"] == approx(reach[tree.infoset == cell["infoset"]].sum())
            assert tree.infoset[cell["node"]] == cell["infoset"]
        if not hasattr(tree.game, "grid_position"):
            numbers_of = public_history_hashes(tree)
            same = np.unique(tree.infoset[(numbers_of == numbers_of[node]) & (tree.infoset >= 0)])
            assert set(numbers) == set(same.tolist())


def test_grids_of_chance_and_ends(leduc_desk):
    tree = game_tree("leduc_poker")
    start = ask(leduc_desk, "grid", 0)
    assert tree.player[0] == CHANCE and start["panel"] == "" and start["total"] == 6
    end = int(np.flatnonzero(tree.player == TERMINAL)[0])
    assert ask(leduc_desk, "grid", end)["node"] == tree.parent[end]


@pytest.mark.parametrize("spec", SPECS)
def test_drawings_show_the_neighbourhood_of_a_node(spec):
    made, tree = desk(spec), game_tree(spec)
    for node in {0, tree.num_nodes // 3, tree.num_nodes - 1}:
        found = ask(made, "drawing", node)
        marks = found["marks"]
        nodes = {mark["node"]: mark for mark in marks if "fan" not in mark}
        assert len(marks) <= 400 and node in nodes
        assert len(nodes) == sum("fan" not in mark for mark in marks)
        places = [(mark["x"], mark["y"]) for mark in marks]
        assert len(set(places)) == len(places)
        for mark in marks:
            if "parent" in mark:
                assert mark["x"] == nodes[mark["parent"]]["x"] + 1
            if "parent" in mark and "fan" not in mark:
                assert tree.parent[mark["node"]] == mark["parent"]
        for number in nodes:  # what is not drawn is in a fan
            drawn = sum(tree.parent[other] == number for other in nodes)
            fans = sum(m["fan"] for m in marks if "fan" in m and m["parent"] == number)
            assert drawn + fans == len(range(*tree.child_offset[number : number + 2]))


@pytest.mark.parametrize("spec", SPECS)
def test_overviews_cover_every_level(spec):
    tree = game_tree(spec)
    found = ask(desk(spec), "overview")
    assert len(found["levels"]) == tree.level_offset.size - 1
    assert sum(map(len, found["levels"])) <= 1200
    reach = compute_node_values(tree, cp.uniform_policy(tree).probabilities).reach
    for level, (first, last) in zip(
        found["levels"],
        zip(tree.level_offset[:-1], tree.level_offset[1:], strict=True),
        strict=True,
    ):
        assert sum(piece[1] for piece in level) == approx(reach[first:last].sum())
        assert all(first <= piece[3] < last for piece in level)
        ends = [piece[0] + piece[1] for piece in level]
        assert all(a <= piece[0] + 1e-9 for a, piece in zip(ends, level[1:], strict=False))


def test_differences_and_searches(leduc_desk):
    tree = game_tree("leduc_poker")
    found = ask(leduc_desk, "view", 20, versus={"text": "best:0"})
    response = cp.best_response(tree, cp.uniform_policy(tree), 0).policy
    row = list(response.probabilities_at(int(tree.infoset[20])).values())
    assert [action["versus"] for action in found["infoset"]["actions"]] == row
    keys = [one["key"] for one in ask(leduc_desk, "find", text="Qs:c")]
    assert keys and all("Qs:c" in key for key in keys)
    assert ask(leduc_desk, "find", text="Qs:cr")[0]["key"] == "Qs:cr"
    assert ask(leduc_desk, "find", text="nothing like it") == []
    lines = leduc_desk.handle_call({"do": "export", "policy": {"text": "uniform"}, "form": "csv"})
    assert len(lines.splitlines()) == tree.num_sequences + 1


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ({"do": "view", "node": -1}, "node is -1"),
        ({"do": "view", "node": 10**9}, "must be from 0"),
        ({"do": "view", "policy": {"text": "solve:cfr_plus@0"}}, "write solve:"),
        ({"do": "view", "policy": {"text": "solve:nothing@5"}}, "unknown algorithm"),
        ({"do": "view", "policy": {"text": "/etc/passwd"}}, "there is no policy"),
        ({"do": "view", "policy": {"text": "run:a@b"}}, "there is no policy"),
        ({"do": "nothing"}, "no question"),
        ({"do": "infoset", "infoset": 10**6}, "no infoset"),
        ({"do": "view", "versus": {"text": "best:x"}}, "cannot compare"),
    ],
)
def test_what_cannot_be_asked(leduc_desk, call, problem):
    with pytest.raises(ConfigError, match=problem):
        leduc_desk.handle_call(call)


def test_over_the_wire(studio):
    """A run's policy from its checkpoint; faults in words; a desk that is ended."""
    run = "run:kuhn/20260101T000000Z@linear_average"
    found = studio.get(f"/api/explore/view?policy={run}&node=4")
    assert found["facts"]["policies"] == ["linear_average", "average", "current"]
    assert found["facts"]["step"] == 2000
    assert found["facts"]["exploitability"] == studio.runs()["kuhn/20260101T000000Z"]["value"]
    code, found = studio.ask("GET", "/api/explore/view?policy=run:kuhn/20260101T000000Z@nothing")
    assert code == 422 and "has no policy 'nothing'" in found["error"]["message"]
    assert studio.ask("GET", "/api/explore/play?game=kuhn_poker")[0] == 404
    code, found = studio.ask("GET", "/api/explore/view?game=connect_four")
    assert code == 409 and "its tree takes about" in found["error"]["message"]
    assert found["error"]["hint"].startswith("Choose smaller parameters")
    assert studio.ask("DELETE", "/api/desk?game=kuhn_poker")[0] == 200
    assert studio.get(f"/api/explore/view?policy={run}&node=4")["node"] == 4


def test_a_desk_that_is_killed(fresh):
    """Waiting clients get an error; the next request is answered by a new worker."""
    made = fresh()
    assert made.get("/api/explore/view?game=kuhn_poker")["node"] == 0
    made.only_child()
    made.raw("GET", "/api/explore/view?game=liars_dice", made.headers)  # another is at work now
    for child in made.children():
        os.kill(child, signal.SIGKILL)
    found = made.ask("GET", "/api/explore/view?game=kuhn_poker")
    if found[0] == 503:
        assert "try again" in found[1]["error"]["message"]
        found = made.ask("GET", "/api/explore/view?game=kuhn_poker")
    assert found[0] == 200 and found[1]["facts"]["nodes"] == 58
    assert made.process.poll() is None


def test_who_waits_for_a_desk_that_is_killed(fresh):
    """A request that is under way is answered in words, and the next one by another desk."""
    made = fresh()
    assert made.post("/api/matrix", {"game": "chicken"})["players"] == 2
    child = made.only_child()
    os.kill(child, signal.SIGSTOP)  # so that it cannot have answered
    found = []
    waiting = threading.Thread(
        target=lambda: found.append(made.ask("POST", "/api/matrix", {"game": "chicken"}))
    )
    waiting.start()
    wait_until(lambda: made.get("/api/hello")["computing"] == 1)
    os.kill(child, signal.SIGKILL)
    waiting.join()
    assert found[0][0] == 503 and "try again" in found[0][1]["error"]["message"]
    assert made.post("/api/matrix", {"game": "chicken"})["players"] == 2


def test_games_of_ones_own(studio):
    text = _efg(cp.load_game("kuhn_poker"))
    found = studio.post("/api/games/upload", {"name": "mine.efg", "text": text})
    assert found["nodes"] == approx(58, rel=0.1) and found["name"].startswith("upload:")
    listed = studio.get("/api/catalogue")["uploaded"]
    assert [one["title"] for one in listed] == ["mine.efg"]
    view = studio.get(f"/api/explore/view?game={found['name']}")
    assert view["facts"]["nodes"] == 58
    check = {"name": "a", "algorithm": "cfr", "game": found["name"], "spec": {"max_steps": 5}}
    assert "config" in studio.post("/api/check", {"config": check})
    for name, body, problem in [
        ("mine.txt", text, "must end in .efg"),
        ("mine.efg", text[:500], "mine.efg"),
        ("mine.json", "[" * 1000, "mine.json"),
        ("../../mine.efg", "EFG 2 R", "mine.efg"),
    ]:
        code, found = studio.ask("POST", "/api/games/upload", {"name": name, "text": body})
        assert code in (409, 422) and problem in found["error"]["message"], found
        assert str(studio.root) not in found["error"]["message"]
    assert len(studio.get("/api/catalogue")["uploaded"]) == 1


def _efg(game):
    with tempfile.TemporaryDirectory() as folder:
        cp.save_game(game, Path(folder) / "game.efg")
        return (Path(folder) / "game.efg").read_text()
