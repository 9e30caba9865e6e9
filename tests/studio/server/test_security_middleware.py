"""Access control, tested on a real socket with the headers of an attacker."""

from __future__ import annotations

import http.client
import socket
import time

import pytest

from counterplay.studio.server.security_middleware import (
    MAX_BODY_BYTES,
    MAX_UPLOAD_BYTES,
    _host_name,
)

PATHS = ["/api/hello", "/api/runs", "/api/events", "/api/nothing", "/api/play", "/api"]


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "", "localhost@evil", "[::1"],
)
@pytest.mark.parametrize("path", ["/", "/static/app.js", "/api/hello"])
def test_other_names_are_not_answered(studio, host, path):
    for method in ("GET", "POST", "DELETE", "PUT", "OPTIONS"):
        status, _, body = studio.raw(method, path, studio.headers, b"{}", host=host)
        assert status in (400, 421), (method, body)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LocalHost", "[::1]"])
def test_loopback_names(studio, name):
    port = studio.address.split(":")[1]
    for host in (name, f"{name}:{port}", f"{name}:1"):
        assert studio.raw("GET", "/api/hello", studio.headers, host=host)[0] == 200


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost:80", "localhost"),
        ("[::1]:8642", "[::1]"),
        ("a:b", ""),
        ("a:1:2", ""),
        ("a b", ""),
        ("a/b", ""),
        ("::1", ""),
    ],
)
def test_ports_are_taken_off(host, name):
    assert _host_name(host) == name


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("path", PATHS)
def test_nothing_without_the_token(studio, method, path):
    wrong = [
        {},
        {"Authorization": "Bearer "},
        {"Authorization": f"Bearer {studio.token}x"},
        {"Authorization": f"Bearer {'0' * 64}"},
        {"Authorization": f"Basic {studio.token}"},
        {"Authorization": studio.token},
        {"Cookie": f"token={studio.token}"},
        {"X-Token": studio.token},
    ]
    for headers in wrong:
        status, answer, body = studio.raw(
            method, path, headers | {"Content-Type": "application/json"}, b"{}"
        )
        assert status == 401, (headers, body)
        assert "www-authenticate" not in answer and "set-cookie" not in answer
    assert studio.raw(method, f"{path}?token={studio.token}", {}, b"")[0] in (401, 415)


def test_other_sites(studio):
    here = f"http://{studio.address}"
    good = [{}, {"Origin": here}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}]
    for headers in good:
        assert studio.raw("GET", "/api/hello", studio.headers | headers)[0] == 200
    bad = [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"https://{studio.address}"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
    ]
    for headers in bad:
        for method in ("GET", "POST", "DELETE"):
            status = studio.raw(method, "/api/hello", studio.headers | headers, b"{}")[0]
            assert status == 403, (method, headers)
    assert studio.raw("GET", "/static/app.js", {"Sec-Fetch-Site": "cross-site"})[0] == 403
    opened = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert studio.raw("GET", "/", opened)[0] == 200  # a link to the page, which holds no data


@pytest.mark.parametrize("path", ["/", "/runs/a", "/static/app.js", "/api/hello", "/api/x"])
def test_headers_of_every_answer(studio, path):
    for headers in (studio.headers, {}):
        _, found, _ = studio.raw("GET", path, headers)
        assert "default-src 'none'" in found["content-security-policy"]
        assert "unsafe" not in found["content-security-policy"]
        assert found["x-content-type-options"] == "nosniff"
        assert found["referrer-policy"] == "no-referrer"
        assert found["cross-origin-opener-policy"] == "same-origin"
        assert found["cache-control"] == ("no-store" if path.startswith("/api") else "no-cache")
        assert not any(name.startswith("access-control") for name in found)
        assert "server" not in found


