"""The near end of desks: processes for what takes long, which can be ended one by one.

There is one for each game that somebody looks at, two at most, and one for questions that need no
tree. Asking the same again while an answer is being made waits for that answer: a page asks until
it comes, and shows how far things are meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from counterplay.studio.answers import Refusal, rewrite_for_page

MOST = 2  # games at a time
COUNSEL, TIMING = "", "timing"  # desks without a game: for short questions, for trying runs out
WARMING = "warming"  # compiles kernels before a page needs them
ASIDE = (COUNSEL, TIMING, WARMING)
IDLE = 600.0  # seconds after which a desk that nobody asks is closed
PATIENCE = 0.4  # seconds before a page is told to ask again
KEPT = 64  # answers that somebody may still come for
LONGEST = 64 << 20  # bytes of one answer
GRACE = 5.0  # seconds that a process has to end after its last word
SLOWER = 6  # times as long as computing that an answer may take, where the machine is busy
TOO_LONG = "this took too long and was ended"


class Desk:
    """A child process and the calls that it has not answered yet."""

    def __init__(self, process: asyncio.subprocess.Process):
        self.process = process
        self.number = 0
        self.calls: dict[int, asyncio.Future[Any]] = {}
        self.asked: dict[str, asyncio.Future[Any]] = {}  # by the text of the call
        self.progress: dict[str, Any] = {}
        self.used = time.monotonic()
        self.reader = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, root: Path | None = None, read_only: bool = False) -> Desk:
        """Start a process that may open game files below `root`, and runs no code if read only."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "counterplay.studio.desk",
            str(root or Path.cwd()),
            *(["--read-only"] if read_only else []),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            limit=LONGEST,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        return cls(process)

    async def _read(self) -> None:
        assert self.process.stdout
        with contextlib.suppress(ValueError, OSError):
            while line := await self.process.stdout.readline():
                found = json.loads(line)
                if "progress" in found:
                    self.progress = found["progress"]
                    continue
                self.progress = {}
                future = self.calls.pop(found["id"], None)
                if future is None or future.done():
                    continue
                if "error" in found:
                    future.set_exception(_refusal(found))
                else:
                    future.set_result(found["found"])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await self.process.wait()
        late = hasattr(signal, "SIGPROF") and self.process.returncode == -signal.SIGPROF
        problem = "the process that computed this has ended; try again" if not late else TOO_LONG
        for future in self.calls.values():
            if not future.done():
                status, code = (408, "slow") if late else (503, "desk")
                future.set_exception(Refusal(status, code, problem))
        self.calls.clear()

    def call(self, question: dict[str, Any]) -> asyncio.Future[Any]:
        """The answer to come; the same one for the same question while it is being made."""
        self.used = time.monotonic()
        text = json.dumps(question, sort_keys=True)
        known = self.asked.get(text)
        if known is not None:
            if known.done():  # while nobody waited; the next one to ask wants a new answer
                del self.asked[text]
            return known
        self.number += 1
        future = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.calls[self.number] = self.asked[text] = future
        while len(self.asked) > KEPT:
            del self.asked[next(iter(self.asked))]
        assert self.process.stdin
        with contextlib.suppress(OSError, RuntimeError):
            self.process.stdin.write(json.dumps({"id": self.number} | question).encode() + b"\n")
        return future

    def knows(self, question: dict[str, Any]) -> bool:
        """Whether this very question is being answered, or has been and nobody came for it."""
        return json.dumps(question, sort_keys=True) in self.asked

    @property
    def alive(self) -> bool:
        return self.process.returncode is None and not self.reader.done()

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()


class Desks:
    """All desks, by the game they hold."""

    def __init__(self, root: Path | None = None, read_only: bool = False) -> None:
        self.root, self.read_only = root, read_only
        self.desks: dict[str, Desk] = {}
        self.opening: dict[str, asyncio.Lock] = {}

    async def ask(
        self,
        game: str,
        question: dict[str, Any],
        *,
        patience: float | None = PATIENCE,
        limit: float | None = None,
        alone: bool = False,
    ) -> Any:
        """The answer, or `Refusal` 202 with the progress if it takes longer than `patience`.

        A question that computes for longer than `limit` ends its desk; one that is to be `alone`
        ends what else is being computed there, which nobody waits for any more.
        """
        if limit is not None:
            question = question | {"limit": limit}
        if alone and (busy := self.desks.get(game)) and not busy.knows(question) and busy.calls:
            self.close(game)
        desk = await self._desk(game)
        future = desk.call(question)
        longest = None if limit is None else SLOWER * (limit + GRACE)
        done, _ = await asyncio.wait([future], timeout=longest if patience is None else patience)
        if done:
            desk.asked.pop(json.dumps(question, sort_keys=True), None)
            return future.result()
        if patience is not None:
            body = {"progress": desk.progress, "desk": game}
            raise Refusal(202, "working", "this takes a while", **body)
        self.close(game)
        raise Refusal(408, "slow", TOO_LONG)

    async def _desk(self, game: str) -> Desk:
        async with self.opening.setdefault(game, asyncio.Lock()):
            desk = self.desks.get(game)
            if desk is None or not desk.alive:
                self._make_room(game)
                desk = self.desks[game] = await Desk.open(self.root, self.read_only)
            return desk

    def _make_room(self, game: str) -> None:
        """End the desk that was asked least lately, if there are too many."""
        self.desks.pop(game, None)
        held = sorted(set(self.desks) - set(ASIDE), key=lambda g: self.desks[g].used)
        for other in held[: max(len(held) + (game not in ASIDE) - MOST, 0)]:
            self.close(other)

    def close(self, game: str) -> bool:
        """End a desk; whether there was one."""
        desk = self.desks.pop(game, None)
        if desk:
            desk.close()
        return desk is not None

    def close_idle(self) -> None:
        for game, desk in list(self.desks.items()):
            if time.monotonic() - desk.used > IDLE and not desk.calls:
                self.close(game)

    def close_all(self) -> None:
        for game in list(self.desks):
            self.close(game)


def _refusal(found: dict[str, Any]) -> Refusal:
    kinds = {"ConfigError": (422, "config"), "GameError": (422, "game"), "RunError": (409, "run")}
    kinds |= {"TrustError": (422, "trust")}
    message, hint = rewrite_for_page(str(found["error"]))
    status, code = kinds.get(found.get("kind", ""), (500, "internal"))
    return Refusal(status, code, message, hint=hint)
