"""Algorithms of the user in the studio: offered, started and resumed, only with consent."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import counterplay as cp
from counterplay.core import trust
from counterplay.errors import ConfigError
from counterplay.studio.server.own_algorithms import allow_algorithm
from counterplay.studio.server.queue_entries import config_code, entry_digest
from counterplay.studio.server.responses import ApiError
from counterplay.studio.server.run_index import RunIndex
from counterplay.studio.server.run_launcher import RunLauncher
from tests.documents import write_files
from tests.studio.conftest import Studio, wait_until

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "own_algorithm.md"
SMALL_RUN = {"name": "mine", "game": "kuhn_poker", "spec": {"max_steps": 30, "decay": 0.5}}


@pytest.fixture
def rules(tmp_path, monkeypatch):
    """The file of the how-to page, in a folder without any consent."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write_files(PAGE)
    return tmp_path / "my_rules.py"


def start_studio(tmp_path, *options):
    return Studio(tmp_path / "runs", tmp_path / "state", *options)


def test_a_named_algorithm_is_offered_checked_and_run(rules, tmp_path):
    studio = start_studio(tmp_path, "--algorithm", "my_rules.py:MyCFR")
    try:
        spec = f"{rules}:MyCFR"
        own = studio.get("/api/catalogue")["algorithms"][0]
        assert own["name"] == spec and "forgets a share" in own["summary"]
        assert own["fields"] == [
            {"name": "decay", "type": "float", "default": 0.01, "required": False, "network": False}
        ]
        config = SMALL_RUN | {"algorithm": spec}
        assert studio.post("/api/check", {"config": config})["config"]["spec"]["decay"] == 0.5
        wrong = config | {"spec": {"max_steps": 30, "decline": 1}}
        assert "decline" in studio.post("/api/check", {"config": wrong})["problem"]
        studio.post("/api/runs", {"config": config})
        runs = wait_until(lambda: [r for r in studio.runs().values() if r["state"] == "finished"])
        assert runs[0]["algorithm"].endswith("my_rules.py:MyCFR")
        policy = f"run:{runs[0]['id']}@average"
        view = studio.get(f"/api/explore/view?policy={policy}")
        result = cp.solve("kuhn_poker", f"{spec}(decay=0.5)", iterations=30)
        assert view["facts"]["exploitability"] == pytest.approx(result.exploitability, abs=1e-12)
    finally:
        studio.end()


def test_an_algorithm_that_was_not_named_is_refused(rules, tmp_path):
    studio = start_studio(tmp_path)
    try:
        config = SMALL_RUN | {"algorithm": f"{rules}:MyCFR"}
        for path in ("/api/check", "/api/runs", "/api/estimate/run"):
            status, answer = studio.ask("POST", path, {"config": config})
            assert status == 404 and "--algorithm FILE.py:Class" in answer["error"]["message"]
        names = [entry["name"] for entry in studio.get("/api/catalogue")["algorithms"]]
        assert not [name for name in names if "my_rules" in name]
    finally:
        studio.end()


def test_runs_offer_their_algorithm_until_its_code_changes(rules, tmp_path):
    cp.load_algorithm("my_rules.py:MyCFR")  # the user names it
    folder = tmp_path / "runs" / "mine" / "20260101T000000Z"
    cp.run(SMALL_RUN | {"algorithm": f"{rules}:MyCFR"}, folder)
    studio = start_studio(tmp_path)
    try:
        assert studio.get("/api/catalogue")["algorithms"][0]["name"] == f"{rules}:MyCFR"
        assert studio.ask("POST", "/api/runs/mine/20260101T000000Z/resume", {"steps": 40})[0] == 200
        run_id = "mine/20260101T000000Z"
        wait_until(lambda: studio.runs()[run_id]["step"] == 40)
        rules.write_text(rules.read_text() + "# changed\n")
        assert "my_rules" not in studio.get("/api/catalogue")["algorithms"][0]["name"]

        def refusal():
            """The answer to a resume, once the process of the first has ended."""
            status, answer = studio.ask("POST", f"/api/runs/{run_id}/resume", {"steps": 50})
            message = answer["error"]["message"]
            return (status, message) if "running already" not in message else None

        status, message = wait_until(refusal)
        assert status == 409 and "has changed since you allowed it" in message
    finally:
        studio.end()


def test_a_planted_entry_names_the_code_of_its_algorithm(rules, tmp_path):
    """It waits, says which code it runs, and an approval covers that content only."""
    queue = tmp_path / "runs" / ".studio" / "queue"
    queue.mkdir(parents=True)
    ticket = "00000000000000000001-abcdef"
    content = json.dumps(SMALL_RUN | {"algorithm": f"{rules}:MyCFR"})
    (queue / f"{ticket}.json").write_text(content)
    launcher = RunLauncher(tmp_path / "runs", slots=2)
    assert not launcher.poll(set())
    (entry,) = launcher.list_pending()
    assert (entry["state"], entry["code"]) == ("held", str(rules))
    before = entry_digest(content.encode())
    rules.write_text(rules.read_text() + "# changed\n")
    assert entry_digest(content.encode()) != before
    with pytest.raises(ApiError, match="has changed"):
        launcher.approve(ticket, entry["digest"])
    launcher.approve(ticket, entry_digest(content.encode()))
    assert all(one.is_allowed for one in config_code(json.loads(content)))


def test_a_run_of_another_person_is_not_resumed(rules, tmp_path):
    cp.load_algorithm("my_rules.py:MyCFR")
    folder = tmp_path / "runs" / "mine" / "20260101T000000Z"
    cp.run(SMALL_RUN | {"algorithm": f"{rules}:MyCFR"}, folder)
    shutil.rmtree(tmp_path / "state")
    trust._grants.clear()
    index = RunIndex(tmp_path / "runs")
    index.poll(force=True)
    run = index.find("mine/20260101T000000Z")
    with pytest.raises(ApiError, match=re.escape("wants to run the code")):
        RunLauncher(tmp_path / "runs").resume(run, 40)


@pytest.mark.parametrize("spec", ["cfr_plus", "nothing.py:MyCFR", "my_rules.py", "a.py:B(c=1)"])
def test_wrong_names_are_refused(rules, spec):
    with pytest.raises(ConfigError):
        allow_algorithm(spec)
