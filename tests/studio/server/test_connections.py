"""Limits on connections: who makes room for whom, and how long the server waits for a client."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn
from uvicorn.server import ServerState

from counterplay.studio.server import connections
from counterplay.studio.server.connections import (
    AUTHORIZED,
    ConnectionLimiter,
    limited_protocol,
)


class Transport:
    def __init__(self):
        self.aborted = False

    def abort(self):
        self.aborted = True


class Connection:
    """A connection as the limiter sees it."""

    def __init__(self, waiting=True, authorized=False):
        self.is_waiting, self.authorized, self.transport = waiting, authorized, Transport()


def admit(limiter, address="a", **more):
    connection = Connection(**more)
    return connection if limiter.admit(connection, address) else None


def test_the_oldest_waiting_connection_without_token_makes_room():
    limiter = ConnectionLimiter(max_connections=3, max_per_address=3)
    trusted = admit(limiter, authorized=True)
    first, second = admit(limiter), admit(limiter)
    limiter.touch(first)
    assert admit(limiter)
    assert [c.transport.aborted for c in (trusted, first, second)] == [False, False, True]
    assert admit(limiter) and admit(limiter)
    assert first.transport.aborted and not trusted.transport.aborted
    assert len(limiter.open) == 3


def test_connections_that_are_served_are_never_closed():
    limiter = ConnectionLimiter(max_connections=2, max_per_address=2)
    served = [admit(limiter, waiting=False), admit(limiter, waiting=False)]
    assert admit(limiter) is None
    assert not any(one.transport.aborted for one in served)
    limiter.forget(served[0])
    assert admit(limiter)


def test_an_address_leaves_room_for_others():
    limiter = ConnectionLimiter(max_connections=4, max_per_address=3)
    crowd = [admit(limiter, "crowd", waiting=False) for _ in range(3)]
    assert all(crowd) and admit(limiter, "crowd") is None
    assert admit(limiter, "other")
    limiter = ConnectionLimiter(max_connections=4, max_per_address=3)
    other = admit(limiter, "other")
    crowd = [admit(limiter, "crowd") for _ in range(3)]
    assert admit(limiter, "third")  # the crowd makes room, not the one of the other address
    assert crowd[0].transport.aborted and not other.transport.aborted


async def respond(scope, receive, send):
    """An application: `/large` has a response that no buffer of the system holds."""
    scope[AUTHORIZED] = True
    body = b"x" * (64 << 20) if scope["path"] == "/large" else b"hello"
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def lifetime(data):
    """Seconds until the server closes a connection that sends data and reads nothing."""
    protocol = limited_protocol(ConnectionLimiter())
    config = uvicorn.Config(respond, http=protocol, lifespan="off", log_level="critical")
    config.load()
    state, loop = ServerState(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: protocol(config, state, {}), "127.0.0.1", 0)
    _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    began = loop.time()
    writer.write(data)
    while state.connections:
        await asyncio.sleep(0.02)
        assert loop.time() - began < 20.0
    writer.close()
    server.close()
    return loop.time() - began


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: a\r\nX-Half",
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHo",
        b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)
def test_the_server_does_not_wait_for_ever(monkeypatch, data):
    """Neither for a request that does not come whole, nor for one who does not read."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(connections, "STALL_SECONDS", 0.3)
    assert 0.25 < asyncio.run(lifetime(data)) < 10.0
