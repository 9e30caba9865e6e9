"""What happens, told to every page that listens, in order and without gaps."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import secrets
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from counterplay.studio.server.responses import json_response

MAX_KEPT_EVENTS = 1_000  # events that a page may have missed
HEARTBEAT_SECONDS = 5.0  # seconds between two signs of life


class EventBroker:
    """Sends events to all listeners; they are numbered, so that nobody gets one twice."""

    def __init__(self) -> None:
        self.boot_id, self.num_events = secrets.token_hex(4), 0
        self.recent_events: deque[tuple[int, str]] = deque(maxlen=MAX_KEPT_EVENTS)
        self.listeners: set[asyncio.Queue[str | None]] = set()
        self.closed = False

    def publish(self, kind: str, **data: Any) -> None:
        """Tell everybody."""
        self.num_events += 1
        event = {"id": f"{self.boot_id}-{self.num_events}", "kind": kind} | data
        text = bytes(json_response(event).body).decode()  # strict JSON: a browser cannot read NaN
        self.recent_events.append((self.num_events, text))
        for queue in self.listeners:
            if queue.qsize() < MAX_KEPT_EVENTS:  # who does not read will have to ask again
                queue.put_nowait(text)

    def close(self) -> None:
        """End all streams: the server stops."""
        self.closed = True
        for queue in self.listeners:
            queue.put_nowait(None)

    def events_after(self, event_id: str) -> list[str]:
        """The events after one of that id; a reset if they are not known any more."""
        boot, _, number = event_id.partition("-")
        if not event_id:
            return []
        first = self.recent_events[0][0] if self.recent_events else self.num_events + 1
        if (
            boot != self.boot_id
            or not re.fullmatch("[0-9]{1,18}", number)
            or int(number) + 1 < first
        ):
            return [json.dumps({"id": f"{self.boot_id}-{self.num_events}", "kind": "reset"})]
        return [text for n, text in self.recent_events if n > int(number)]

    async def stream(self, event_id: str) -> AsyncIterator[bytes]:
        """Lines for one page: what it missed, what happens, and a sign of life now and then."""
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
