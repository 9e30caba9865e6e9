"""Limits on connections, so that idle or slow clients cannot shut others out.

A connection that waits for its client (for the rest of a request head, for a response to be read,
or for a request) has a time limit. It is closed earlier if a new connection needs its place:
connections without the token first, then those that have waited longest. A new client is therefore
served regardless of how many idle connections others have. Each address may have fewer connections
than there are in all, so that one address leaves room for others.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0  # for the request line and the headers to arrive, from the first byte on
STALL_SECONDS = 20.0  # for a client to read on when a response waits for it
MAX_CONNECTIONS = 256
MAX_CONNECTIONS_PER_ADDRESS = 192
AUTHORIZED = "counterplay.authorized"  # key of a request's scope: it had the token
LOOPBACK = "loopback"  # all addresses of this machine count as one
REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"content-type: application/json\r\ncontent-length: 76\r\nconnection: close\r\n\r\n"
    b'{"error":{"code":"busy","message":"the studio has too many open requests"}}\n'
)


@dataclass
class ConnectionLimiter:
    """The open connections of a server, in the order of their last activity."""

    max_connections: int = MAX_CONNECTIONS
    max_per_address: int = MAX_CONNECTIONS_PER_ADDRESS
    open: dict[LimitedProtocol, str] = field(default_factory=dict)  # with their addresses

    def admit(self, connection: LimitedProtocol, address: str) -> bool:
        """Register a new connection, closing a waiting one if there is no room.

        Returns:
            False if all connections that could be closed are being served.
        """
        counts = Counter(self.open.values())
        if counts[address] >= self.max_per_address and not self._close_one(address):
            return False
        if len(self.open) >= self.max_connections:
            crowded = max(counts, key=lambda other: counts[other])
            if not self._close_one(crowded) and not self._close_one(None):
                return False
        self.open[connection] = address
        return True

    def touch(self, connection: LimitedProtocol) -> None:
        """Move a connection to the end of the order."""
        if connection in self.open:
            self.open[connection] = self.open.pop(connection)

    def forget(self, connection: LimitedProtocol) -> None:
        """Remove a connection that is closed."""
        self.open.pop(connection, None)

    def _close_one(self, address: str | None) -> bool:
        """Close a waiting connection, of one address or of any; return True if there was one."""
        waiting = list(self._waiting(address))
        if not waiting:
            return False
        unauthorized = (connection for connection in waiting if not connection.authorized)
        closed = next(unauthorized, waiting[0])
        self.forget(closed)
        closed.transport.abort()
        return True

    def _waiting(self, address: str | None) -> Iterator[LimitedProtocol]:
        for connection, open_address in self.open.items():
            if connection.is_waiting and address in (None, open_address):
                yield connection


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 with time limits on the client and a limited number of connections."""

    limiter: ConnectionLimiter  # set by `limited_protocol`
    head_timer: asyncio.TimerHandle | None = None
    stall_timer: asyncio.TimerHandle | None = None
    authorized = False  # whether a request of this connection had the token

    @property
    def is_serving(self) -> bool:
        """Whether a request has arrived and its response is not complete."""
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete

    @property
    def is_waiting(self) -> bool:
        """Whether the connection waits for its client to send a request or to read a response."""
        return not self.is_serving or self.stall_timer is not None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit the connection and start the time limit of its first request."""
        super().connection_made(transport)
        if not self.limiter.admit(self, _address_of(self.client)):
            transport.write(REFUSAL)
            transport.close()
            return
        transport.set_write_buffer_limits(high=0)  # so that `pause_writing` is called at once
        self._start_head_timer()

    def data_received(self, data: bytes) -> None:
        """Parse data; the time limit of a request head ends when the head is complete."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._note_progress()

    def on_response_complete(self) -> None:
        """Start waiting for the client's next request."""
        self.authorized = self.authorized or bool((self.scope or {}).get(AUTHORIZED))
        super().on_response_complete()
        self._note_progress()

    def _note_progress(self) -> None:
        if self.is_serving:
            self._stop_head_timer()
            self.limiter.touch(self)
        elif self.timeout_keep_alive_task is None:  # the next request has begun to arrive
            self._start_head_timer()

    def pause_writing(self) -> None:
        """Start the time limit for the client to read what was sent."""
        super().pause_writing()
        if self.stall_timer is None:
            self.stall_timer = self.loop.call_later(STALL_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """End the time limit, because the client has read."""
        self._stop_stall_timer()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection."""
        self._stop_head_timer()
        self._stop_stall_timer()
        self.limiter.forget(self)
        super().connection_lost(exc)

    def _start_head_timer(self) -> None:
        if self.head_timer is None:
            self.head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_head_timer(self) -> None:
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def _stop_stall_timer(self) -> None:
        if self.stall_timer is not None:
            self.stall_timer.cancel()
            self.stall_timer = None


def limited_protocol(limiter: ConnectionLimiter) -> type[LimitedProtocol]:
    """Return the protocol class for `uvicorn.Config(http=...)` with this limiter."""
    namespace: dict[str, Any] = {"limiter": limiter}
    return type("LimitedProtocol", (LimitedProtocol,), namespace)


def _address_of(client: tuple[str, int] | None) -> str:
    try:
        address = ipaddress.ip_address(client[0] if client else "")
    except ValueError:
        return ""
    return LOOPBACK if address.is_loopback else str(address)
