"""Hostile requests: no error of the program, no file outside, and the studio still answers."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import shutil
import socket
import threading
import time

import pytest

from counterplay.studio.server.connections import MAX_CONNECTIONS
from counterplay.studio.server.responses import (
    COMMAND_LINE,
    api_error_from_exception,
    rewrite_for_page,
)
from tests.studio.server.hostile_requests import Attack

KUHN = "kuhn/20260101T000000Z"
ANSWER_SECONDS = 60.0  # in which a worker answers
RECORDER = """
import os, sys

LOG = os.open(os.environ["OPENED_LOG"], os.O_WRONLY | os.O_APPEND)
MARKERS = os.environ["OPENED_MARKERS"].split(os.pathsep)

def record(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "import", "os.symlink", "os.rename"):
        for value in arguments[:2]:
            text = os.fsdecode(value) if isinstance(value, (str, bytes)) else ""
            if any(marker in text for marker in MARKERS):
                os.write(LOG, f"{event} {text}\\n".encode())

sys.addaudithook(record)
"""


@pytest.fixture
def studio_with_watch(fresh, runs_folder, tmp_path, monkeypatch):
    """A studio whose processes record every opened file whose path holds a marker.

    `secret` has a file and a pipe; opening the pipe from any program is noticed too.
    """
    secret = tmp_path / "secret-folder"
    hook, log = tmp_path / "hook", tmp_path / "opened.log"
    secret.mkdir()
    hook.mkdir()
    (secret / "game.efg").write_text("top secret")
    os.mkfifo(secret / "pipe.efg")
    (hook / "sitecustomize.py").write_text(RECORDER)
    log.write_text("")
    monkeypatch.setenv("PYTHONPATH", str(hook))
    monkeypatch.setenv("OPENED_LOG", str(log))
    markers = ["secret-folder", "/etc/passwd", "/etc/hostname", "/dev/zero"]
    monkeypatch.setenv("OPENED_MARKERS", os.pathsep.join(markers))
    shutil.copytree(runs_folder, tmp_path / "runs", symlinks=True)
    made = fresh("--slots", "1", root=tmp_path / "runs")
    ended, readers = threading.Event(), []

    def watch_pipe():
        while not ended.wait(0.02):
            with contextlib.suppress(OSError):  # the server does not read
                os.close(os.open(secret / "pipe.efg", os.O_WRONLY | os.O_NONBLOCK))
                readers.append("pipe")

    thread = threading.Thread(target=watch_pipe)
    thread.start()
    made.secret = secret
    made.is_opened = lambda: log.read_text().splitlines() + readers
    yield made
    ended.set()
    thread.join()


def send(studio, method, target, headers, body):
    """Status and body of any request; 0 if the server closed the connection without a word."""
    connection = http.client.HTTPConnection(studio.address, timeout=120)
    sent = studio.headers | headers
    try:
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        connection.putheader("Host", studio.address)
        for name, value in sent.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        stream = answer.getheader("content-type", "").startswith("application/x-ndjson")
        return answer.status, b"" if stream else answer.read()
    except (http.client.BadStatusLine, ConnectionError):
        return 0, b""
    finally:
        connection.close()


def attack(studio, seed, count):
    secret = studio.secret
    paths = [f"{secret}/game.efg", f"{secret}/pipe.efg", f"{secret}/none.efg", str(secret)]
    paths += ["/etc/passwd", "/dev/zero", "../secret-folder/game.efg", "/etc/hostname"]
    runs = [KUHN, "pool/20260101T000000Z", "hurt/20260101T000000Z", "gone/1"]
    seen = {}
    waiting = list(Attack(seed, paths, runs).requests(count))[::-1]
    while waiting:
        method, target, headers, body = waiting.pop()
        until = time.monotonic() + ANSWER_SECONDS
        status = 202
        while status == 202 and time.monotonic() < until:  # a worker computes
            status, found = send(studio, method, target, headers, body)
            if target.startswith("/api/spot"):
                break  # solving a spot compiles for half a minute
            time.sleep(0.05 * (status == 202))
        if (method, target, status) == ("POST", "/api/play", 200):  # the opponent is made now
            waiting.append(("GET", f"/api/play/{json.loads(found)['play']}?hint=1", {}, None))
        shown = (method, target[:200], (body or b"")[:300], found[:300])
        assert status != 500, shown
        assert status != 202 or target.startswith("/api/spot"), shown
        assert b"top secret" not in found and b"root:x:" not in found, shown
        if status >= 400 and target.startswith("/api") and method != "HEAD":
            plain = status == 400 and found == b"Invalid HTTP request received."
            error = {} if plain else json.loads(found)["error"]
            assert plain or error["message"], shown
            assert "Traceback" not in error.get("message", ""), shown
        seen[status] = seen.get(status, 0) + 1
    assert studio.is_opened() == []
    assert studio.get("/api/hello")["read_only"] is False
    assert studio.get("/api/runs?fresh=1")["problem"] == ""
    return seen


def test_hostile_requests(studio_with_watch):
    seen = attack(studio_with_watch, seed=1, count=120)
    assert seen[404] > 10 and seen[200] > 5


@pytest.mark.slow
def test_a_thousand_hostile_requests(studio_with_watch):
    seen = attack(studio_with_watch, seed=2, count=1000)
    assert seen[404] > 100 and seen[200] > 50


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/play", {"game": "tic_tac_toe", "policy": "search:{}"}),
        ("/api/play", {"game": "kuhn_poker", "policy": "{}"}),
        ("/api/play", {"game": "{}", "policy": "uniform"}),
        ("/api/estimate", {"game": "openspiel:efg_game(filename={})"}),
        ("/api/estimate", {"game": "{}"}),
        ("/api/matrix", {"game": "{}"}),
        ("/api/check", {"config": {"algorithm": "cfr", "game": "{}"}}),
        (
            "/api/check",
            {
                "config": {
                    "algorithm": "cfr",
                    "game": {"name": "openspiel:efg_game", "params": {"filename": "{}"}},
                }
            },
        ),
        ("/api/check", {"config": {"algorithm": "cfr", "game": "openspiel:nfg_game(filename={})"}}),
    ],
)
def test_answers_do_not_tell_whether_a_file_exists(studio, tmp_path, path, body):
    (tmp_path / "fileA").write_text("EFG 2 R")
    answers = []
    for name in ("fileA", "fileB"):
        text = json.dumps(body).replace("{}", str(tmp_path / name))
        status, _, found = studio.raw("POST", path, studio.headers, text.encode())
        answers.append((status, found.replace(name.encode(), b"")))
    assert answers[0] == answers[1]
    assert 400 <= answers[0][0] < 500


@pytest.mark.parametrize(
    "game",
    [
        "openspiel:efg_game(filename=a.efg)",
        "openspiel:nfg_game(filename=a.nfg)",
        "openspiel:efg_game",
        "openspiel:misere(game=efg_game(filename=a.efg))",
        "openspiel:bargaining(instances_file=a)",
        "openspiel:colored_trails(boards_file =a)",
        "openspiel:crossword()",
        "openspiel:crossword(puzzles_root=a)",
    ],
)
def test_games_of_openspiel_that_read_files_are_refused(studio, game):
    assert studio.ask("POST", "/api/estimate", {"game": game})[0] == 404
    config = {"algorithm": "cfr", "game": game, "spec": {"max_steps": 1}}
    assert studio.ask("POST", "/api/check", {"config": config})[0] == 404


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ("/api/explore/view?game=kuhn_poker&node=--5", "node"),
        ("/api/explore/view?game=kuhn_poker&node=-5", "node"),
        ("/api/explore/view?game=kuhn_poker&node=%C2%B2", "node"),
        ("/api/explore/view?game=kuhn_poker&start=1e3", "start"),
        ("/api/explore/leaks?game=kuhn_poker&player=x", "player"),
        ("/api/explore/infoset?game=kuhn_poker", "infoset"),
        (f"/api/runs/{KUHN}/metrics?points=x", "points"),
        (f"/api/runs/{KUHN}/metrics?from=nan", "from"),
        (f"/api/runs/{KUHN}/metrics?x=weeks", "x"),
    ],
)
def test_malformed_query_parameters_are_named(studio, target, field):
    status, found = studio.ask("GET", target)
    assert status == 400 and found["error"]["field"] == field
    assert found["error"]["message"].startswith(field)


def test_every_exception_becomes_one_sentence():
    errors = [ValueError("x"), KeyError("a"), RecursionError(), MemoryError(), OSError(28, "full")]
    for error in errors:
        refusal = api_error_from_exception(error)
        assert 400 <= refusal.status < 600
        message = refusal.body["error"]["message"]
        assert message and "\n" not in message and "Traceback" not in message


def test_advice_for_the_command_line_is_not_given_to_pages():
    messages = [
        "unknown game 'x'; did you mean 'y'? (counterplay games lists all)",
        "unknown game 'x'. Run 'counterplay games' for the list.",
        "a has 3 nodes: its tree takes about 9 GB; do without: inspect --estimate, solve --sampled",
        "x.json does not say which game it is for; name it with --game",
        "take (from Python, raise memory_limit) less; `counterplay convert` writes it",
    ]
    for message in messages:
        facts, hint = rewrite_for_page(message)
        assert facts and not COMMAND_LINE.search(facts + hint)
        assert facts[:10] == message[:10] or facts.startswith("take less")
    assert "Games" in rewrite_for_page(messages[0])[1]
    assert rewrite_for_page("node is 7, must be from 0 to 3")[0] == "node is 7, must be from 0 to 3"


def test_errors_of_the_library_advise_the_page(studio):
    for body in ({"game": "nothing"}, {"game": "kuhn_poker(players=1)"}):
        error = studio.ask("POST", "/api/estimate", body)[1]["error"]
        assert not COMMAND_LINE.search(error["message"] + error.get("hint", ""))
    config = {"algorithm": "nothing", "game": "kuhn_poker", "spec": {"max_steps": 1}}
    found = studio.post("/api/check", {"config": config})
    assert "nothing" in found["problem"] and not COMMAND_LINE.search(found["problem"])


def idle_connections(studio, count, data):
    host, port = studio.address.split(":")
    lines = []
    for _ in range(count):
        line = socket.create_connection((host, int(port)), timeout=10)
        with contextlib.suppress(OSError):  # it may have made room for another one already
            line.sendall(data)
        lines.append(line)
    return lines


def is_closed(line):
    line.settimeout(0.05)
    try:
        return line.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize("data", [b"", b"GET /api/hello HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half"])
def test_idle_connections_do_not_block_others(studio, data):
    """Five hundred half-sent requests are open; others are served at once."""
    lines = idle_connections(studio, 500, data)
    try:
        began = time.monotonic()
        for _ in range(5):
            assert studio.get("/api/hello")
        assert studio.raw("GET", "/")[0] == 200
        assert time.monotonic() - began < 10.0
        time.sleep(0.2)
        still_open = sum(not is_closed(line) for line in random.Random(0).sample(lines, 100))
        assert still_open <= 100 * MAX_CONNECTIONS / 500 + 15
    finally:
        for line in lines:
            line.close()


def test_a_run_that_has_ended_cannot_be_killed(studio):
    """The runs of the fixture ended, but the process that made them lives: this one."""
    status, found = studio.ask("POST", f"/api/runs/{KUHN}/kill", {})
    assert status == 409 and found["error"]["code"] == "not_running"


@pytest.mark.parametrize("names", [[None, ["b"]], "x", [1], {"a": 1}])
def test_names_of_a_matrix_must_be_lists(studio, names):
    body = {"utility": [[[1, -1]], [[-1, 1]]], "names": names}
    assert studio.ask("POST", "/api/matrix", body)[0] == 422
