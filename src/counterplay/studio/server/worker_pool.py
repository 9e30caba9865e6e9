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

from counterplay.studio.server.responses import ApiError, rewrite_for_page

MAX_GAME_WORKERS = 2  # games at a time
LIBRARY_WORKER, TIMING_WORKER = (
    "",
    "timing",
)  # desks without a game: for short questions, for trying runs out
WARMING = "warming"  # compiles kernels before a page needs them
GAMELESS_WORKERS = (LIBRARY_WORKER, TIMING_WORKER, WARMING)
IDLE_SECONDS = 600.0  # seconds after which a desk that nobody asks is closed
ANSWER_WAIT_SECONDS = 0.4  # seconds before a page is told to ask again
MAX_PENDING_ANSWERS = 64  # answers that somebody may still come for
MAX_RESPONSE_BYTES = 64 << 20  # bytes of one answer
EXIT_GRACE_SECONDS = 5.0  # seconds that a process has to end after its last word
BUSY_MACHINE_FACTOR = (
    6  # times as long as computing that an answer may take, where the machine is busy
)
TOO_LONG_MESSAGE = "this took too long and was ended"


class WorkerProcess:
    """A child process and the calls that it has not answered yet."""

    def __init__(self, process: asyncio.subprocess.Process):
        self.process = process
        self.num_calls = 0
        self.pending_calls: dict[int, asyncio.Future[Any]] = {}
        self.answer_by_question: dict[str, asyncio.Future[Any]] = {}  # by the text of the call
        self.progress: dict[str, Any] = {}
        self.last_used = time.monotonic()
        self.reader_task = asyncio.create_task(self._read_answers())

    @classmethod
    async def start(cls, root: Path | None = None, read_only: bool = False) -> WorkerProcess:
        """Start a process that may open game files below `root`, and runs no code if read only."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "counterplay.studio.worker.main",
            str(root or Path.cwd()),
            *(["--read-only"] if read_only else []),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            limit=MAX_RESPONSE_BYTES,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        return cls(process)

    async def _read_answers(self) -> None:
        assert self.process.stdout
        with contextlib.suppress(ValueError, OSError):
            while line := await self.process.stdout.readline():
                found = json.loads(line)
                if "progress" in found:
                    self.progress = found["progress"]
                    continue
                self.progress = {}
                future = self.pending_calls.pop(found["id"], None)
                if future is None or future.done():
                    continue
                if "error" in found:
                    future.set_exception(_error_from_answer(found))
                else:
                    future.set_result(found["found"])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXIT_GRACE_SECONDS):
                await self.process.wait()
        late = hasattr(signal, "SIGPROF") and self.process.returncode == -signal.SIGPROF
        problem = (
            "the process that computed this has ended; try again" if not late else TOO_LONG_MESSAGE
        )
        for future in self.pending_calls.values():
            if not future.done():
                status, code = (408, "slow") if late else (503, "desk")
                future.set_exception(ApiError(status, code, problem))
        self.pending_calls.clear()

    def submit(self, question: dict[str, Any]) -> asyncio.Future[Any]:
        """The answer to come; the same one for the same question while it is being made."""
        self.last_used = time.monotonic()
        text = json.dumps(question, sort_keys=True)
        known = self.answer_by_question.get(text)
        if known is not None:
            if known.done():  # while nobody waited; the next one to ask wants a new answer
                del self.answer_by_question[text]
            return known
        self.num_calls += 1
        future = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.pending_calls[self.num_calls] = self.answer_by_question[text] = future
        while len(self.answer_by_question) > MAX_PENDING_ANSWERS:
            del self.answer_by_question[next(iter(self.answer_by_question))]
        assert self.process.stdin
        with contextlib.suppress(OSError, RuntimeError):
            self.process.stdin.write(json.dumps({"id": self.num_calls} | question).encode() + b"\n")
        return future

    def has_question(self, question: dict[str, Any]) -> bool:
        """Whether this very question is being answered, or has been and nobody came for it."""
        return json.dumps(question, sort_keys=True) in self.answer_by_question

    @property
    def is_alive(self) -> bool:
        return self.process.returncode is None and not self.reader_task.done()

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()


class WorkerPool:
    """All desks, by the game they hold."""

    def __init__(self, root: Path | None = None, read_only: bool = False) -> None:
        self.root, self.read_only = root, read_only
        self.workers: dict[str, WorkerProcess] = {}
        self.start_locks: dict[str, asyncio.Lock] = {}

    async def ask(
        self,
        game: str,
        question: dict[str, Any],
        *,
        wait_seconds: float | None = ANSWER_WAIT_SECONDS,
        cpu_limit_seconds: float | None = None,
        cancel_others: bool = False,
    ) -> Any:
        """The answer, or `Refusal` 202 with the progress if it takes longer than `patience`.

        A question that computes for longer than `limit` ends its desk; one that is to be `alone`
        ends what else is being computed there, which nobody waits for any more.
        """
        if cpu_limit_seconds is not None:
            question = question | {"limit": cpu_limit_seconds}
        if (
            cancel_others
            and (busy := self.workers.get(game))
            and not busy.has_question(question)
            and busy.pending_calls
        ):
            self.close(game)
        desk = await self._get_worker(game)
        future = desk.submit(question)
        longest = (
            None
            if cpu_limit_seconds is None
            else BUSY_MACHINE_FACTOR * (cpu_limit_seconds + EXIT_GRACE_SECONDS)
        )
        done, _ = await asyncio.wait(
            [future], timeout=longest if wait_seconds is None else wait_seconds
        )
        if done:
            desk.answer_by_question.pop(json.dumps(question, sort_keys=True), None)
            return future.result()
        if wait_seconds is not None:
            body = {"progress": desk.progress, "desk": game}
            raise ApiError(202, "working", "this takes a while", **body)
        self.close(game)
        raise ApiError(408, "slow", TOO_LONG_MESSAGE)

    async def _get_worker(self, game: str) -> WorkerProcess:
        async with self.start_locks.setdefault(game, asyncio.Lock()):
            desk = self.workers.get(game)
            if desk is None or not desk.is_alive:
                self._evict_workers(game)
                desk = self.workers[game] = await WorkerProcess.start(self.root, self.read_only)
            return desk

    def _evict_workers(self, game: str) -> None:
        """End the desk that was asked least lately, if there are too many."""
        self.workers.pop(game, None)
        held = sorted(
            set(self.workers) - set(GAMELESS_WORKERS), key=lambda g: self.workers[g].last_used
        )
        for other in held[: max(len(held) + (game not in GAMELESS_WORKERS) - MAX_GAME_WORKERS, 0)]:
            self.close(other)

    def close(self, game: str) -> bool:
        """End a desk; whether there was one."""
        desk = self.workers.pop(game, None)
        if desk:
            desk.close()
        return desk is not None

    def close_idle(self) -> None:
        for game, desk in list(self.workers.items()):
            if time.monotonic() - desk.last_used > IDLE_SECONDS and not desk.pending_calls:
                self.close(game)

    def close_all(self) -> None:
        for game in list(self.workers):
            self.close(game)


def _error_from_answer(answer: dict[str, Any]) -> ApiError:
    kinds = {"ConfigError": (422, "config"), "GameError": (422, "game"), "RunError": (409, "run")}
    kinds |= {"TrustError": (422, "trust")}
    message, hint = rewrite_for_page(str(answer["error"]))
    status, code = kinds.get(answer.get("kind", ""), (500, "internal"))
    return ApiError(status, code, message, hint=hint)
