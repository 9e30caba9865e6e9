"""Runs as the studio shows and handles them; killed at any moment, and the studio too."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

import pytest

from counterplay.cli.main import main
from counterplay.experiment import resume, run
from counterplay.experiment.compare import compare
from counterplay.experiment.metrics import load_metrics
from counterplay.experiment.run_folder import find_runs
from counterplay.experiment.run_status import (
    STOP_REQUEST,
    Heartbeat,
    is_alive,
    pending_requests,
    read_status,
    send_request,
)
from counterplay.experiment.runner import new_run
from counterplay.studio.server.run_index import RunIndex, game_spec_from_config
from counterplay.studio.server.run_launcher import RunLauncher
from tests.experiment.conftest import config, load_final_state, load_untimed_records
from tests.studio.conftest import TIMEOUT_SECONDS, wait_until

KUHN, POOL = "kuhn/20260101T000000Z", "pool/20260101T000000Z"
LIVE = {"name": "live"}
LONG = config(max_steps=10**9, evaluate_every=1000, checkpoint_every=10**9) | {"name": "long"}


def test_the_list(studio):
    found = studio.runs()
    assert set(found) == {KUHN, POOL, "hurt/20260101T000000Z"} | {
        f"sampled/20260101T00000{seed}Z" for seed in range(3)
    }
    kuhn = found[KUHN]
    records = load_metrics(studio.root / KUHN)
    assert (kuhn["state"], kuhn["step"], kuhn["max_steps"]) == ("finished", 2000, 2000)
    assert kuhn["value"] == records[-1]["linear_average"]
    assert kuhn["best"] == min(record["linear_average"] for record in records)
    assert kuhn["game"] == "kuhn_poker" and kuhn["checkpoint"] > 0
    assert kuhn["sketch"][0] == [1, records[0]["linear_average"]]
    hurt = found["hurt/20260101T000000Z"]
    assert (hurt["state"], hurt["problem"]) == (
        "damaged",
        "config.json is damaged: it is not a JSON object",
    )


def test_one_run(studio):
    found = studio.get(f"/api/runs/{KUHN}")
    assert found["config"]["algorithm"] == "cfr_plus"
    assert json.loads(found["env"])["versions"]["counterplay"]
    records = load_metrics(studio.root / KUHN)
    metrics = studio.get(f"/api/runs/{KUHN}/metrics")
    table = dict(zip(metrics["columns"], metrics["data"], strict=True))
    assert table == {key: [r[key] for r in records] for key in records[0]}
    assert metrics["best"]["average"][1] == min(r["average"] for r in records)
    some = studio.get(f"/api/runs/{KUHN}/metrics?from=500&to=700")
    assert some["data"][0][0] == 480 and some["data"][0][-1] == 720
    rest = studio.get(f"/api/runs/{KUHN}/metrics?after=90&epoch={metrics['epoch']}")
    assert rest["after"] == 90 and rest["data"][0] == table["step"][90:]
    other = studio.get(f"/api/runs/{KUHN}/metrics?after=90&epoch=x")
    assert other["after"] == 0 and other["data"][0] == table["step"]
    _, _, text = studio.raw("GET", f"/api/runs/{KUHN}/metrics.csv", studio.headers)
    lines = text.decode().splitlines()
    assert lines[0].split(",") == list(records[0]) and len(lines) == len(records) + 1
    assert [float(x) for x in lines[-1].split(",")] == list(records[-1].values())


def test_comparisons_are_those_of_the_command(studio):
    names = [KUHN, *(f"sampled/20260101T00000{seed}Z" for seed in range(3)), "gone/1"]
    found = studio.get("/api/compare?" + "&".join(f"r={name}" for name in names))
    assert found["gone"] == ["gone/1"]
    rows = [row.to_json() for row in compare([studio.root / name for name in names[:-1]])]
    assert [group["label"] for group in found["groups"]] == [row["name"] for row in rows]
    for group, row in zip(found["groups"], rows, strict=True):
        for key, interval in group["row"].items():
            assert interval == pytest.approx(row[key])
        assert len(group["runs"]) == row["runs"] and group["seeds"] == row["seeds"]
    sampled = found["groups"][1]["curve"]
    assert all(
        low <= mid <= high
        for low, mid, high in zip(sampled["low"], sampled["median"], sampled["high"], strict=True)
    )
    differing = {one["key"] for one in found["differing"]}
    assert {"algorithm", "name", "spec.max_steps", "spec.seed"} <= differing
    assert "game.name" not in differing


@pytest.mark.parametrize(
    ("game", "spec"),
    [
        ("kuhn_poker(players=3)", "kuhn_poker(players=3)"),
        (
            {"name": "kuhn_poker", "params": {"players": 2, "num_cards": 4}},
            "kuhn_poker(num_cards=4)",
        ),
        ({"name": "liars_dice", "params": {}}, "liars_dice"),
        (
            {"name": "matrix_game", "params": {"payoffs": [[[1, 0]], [[0, 1]]]}},
            "matrix_game(payoffs=(((1,0,),),((0,1,),),))",
        ),
        (None, ""),
    ],
)
def test_games_of_configs(game, spec):
    assert game_spec_from_config({"game": game}) == spec


def test_links_and_strange_names_are_left_alone(tmp_path):
    outside = run(config(max_steps=10), tmp_path / "outside").folder
    root = tmp_path / "runs"
    (root / "a").mkdir(parents=True)
    (root / "a" / "linked").symlink_to(outside)
    shutil.copytree(outside, root / "a" / "b c")
    shutil.copytree(outside, root / ".hidden")
    shutil.copytree(outside, root / "a" / "good")
    watch = RunIndex(root)
    watch.poll()
    assert set(watch.runs) == {"a/good"}
    assert watch.find("a/linked") is None and watch.find("../outside") is None
    shutil.rmtree(root / "a")
    assert watch.poll(force=True) == ([], ["a/good"])
    shutil.rmtree(root)
    assert watch.poll(force=True) == ([], []) and watch.problem == ""


def test_start_stop_resume_and_put_away(fresh):
    made = fresh("--slots", "1")
    assert made.runs() == {}
    bad = {"config": LONG | {"spec": {"max_steps": 0}}}
    code, found = made.ask("POST", "/api/runs", bad)
    assert code == 422 and found["error"]["field"] == "spec.max_steps"
    key = {"Idempotency-Key": "once"}
    first = made.ask("POST", "/api/runs", {"config": LONG, "seeds": [4, 5]}, **key)
    assert first[0] == 200 and len(first[1]["tickets"]) == 2
    assert made.ask("POST", "/api/runs", {"config": LONG, "seeds": [4, 5]}, **key) == first
    running = wait_until(lambda: [r for r in made.runs().values() if r["step"] > 0])[0]
    assert (running["state"], running["seed"]) == ("running", 4)
    waiting = made.get("/api/runs")["queue"]
    assert [(one["state"], one["config"]["spec"]["seed"]) for one in waiting] == [("queued", 5)]
    folder = made.root / running["id"]
    assert made.ask("POST", f"/api/runs/{running['id']}/resume", {})[0] == 409
    assert made.ask("POST", f"/api/runs/{running['id']}/trash", {})[0] == 409
    made.post(f"/api/runs/{running['id']}/checkpoint")
    wait_until((folder / "checkpoint.npz").exists)
    assert made.ask("DELETE", f"/api/queue/{waiting[0]['ticket']}")[0] == 200
    made.post(f"/api/runs/{running['id']}/stop")
    made.ask("POST", f"/api/runs/{running['id']}/stop", {})  # twice is once
    wait_until(lambda: read_status(folder).state == "stopped")
    assert wait_until(lambda: (folder / "log.txt").read_text()).startswith("running ")
    assert made.ask("POST", f"/api/runs/{running['id']}/stop", {})[0] == 409
    step = load_metrics(folder)[-1]["step"]
    made.post(f"/api/runs/{running['id']}/resume", {"steps": step + 5000})
    wait_until(lambda: made.runs()[running["id"]]["state"] == "finished")
    assert load_metrics(folder)[-1]["step"] == step + 5000
    ticket = made.post(f"/api/runs/{running['id']}/trash")["ticket"]
    assert made.runs() == {} and not folder.exists()
    assert made.ask("POST", "/api/restore", {"ticket": "../../x"})[0] == 404
    assert made.post("/api/restore", {"ticket": ticket})["run"] == running["id"]
    assert set(made.runs()) == {running["id"]} and folder.exists()
    assert made.get("/api/runs")["queue"] == []


def test_a_run_takes_its_slot_before_its_folder_is_seen(tmp_path):
    launcher = RunLauncher(tmp_path, slots=1)
    for seed in (1, 2):
        launcher.enqueue(LONG | {"spec": LONG["spec"] | {"seed": seed}})
    assert launcher.poll(set())
    started = next(iter(launcher.process_by_name.values()))
    try:
        wait_until(lambda: launcher.poll(set()))  # its folder is there; no look has noticed
        assert [one["state"] for one in launcher.list_pending()] == ["queued"]
    finally:
        started.kill()
        started.wait()
    assert launcher.poll(set()) and [one["state"] for one in launcher.list_pending()] == [
        "starting"
    ]
    for process in launcher.process_by_name.values():
        process.kill()
        process.wait()


def test_a_run_that_cannot_start_says_why(fresh):
    made = fresh()
    whole = config("sequence_form_lp", params={"players": 3}) | {"name": "bad"}
    made.post("/api/runs", {"config": whole})
    one = wait_until(lambda: [q for q in made.get("/api/runs")["queue"] if q["state"] == "failed"])[
        0
    ]
    assert "two-player zero-sum" in one["problem"] and made.runs() == {}
    assert made.ask("DELETE", f"/api/queue/{one['ticket']}")[0] == 200


def test_killed_runs_and_a_killed_studio(fresh):
    """kill -9 of the studio leaves runs alone; of a run, shows at once and resumes exactly."""
    short = config("cfr_hedge", max_steps=30_000, evaluate_every=500, checkpoint_every=1000)
    made = fresh()
    made.post("/api/runs", {"config": short | {"name": "run"}})
    name = wait_until(lambda: [r for r in made.runs().values() if r["step"] > 2000])[0]["id"]
    made.end(signal.SIGKILL)
    folder = made.root / name
    before = len(load_metrics(folder))
    again = fresh()
    assert again.token == made.token
    if again.runs()[name]["state"] == "running":  # unless the machine was too slow for us
        wait_until(
            lambda: len(load_metrics(folder)) > before or read_status(folder).state != "running"
        )
        again.ask("POST", f"/api/runs/{name}/kill", {})
        wait_until(lambda: again.runs()[name]["state"] in ("killed", "finished"))
    again.ask("POST", f"/api/runs/{name}/resume", {})
    wait_until(lambda: again.runs()[name]["state"] == "finished")
    whole = run(short, made.root / "whole").folder
    assert (load_final_state(folder), load_untimed_records(folder)) == (
        load_final_state(whole),
        load_untimed_records(whole),
    )


def test_killed_at_random_moments(fresh):
    """Run, desk and studio, again and again: in the end the records are those of a quiet run."""
    rng = random.Random(3)
    short = config("cfr_hedge", max_steps=30_000, evaluate_every=500, checkpoint_every=1000)
    made = fresh()
    made.post("/api/runs", {"config": short | {"name": "run"}})
    name = next(iter(wait_until(made.runs)))
    for _ in range(2):
        made.ask("POST", f"/api/runs/{name}/resume", {})  # refused if it runs already
        made.raw("GET", "/api/explore/view?game=kuhn_poker", made.headers)
        time.sleep(rng.random())
        victims = [made.process.pid, *made.children()]
        process = read_status(made.root / name).process
        victims += [process["pid"]] if process and is_alive(process) else []
        for victim in rng.sample(victims, len(victims)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        made.end(signal.SIGKILL)
        wait_until(lambda: read_status(made.root / name).state != "running")  # noqa: B023
        made = fresh()
        state, process = made.runs()[name]["state"], read_status(made.root / name).process
        # a process that started after the victims were listed survives
        survived = state == "running" and is_alive(process)
        assert survived or state in ("new", "ended", "killed", "finished")
    made.ask("POST", f"/api/runs/{name}/resume", {})
    wait_until(lambda: made.runs()[name]["state"] == "finished")
    whole = run(short, made.root / "whole").folder
    folder = made.root / name
    assert (load_final_state(folder), load_untimed_records(folder)) == (
        load_final_state(whole),
        load_untimed_records(whole),
    )


def test_requests_while_a_run_takes_its_lock(tmp_path):
    """One that was there before is for a run that has ended; one that has come since counts."""
    folder = new_run(config(), tmp_path / "run").folder
    send_request(folder, STOP_REQUEST)
    assert resume(folder).step == 200
    before = pending_requests(folder)
    send_request(folder, STOP_REQUEST)
    assert Heartbeat(folder, before).is_requested(STOP_REQUEST)
    assert not Heartbeat(folder, pending_requests(folder)).is_requested(STOP_REQUEST)


def test_points_come_once_and_none_is_lost(fresh):
    """A page that polls for new records ends up with all records of the file."""
    made = fresh()
    made.post("/api/runs", {"config": config(max_steps=10**9, evaluate_every=2000) | LIVE})
    name = next(iter(wait_until(made.runs)))
    known, epoch = [], ""

    def follow():
        nonlocal known, epoch
        path = f"/api/runs/{name}/metrics?points=20000&after={len(known)}&epoch={epoch}"
        found = made.get(path)
        kept = known if found["epoch"] == epoch else []
        assert found["after"] == len(kept)
        known = kept + (found["data"][0] if found["data"] else [])
        epoch = found["epoch"]
        return len(known)

    wait_until(lambda: follow() > 5)
    made.end(signal.SIGKILL)
    made = fresh()
    before = len(known)
    wait_until(lambda: follow() > before + 5)
    made.post(f"/api/runs/{name}/stop")
    wait_until(lambda: made.runs()[name]["state"] == "stopped")
    follow()
    assert known == [record["step"] for record in load_metrics(made.root / name)]


def test_a_full_disk(fresh):
    """Writes are refused with a message; existing runs can still be read."""
    made = fresh()  # writes the token
    run(config(max_steps=10) | {"name": "a"}, made.root / "a" / "1")
    made.end()
    made = fresh(within=["sh", "-c", 'ulimit -f 0; exec "$@"', "sh"])
    assert made.runs()["a/1"]["state"] == "finished"
    code, found = made.ask("POST", "/api/runs", {"config": config(max_steps=10)})
    assert code == 507 and "cannot write" in found["error"]["message"]
    code, found = made.ask("POST", "/api/games/upload", {"name": "a.efg", "text": "EFG 2 R"})
    assert code == 507 and "cannot write" in found["error"]["message"]
    code, found = made.ask("POST", "/api/runs/a/1/trash", {})
    assert code == 507 and found["error"]["message"]
    assert set(made.runs()) == {"a/1"}  # where it was


def test_events_come_once_and_none_is_lost(fresh):
    """A stream, broken and taken up again; eight at once; an end without a traceback."""
    made = fresh()

    def listen(after, wanted, then=lambda: None):
        line = http.client.HTTPConnection(made.address, timeout=TIMEOUT_SECONDS)
        line.request("GET", f"/api/events?after={after}", headers=made.headers)
        answer = line.getresponse()
        found = [json.loads(answer.readline())]
        then()
        while not any(event["kind"] == wanted for event in found):
            found.append(json.loads(answer.readline()))
        line.close()
        return found

    def first_run():
        run(config(max_steps=10) | {"name": "a"}, made.root / "a" / "1")

    first = listen("", "run", first_run)
    at = first[-1]["id"]
    run(config(max_steps=10) | {"name": "b"}, made.root / "b" / "1")
    wait_until(lambda: "b/1" in made.runs())
    missed = listen(at, "hello")
    assert [event["run"]["id"] for event in missed if event["kind"] == "run"][-1] == "b/1"
    ids = [int(event["id"].split("-")[1]) for event in missed[:-1]]
    assert ids == list(range(int(at.split("-")[1]) + 1, ids[-1] + 1))
    assert listen("x-1", "reset") and listen(f"{at.split('-')[0]}-0", "hello")

    streams = [socket.create_connection(tuple(made.address.split(":"))) for _ in range(8)]
    head = f"GET /api/events HTTP/1.1\r\nHost: {made.address}\r\n"
    for stream in streams:
        stream.sendall(f"{head}Authorization: Bearer {made.token}\r\n\r\n".encode())
        assert b"200 OK" in stream.recv(100)
    assert made.get("/api/hello")  # requests do not wait for them
    code, _, error = made.end(signal.SIGINT)
    assert (code, error) == (0, "")
    for stream in streams:
        stream.close()


def test_port_token_and_files(fresh, tmp_path, monkeypatch, capsys):
    made = fresh()
    token = tmp_path / "state" / "counterplay" / "studio-token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert token.read_text().strip() == made.token and len(made.token) == 64
    taken = made.address.split(":")[1]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert main(["studio", str(tmp_path), "--no-browser", "--port", taken]) == 1
    assert "choose another --port" in capsys.readouterr().err
    assert main(["studio", str(tmp_path), "--host", "0.0.0.0"]) == 2
    assert "--allow-host NAME" in capsys.readouterr().err
    os.chmod(token, 0o644)  # others may have read it: a new one
    assert fresh().token != made.token
    token.write_text("short")
    assert len(fresh().token) == 64


def test_the_usual_port_may_be_taken(tmp_path):
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            other.bind(("127.0.0.1", 8642))
            other.listen()
        except OSError:
            pass  # killed by another process, which is fine
        command = [sys.executable, "-m", "counterplay", "studio", str(tmp_path), "--no-browser"]
        state = os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=state)
        try:
            line = process.stdout.readline()
            assert "http://127.0.0.1:" in line and ":8642/" not in line
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


def test_folders_that_vanish_under_the_studio(fresh):
    made = fresh()
    folder = run(config(max_steps=100) | {"name": "a"}, made.root / "a" / "1").folder
    assert set(made.runs()) == {"a/1"}
    shutil.rmtree(folder)
    code, found = made.ask("GET", "/api/runs/a/1/metrics")
    assert (code, found.get("rows", 0)) in ((200, 0), (404, 0))  # before, or after the next look
    assert made.runs() == {} and made.ask("GET", "/api/runs/a/1")[0] == 404
    shutil.rmtree(made.root)
    assert made.runs() == {}
    assert made.post("/api/runs", {"config": config(max_steps=10) | {"name": "b"}})
    wait_until(lambda: [r for r in made.runs().values() if r["state"] == "finished"])
    shutil.rmtree(made.root / ".studio")
    (made.root / ".studio").touch()  # as good as a disk that cannot be written
    code, found = made.ask("POST", "/api/runs", {"config": config()})
    assert code == 507 and "cannot write" in found["error"]["message"]
    code, found = made.ask("POST", "/api/games/upload", {"name": "a.efg", "text": "EFG 2 R"})
    assert code == 507 and "cannot store" in found["error"]["message"]
    assert made.get("/api/runs")["queue"] == []


def test_two_resumes_are_one(tmp_path):
    """The library's lock decides for every client."""
    folder = run(config(), tmp_path / "run", stop=lambda: True).folder
    problems = []

    def go_on():
        try:
            resume(folder)
        except Exception as error:
            problems.append(str(error))

    threads = [threading.Thread(target=go_on) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read_status(folder).state == "finished"
    assert all("another process" in p or "has changed since" in p for p in problems)
    assert find_runs([folder]) == [folder]
