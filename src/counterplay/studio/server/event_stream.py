"""Events for all open pages, in order and without gaps."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import secrets
from collections import deque
from collections.abc import AsyncIterator

from counterplay.studio.server.responses import json_response

MAX_KEPT_EVENTS = 1_000  # that a page can still get after it missed them
HEARTBEAT_SECONDS = 5.0  # between lines that show that the connection works


class EventBroker:
    """Sends numbered events to all listeners, so that a page gets each event once."""

    def __init__(self) -> None:
        self.boot_id, self.num_events = secrets.token_hex(4), 0
        self.recent_events: deque[tuple[int, str]] = deque(maxlen=MAX_KEPT_EVENTS)
        self.listeners: set[asyncio.Queue[str | None]] = set()
        self.closed = False

    def publish(self, kind: str, **data: object) -> None:
        """Send an event to all listeners."""
        self.num_events += 1
        event = {"id": f"{self.boot_id}-{self.num_events}", "kind": kind} | data
        text = bytes(json_response(event).body).decode()  # strict JSON: a browser cannot read NaN
        self.recent_events.append((self.num_events, text))
        for queue in self.listeners:
            if queue.qsize() < MAX_KEPT_EVENTS:  # a page that does not read has to reload
                queue.put_nowait(text)

    def close(self) -> None:
        """End all streams, because the server stops."""
        self.closed = True
        for queue in self.listeners:
            queue.put_nowait(None)

    def events_after(self, event_id: str) -> list[str]:
        """Return the events after the one of this id; a reset if they are not stored any more."""
        boot, _, number = event_id.partition("-")
        if not event_id:
            return []
        first = self.recent_events[0][0] if self.recent_events else self.num_events + 1
        is_valid = boot == self.boot_id and re.fullmatch("[0-9]{1,18}", number)
        if not is_valid or int(number) + 1 < first:
            return [json.dumps({"id": f"{self.boot_id}-{self.num_events}", "kind": "reset"})]
        return [text for n, text in self.recent_events if n > int(number)]

    async def stream(self, event_id: str) -> AsyncIterator[bytes]:
        """Yield lines for one page: events that it missed, new events, and regular heartbeats."""
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        hello = json.dumps({"id": f"{self.boot_id}-{self.num_events}", "kind": "hello"})
        for text in [*self.events_after(event_id), hello]:
            queue.put_nowait(text)
        self.listeners.add(queue)
        try:
            while not self.closed:
                text = ""
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(HEARTBEAT_SECONDS):
                        text = await queue.get() or ""
                if self.closed:
                    return
                yield (text or '{"kind": "beat"}').encode() + b"\n"
        finally:
            self.listeners.discard(queue)
