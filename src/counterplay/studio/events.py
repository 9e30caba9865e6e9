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

from counterplay.studio.answers import answer

KEPT = 1_000  # events that a page may have missed
BEAT = 5.0  # seconds between two signs of life


class Hub:
    """Sends events to all listeners; they are numbered, so that nobody gets one twice."""

    def __init__(self) -> None:
        self.boot, self.number = secrets.token_hex(4), 0
        self.kept: deque[tuple[int, str]] = deque(maxlen=KEPT)
        self.listeners: set[asyncio.Queue[str | None]] = set()
        self.closed = False

    def send(self, kind: str, **data: Any) -> None:
        """Tell everybody."""
        self.number += 1
        event = {"id": f"{self.boot}-{self.number}", "kind": kind} | data
        text = bytes(answer(event).body).decode()  # strict JSON: a browser cannot read NaN
        self.kept.append((self.number, text))
        for queue in self.listeners:
            if queue.qsize() < KEPT:  # who does not read will have to ask again
                queue.put_nowait(text)

    def close(self) -> None:
        """End all streams: the server stops."""
        self.closed = True
        for queue in self.listeners:
            queue.put_nowait(None)

    def missed(self, after: str) -> list[str]:
        """The events after one of that id; a reset if they are not known any more."""
        boot, _, number = after.partition("-")
        if not after:
            return []
        first = self.kept[0][0] if self.kept else self.number + 1
        if boot != self.boot or not re.fullmatch("[0-9]{1,18}", number) or int(number) + 1 < first:
            return [json.dumps({"id": f"{self.boot}-{self.number}", "kind": "reset"})]
        return [text for n, text in self.kept if n > int(number)]

    async def stream(self, after: str) -> AsyncIterator[bytes]:
        """Lines for one page: what it missed, what happens, and a sign of life now and then."""
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        hello = json.dumps({"id": f"{self.boot}-{self.number}", "kind": "hello"})
        for text in [*self.missed(after), hello]:
            queue.put_nowait(text)
        self.listeners.add(queue)
        try:
            while not self.closed:
                text = ""
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(BEAT):
                        text = await queue.get() or ""
                if self.closed:
                    return
                yield (text or '{"kind": "beat"}').encode() + b"\n"
        finally:
            self.listeners.discard(queue)