def test_bodies_over_the_limit_are_refused(studio):
    for path, most in (("/api/check", MAX_BODY_BYTES), ("/api/games/upload", MAX_UPLOAD_BYTES)):
        for length in (str(most + 1), "9" * 30, "-1", "x"):
            headers = studio.headers | {"Content-Length": length}
            assert studio.raw("POST", path, headers)[0] in (400, 413)
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        headers = studio.headers | {"Content-Type": kind}
        assert studio.raw("POST", "/api/check", headers, b"{}")[0] == 415
    for body in (b"{", b"[]", b"3", b"\xff", b"[" * 100_000):
        status, _, found = studio.raw("POST", "/api/check", studio.headers, body)
        assert status == 400 and b"error" in found
    headers = studio.headers | {"Transfer-Encoding": "chunked"}
    connection = http.client.HTTPConnection(studio.address, timeout=30)
    try:
        pieces = iter([b"x" * (MAX_BODY_BYTES // 2)] * 4)
        connection.request("POST", "/api/check", pieces, headers, encode_chunked=True)
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # it did not even wait for the rest
    finally:
        connection.close()


def test_a_slow_body_ends(studio):
    with socket.create_connection(tuple(studio.address.split(":"))) as line:
        line.settimeout(30)
        head = f"POST /api/check HTTP/1.1\r\nHost: {studio.address}\r\nContent-Length: 100\r\n"
        head += f"Authorization: Bearer {studio.token}\r\nContent-Type: application/json\r\n\r\n{{"
        line.sendall(head.encode())
        began = time.monotonic()
        assert b"408" in line.recv(1000)
        assert time.monotonic() - began > 3
        assert studio.get("/api/hello")  # other requests did not wait


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "kuhn/../kuhn/20260101T000000Z",
        "/etc/passwd",
        "//etc/passwd",
        "kuhn%00/20260101T000000Z",
        "C:%5Cwindows",
        "kuhn",
        "con",
        ".studio",
        "kuhn/20260101T000000Z/",
    ],
)
def test_runs_are_looked_up_and_never_joined(studio, name):
    for path in (f"/api/runs/{name}", f"/api/runs/{name}/log", f"/api/runs/{name}/metrics"):
        status, found = studio.ask("GET", path)
        assert status == 404 and "error" in found
    for what in ("stop", "kill", "resume", "trash"):
        assert studio.ask("POST", f"/api/runs/{name}/{what}", {})[0] == 404
    assert studio.ask("GET", f"/api/explore/view?policy=run:{name}@average")[0] == 404
    assert studio.raw("GET", f"/static/{name}", studio.headers)[0] in (200, 404)
    assert b"root:" not in studio.raw("GET", f"/static/{name}", studio.headers)[2]


@pytest.mark.parametrize(
    "game",
    [
        "/etc/passwd",
        "../a.efg",
        "x.py:Game",
        "os:system",
        "upload:../../a.efg",
        "upload:0123456789abcdef.efg",
        "a.json",
        "kuhn_poker.efg",
        "x" * 5000,
    ],
)
def test_games_are_never_paths(studio, game):
    assert studio.ask("POST", "/api/estimate", {"game": game})[0] in (404, 422)
    assert studio.ask("POST", "/api/matrix", {"game": game})[0] in (404, 422)
    body = {"config": {"name": "a", "algorithm": "cfr", "game": game, "spec": {"max_steps": 1}}}
    assert studio.ask("POST", "/api/runs", body)[0] in (404, 422)
    body["config"]["game"] = {"name": game}
    assert studio.ask("POST", "/api/check", body)[0] in (404, 422)
    assert studio.ask("POST", "/api/play", {"game": game, "policy": "uniform"})[0] in (404, 422)


def test_websockets_and_other_methods(studio):
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    upgrade["Sec-WebSocket-Key"] = "AAAAAAAAAAAAAAAAAAAAAA=="
    assert studio.raw("GET", "/api/events", upgrade)[0] == 401
    for method in ("PUT", "PATCH", "OPTIONS", "TRACE", "CONNECT"):
        assert studio.raw(method, "/api/hello", studio.headers)[0] in (400, 405)
    assert studio.raw("POST", "/", studio.headers, b"{}")[0] == 405
    assert studio.raw("GET", "/api/hello?" + "a" * 9000, studio.headers)[0] in (400, 414)


def test_read_only(fresh, runs_folder):
    made = fresh("--read-only", root=runs_folder)
    name = "kuhn/20260101T000000Z"
    changes = ["/api/runs", "/api/restore", "/api/games/upload"]
    changes += [f"/api/runs/{name}/{what}" for what in ("stop", "kill", "resume", "trash")]
    for path in changes:
        status, found = made.ask("POST", path, {})
        assert (status, found["error"]["code"]) == (403, "read_only")
    assert made.ask("DELETE", "/api/queue/x")[0] == 403
    assert name in made.runs()
    assert made.ask("POST", "/api/play", {"game": "kuhn_poker", "policy": "uniform"})[0] == 200
