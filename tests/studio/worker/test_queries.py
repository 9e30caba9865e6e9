"""Queries to workers other than trees: spots, populations, learners, locks, files and times."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.errors import ConfigError
from counterplay.experiment.population import load_population
from counterplay.matrix.normal_form import normal_form_from_game
from counterplay.registry import GAMES
from counterplay.studio.server.responses import ApiError
from counterplay.studio.server.worker_pool import WorkerPool
from counterplay.studio.worker.policy_sources import parse_locks
from counterplay.studio.worker.studio_worker import COMPILING, StudioWorker
from tests.conftest import game_tree

PUSH = [{"bet": "a", "raise": "a"}] * 2
RIVER = {
    "board": "2s3h4d6c7c",
    "ranges": ["AsAh,QsQh", "KsKh"],
    "pot": 20,
    "stacks": [10, 10],
    "sizes": {"river": PUSH},
}


@pytest.fixture(scope="module")
def spots():
    return StudioWorker(lambda told: None)


def spot(desk, record="", **more):
    return desk.handle_call({"do": "spot", "spot": RIVER, "target": 0.02, "record": record} | more)


def test_a_river_with_a_known_answer(spots):
    """Aces bet, queens bluff a third as often, kings call two bets in three."""
    found = spot(spots, cell="AA")
    assert found["facts"]["values"] == approx([40 / 3, 20 / 3], abs=0.01)
    assert found["facts"]["percent"] <= 0.02
    assert (found["player"], found["board"], found["kind"]) == (0, "2s3h4d6c7c", "act")
    cells = {one["name"]: one for row in found["grid"] for one in row}
    bet = [action["name"] for action in found["actions"]].index("all-in 10")
    assert cells["AA"]["policy"][bet] == approx(1.0, abs=0.02)
    assert cells["QQ"]["policy"][bet] == approx(1 / 3, abs=0.02)
    assert len(cells) == 169 and cells["72o"]["weight"] == 0.0
    assert [row["hand"] for row in found["hands"] if row["cell"] == "AA"] == ["AsAh"]
    called = spot(spots, "all-in 10")
    kings = next(one for row in called["grid"] for one in row if one["name"] == "KK")
    call = [action["name"] for action in called["actions"]].index("call")
    assert kings["policy"][call] == approx(2 / 3, abs=0.03)
    assert [step["player"] for step in called["steps"]] == [0]
    assert spot(spots, "all-in 10,call")["kind"] == "showdown"
    assert spot(spots, "all-in 10,fold")["kind"] == "fold"
    assert spots.handle_call({"do": "spot_size", "spot": RIVER})["hands"] == [2, 1]


def test_cards_are_dealt():
    turn = RIVER | {"board": "2s3h4d6c", "sizes": {"turn": PUSH, "river": PUSH}}
    desk = StudioWorker(lambda told: None)
    call = {"do": "spot", "spot": turn, "target": 1.0}
    found = desk.handle_call(call | {"record": "check,check"})
    assert found["kind"] == "deal" and len(found["cards"]) == 48
    found = desk.handle_call(call | {"record": "check,check|7c"})
    assert (found["kind"], found["board"]) == ("act", "2s3h4d6c7c")
    assert [step["record"] for step in found["steps"]] == [
        "check",
        "check,check",
        "check,check|7c",
    ]


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"record": "raise"}, "there is no 'raise' here"),
        ({"target": 0.0}, "must be from 0.01"),
        ({"spot": RIVER | {"pot": -1}}, "pot"),
        ({"spot": RIVER | {"pots": 1}}, "has no entry 'pots'"),
    ],
)
def test_spots_that_cannot_be(more, problem):
    desk = StudioWorker(lambda told: None)
    with pytest.raises(ConfigError, match=problem):
        desk.handle_call({"do": "spot", "spot": RIVER, "target": 5.0} | more)


def test_a_spot_is_checked_as_it_is_typed(studio):
    found = studio.post("/api/spot", {"spot": RIVER | {"board": "2s3"}, "estimate": True})
    assert "board" in found["problem"]
    assert studio.post("/api/spot", {"spot": RIVER, "estimate": True})["fits"]
    assert studio.ask("POST", "/api/spot", {"spot": "x"})[0] == 422
    assert studio.post("/api/spot/end", {"spot": RIVER}) == {"closed": False}


def test_populations_are_those_of_the_run(studio):
    folder = "pool/20260101T000000Z"
    found = studio.get(f"/api/runs/{folder}/population")
    table = load_population(studio.root / folder)
    assert found["payoffs"] == table.payoffs[0].tolist()
    last = [mixture[-1] for mixture in found["mixtures"]]
    assert last == [table.mixtures(p)[-1].tolist() for p in range(2)]
    assert studio.get(f"/api/runs/{folder}")["population"]
    kuhn = "kuhn/20260101T000000Z"
    assert not studio.get(f"/api/runs/{kuhn}")["population"]
    code, said = studio.ask("GET", f"/api/runs/{kuhn}/population")
    assert code == 422 and "has no population" in said["error"]["message"]


@pytest.mark.parametrize("learner", ["regret_matching", "fictitious_play", "replicator_dynamics"])
def test_paths_of_learners(spots, learner):
    """The paths equal those of the library, and averages approach the equilibrium."""
    call = {"do": "learn", "game": "rock_paper_scissors", "learner": learner}
    path = spots.handle_call(call)["path"]
    form = normal_form_from_game(cp.load_game("rock_paper_scissors"))
    start = tuple(np.array(mixture) for mixture in path[0]["average"])
    done = cp.matrix.run_learners(
        form, cp.matrix.load_learner(learner), iterations=1000, initial_profile=start
    )
    for mine, whole in zip(path[-1]["average"], done.average_profile, strict=True):
        assert mine == approx(whole.tolist())
    assert path[-1]["average"][0] == approx([1 / 3] * 3, abs=0.03)
    assert path[0]["average"][0] != path[0]["average"][1]
    gains = [step["gain"] for step in path]
    assert gains[-1] < 0.05 < gains[0]


def test_locks_are_fixed_policies():
    tree = game_tree("kuhn_poker")
    desk = StudioWorker(lambda told: None)
    desk.game_spec = "kuhn_poker"
    jack = tree.find_infoset("0", 0)
    source = {"text": "uniform", "lock": f"{jack}:0,1"}
    found = desk.handle_call({"do": "infoset", "policy": source, "infoset": jack})
    assert [action["probability"] for action in found["actions"]] == [0.0, 1.0]
    bluffs = cp.uniform_policy(tree).probabilities.copy()
    bluffs[tree.offset[jack] : tree.offset[jack + 1]] = 0.0, 1.0
    game = cp.abstraction.fix_policy(tree, cp.Policy(tree, bluffs), [jack])
    whole = cp.solve(game.tree, cp.algorithms.SequenceFormLP(), iterations=1)
    facts = desk.handle_call({"do": "view", "policy": source})["facts"]
    assert facts["values"][0] == approx(cp.judge(game.tree, whole.policy).values[0], abs=1e-3)
    assert facts["values"][0] < -1 / 18 - 0.01  # to bluff always costs
    assert facts["locked"] == [{"infoset": jack, "key": "0"}]


@pytest.mark.parametrize("text", ["x", "0:1", "0:1,2,3", "99:1,1", "0:-1,2", "0:0,0", "0:nan,1"])
def test_locks_that_cannot_be(text):
    with pytest.raises(ConfigError, match=r"lock"):
        parse_locks(game_tree("kuhn_poker"), text)


def test_games_and_policies_as_files(studio, tmp_path):
    path = "/api/explore/game_file?game=kuhn_poker"
    studio.get("/api/explore/view?game=kuhn_poker")
    code, headers, text = studio.raw("GET", path, studio.headers)
    assert code == 200 and headers["content-type"].startswith("text/plain")
    (tmp_path / "game.efg").write_bytes(text)
    tree = cp.build_tree(cp.load_game(str(tmp_path / "game.efg")))
    assert (tree.num_nodes, tree.num_infosets) == (58, 12)
    rows = studio.raw("GET", "/api/explore/export?game=kuhn_poker&form=csv", studio.headers)[2]
    assert len(rows.decode().splitlines()) == 25


def test_times_are_those_of_a_trial(studio):
    whole = {"name": "a", "algorithm": "cfr_plus", "game": "kuhn_poker"}
    body = {"config": whole | {"spec": {"max_steps": 10**6, "evaluate_every": 10**5}}}
    first = studio.post("/api/estimate/run", body)
    assert first["rate"] > 0 and first["seconds"] > 0
    body["config"]["spec"]["max_steps"] = 10**9
    assert studio.post("/api/estimate/run", body)["seconds"] > 20 * first["seconds"]
    body["config"]["algorithm"] = "sequence_form_lp"
    assert studio.post("/api/estimate/run", body)["seconds"] < 60
    body["config"]["algorithm"] = "nothing"
    assert studio.ask("POST", "/api/estimate/run", body)[0] == 422


def test_questions_that_compute_for_too_long_are_ended():
    """Their own time counts; who waits is told, and the next question is answered."""
    question = {"do": "estimate", "spec": "leduc_poker"}

    async def ask_for_too_long():
        desks = WorkerPool()
        try:
            with pytest.raises(ApiError, match="too long") as caught:
                await desks.ask("", question, wait_seconds=None, cpu_limit_seconds=0.01)
            return caught.value.status, await desks.ask(
                "", question, wait_seconds=None, cpu_limit_seconds=60
            )
        finally:
            left = list(desks.workers.values())
            desks.close_all()
            await asyncio.gather(*(desk.reader_task for desk in left))

    status, found = asyncio.run(ask_for_too_long())
    assert status == 408 and found["nodes"] > 1000


def test_kernels_are_compiled_before_a_page_needs_them(monkeypatch):
    monkeypatch.setattr("os.nice", lambda more: None)
    desk = StudioWorker(lambda told: None)
    monkeypatch.setattr("counterplay.studio.worker.spot_queries.compile_note", lambda: "compiling")
    assert desk.handle_call({"do": "warm_up"}) is True
    monkeypatch.setattr("counterplay.studio.worker.spot_queries.compile_note", lambda: "")
    assert desk.handle_call({"do": "warm_up"}) is False


def test_compiling_is_reported():
    from numba.core import event

    told = []
    desk = StudioWorker(told.append)
    desk.report_compilation()
    desk.report_compilation()
    with event.trigger_event("numba:compile", data={}):
        pass
    assert [one["progress"]["doing"] for one in told] == [COMPILING]


def test_people_play_games_whose_tree_is_too_large():
    desk = StudioWorker(lambda told: None)
    call = {"do": "play", "game": "limit_holdem", "policy": {"text": "uniform"}, "name": "a"}
    found = desk.handle_call(call | {"seat": 0, "seed": 1, "number": 0, "actions": []})
    assert found["actions"] and not found["over"]


def test_no_limit_poker_shows_a_table_and_a_range_of_raises():
    desk = StudioWorker(lambda told: None)
    call = {"do": "play", "game": "no_limit_holdem(stack=2000)", "policy": {"text": "uniform"}}
    call |= {"name": "a", "seat": 1, "seed": 1, "number": 0}
    found = desk.handle_call(call | {"actions": [], "hint": True})
    assert [action["name"] for action in found["actions"]] == ["fold", "call"]
    assert found["raises"] == {"first": 2, "low": 200, "high": 2000, "half": 200, "pot": 300}
    table = found["table"]
    assert len(table["hand"]) == 2 and table["board"] == [] and table["pot"] == 150
    assert table["stacks"] == [1900, 1950] and table["bets"] == [100, 50]
    assert len(found["hint"]) == 2 and len(found["raise_hints"]) == 1801
    after = desk.handle_call(call | {"actions": [2 + 2000 - 200]})  # all-in
    assert after["over"] and len(after["history"][5]["odds"]) == 2


def test_blueprints_cannot_be_named_by_a_page():
    desk = StudioWorker(lambda told: None)
    call = {"do": "play", "game": "no_limit_holdem", "name": "a", "seat": 0, "seed": 1}
    call |= {"number": 0, "actions": [], "policy": {"text": "search:hunl(blueprint='/etc')"}}
    with pytest.raises(ConfigError, match="a blueprint cannot be named here"):
        desk.handle_call(call)


def test_offers_name_every_game_and_their_reasons(studio):
    found = studio.get("/api/offers")
    assert set(found) == set(GAMES)
    assert found["kuhn_poker"] == {"fits": True, "reason": "", "players": 2}
    for name in ("kriegspiel", "no_limit_holdem", "connect_four"):
        assert not found[name]["fits"] and "do not fit" in found[name]["reason"]
    assert found["matrix_game"]["incomplete"]
    assert studio.post("/api/estimate", {"game": "kuhn_poker"})["fits"]
