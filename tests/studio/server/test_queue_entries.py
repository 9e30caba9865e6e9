"""A folder of runs that comes from another person: its queue and its games run no code."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest

import counterplay as cp
from counterplay.core import trust
from counterplay.studio.server.queue_entries import KEY_NAME, is_signed
from counterplay.studio.server.responses import ApiError
from counterplay.studio.server.run_launcher import LOG_FILE, RunLauncher
from tests.core.test_trust import CODE
from tests.experiment.conftest import config
from tests.studio.conftest import wait_until

TICKET = "00000000000000000001-abcdef"
RUN = "evil/20260101T000000Z"


@pytest.fixture
def hostile_folder(tmp_path, monkeypatch):
    """A folder of runs with a run and a queue entry that name `evil.py`, which leaves a mark."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    code = tmp_path / "evil.py"
    code.write_text(CODE.format(marker=str(tmp_path / "marker")))
    root = tmp_path / "runs"
    cp.run(config(max_steps=20) | {"name": "evil"}, root / RUN)
    whole = config(max_steps=20, game=f"{code}:Game") | {"name": "queued"}
    (root / RUN / "config.json").write_text(json.dumps(whole))
    (root / ".studio" / "queue").mkdir(parents=True)
    (root / ".studio" / "queue" / f"{TICKET}.json").write_text(json.dumps(whole))
    return tmp_path


def stop_processes(launcher):
    for process in launcher.process_by_name.values():
        process.kill()
        process.wait()


def test_an_entry_that_this_user_has_not_queued_waits(hostile_folder):
    launcher = RunLauncher(hostile_folder / "runs", slots=4)
    assert not launcher.poll(set()) and not launcher.process_by_name
    (entry,) = launcher.list_pending()
    assert (entry["state"], entry["code"]) == ("held", str(hostile_folder / "evil.py"))
    for ticket, digest, status in (
        (TICKET, "", 409),
        ("../queue/x", entry["digest"], 404),
        ("0" * 20, entry["digest"], 404),
    ):
        with pytest.raises(ApiError) as refused:
            launcher.approve(ticket, digest)
        assert refused.value.status == status
    with open(hostile_folder / "evil.py", "a") as file:
        file.write("# not what the page has shown\n")
    with pytest.raises(ApiError, match="has changed"):
        launcher.approve(TICKET, entry["digest"])
    assert not launcher.poll(set()) and not (hostile_folder / "marker").exists()


def test_a_click_lets_it_run(hostile_folder):
    launcher = RunLauncher(hostile_folder / "runs", slots=4)
    (entry,) = launcher.list_pending()
    launcher.approve(TICKET, entry["digest"])
    assert launcher.poll(set())
    try:
        wait_until((hostile_folder / "marker").exists)
    finally:
        stop_processes(launcher)


def test_signatures_are_for_one_user_one_folder_one_ticket_and_one_config(
    hostile_folder, monkeypatch
):
    launcher = RunLauncher(hostile_folder / "mine")
    whole = config(max_steps=20) | {"name": "mine"}
    path = hostile_folder / "mine" / ".studio" / "queue" / f"{launcher.enqueue(whole)}.json"
    assert is_signed(hostile_folder / "mine", path)
    key = hostile_folder / "state" / "counterplay" / KEY_NAME
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    other = path.with_name(f"{TICKET}.json")
    shutil.copy(path, other)
    shutil.copy(path.with_suffix(".hmac"), other.with_suffix(".hmac"))
    assert not is_signed(hostile_folder / "mine", other)
    shutil.copytree(hostile_folder / "mine", hostile_folder / "copy")
    copied = hostile_folder / "copy" / ".studio" / "queue" / path.name
    assert not is_signed(hostile_folder / "copy", copied)
    text = path.read_text()
    path.write_text(text.replace("20", "21"))
    assert not is_signed(hostile_folder / "mine", path)
    path.write_text(text)
    monkeypatch.setenv("XDG_STATE_HOME", str(hostile_folder / "another"))
    assert not is_signed(hostile_folder / "mine", path)


def test_a_planted_log_moves_no_file_out_of_the_folder(hostile_folder):
    state, outside = hostile_folder / "runs" / ".studio", hostile_folder / "outside"
    outside.mkdir()
    for place in ("starting", "logs"):
        (state / place).mkdir()
    (state / "starting" / f"{TICKET}.json").write_text("{}")
    (state / "logs" / f"{TICKET}.log").write_text(f"running {outside}\n")
    RunLauncher(hostile_folder / "runs").poll(set())
    assert not (outside / LOG_FILE).exists()


@pytest.mark.parametrize("options", [("--read-only",), ()])
def test_a_studio_runs_no_code_of_the_folder(hostile_folder, fresh, options):
    made = fresh(*options, root=hostile_folder / "runs")
    assert RUN in made.runs()
    explore = f"/api/explore/view?policy=run:{RUN}@average"
    status, found = made.ask("GET", explore)
    assert status == 422 and "evil.py" in found["error"]["message"]
    status, found = made.ask("POST", "/api/play", {"policy": f"run:{RUN}@average", "seat": 0})
    if status == 200:
        assert made.ask("GET", f"/api/play/{found['play']}")[0] == 422
    search = {"policy": f"search:{hostile_folder / 'runs' / RUN}", "game": "kuhn_poker"}
    assert made.ask("POST", "/api/play", search)[0] == 422
    status, found = made.ask("POST", f"/api/runs/{RUN}/resume", {})
    assert status == (403 if options else 409)
    status, _ = made.ask("POST", f"/api/queue/{TICKET}/approve", {"digest": "x"})
    assert status == (403 if options else 409)
    assert [one["state"] for one in made.get("/api/runs")["queue"]] == ["held"]
    assert not (hostile_folder / "marker").exists()
    trust.trust(hostile_folder / "evil.py")
    if options:
        status, found = made.ask("GET", explore)
        assert status == 422 and "--read-only" in found["error"]["message"]
        assert not (hostile_folder / "marker").exists()
        return
    made.ask("GET", explore)  # its checkpoint is of another game, which is said after the import
    assert (hostile_folder / "marker").exists()
    (entry,) = made.get("/api/runs")["queue"]
    made.post(f"/api/queue/{TICKET}/approve", {"digest": entry["digest"]})
    wait_until(lambda: [run for run in made.runs().values() if run["name"] == "queued"])


def test_the_studio_may_be_told_whom_to_trust(hostile_folder, fresh):
    fresh("--trust", str(Path("evil.py")), root=hostile_folder / "runs")
    assert trust.code_reference("evil.py:Game").is_allowed
