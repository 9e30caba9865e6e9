"""Worker processes for long computations, which can be ended one by one.

There is one worker for each open game, two at most, and workers without a game for other calls. A
call that is repeated while it is computed waits for the same answer: a page repeats its call until
the answer comes, and shows the progress meanwhile.
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

MAX_GAME_WORKERS = 2  # at the same time
# names of workers without a game
LIBRARY_WORKER = ""  # for short calls
TIMING_WORKER = "timing"  # estimates the duration of runs
WARMING = "warming"  # compiles kernels before a page needs them
GAMELESS_WORKERS = (LIBRARY_WORKER, TIMING_WORKER, WARMING)
IDLE_SECONDS = 600.0  # without a call, after which a worker is closed
ANSWER_WAIT_SECONDS = 0.4  # until a page is told to repeat its call
MAX_PENDING_ANSWERS = 64  # of one worker that are kept for later calls
MAX_RESPONSE_BYTES = 64 << 20  # of one answer
EXIT_GRACE_SECONDS = 5.0  # for a process to end after its pipe has closed
BUSY_MACHINE_FACTOR = 6  # longest time of an answer, in units of its limit of CPU time
TOO_LONG_MESSAGE = "this took too long and was ended"
ENDED_MESSAGE = "the process that computed this has ended; try again"


class WorkerProcess:
    """A worker process and its pending calls."""

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
                answer = json.loads(line)
                if "progress" in answer:
                    self.progress = answer["progress"]
                    continue
                self.progress = {}
                future = self.pending_calls.pop(answer["id"], None)
                if future is None or future.done():
                    continue
                if "error" in answer:
                    future.set_exception(_error_from_answer(answer))
                else:
                    future.set_result(answer["found"])
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXIT_GRACE_SECONDS):
                await self.process.wait()
        is_late = hasattr(signal, "SIGPROF") and self.process.returncode == -signal.SIGPROF
        for future in self.pending_calls.values():
            if not future.done():
                future.set_exception(
                    ApiError(408, "slow", TOO_LONG_MESSAGE)
                    if is_late
                    else ApiError(503, "desk", ENDED_MESSAGE)
                )
        self.pending_calls.clear()

    def submit(self, question: dict[str, Any]) -> asyncio.Future[Any]:
        """Return the future answer to a call; the same one while an equal call is computed."""
        self.last_used = time.monotonic()
        text = json.dumps(question, sort_keys=True)
        pending = self.answer_by_question.get(text)
        if pending is not None:
            if pending.done():  # delivered now; a later call is computed again
                del self.answer_by_question[text]
            return pending
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
        """Return True if an equal call is computed, or its answer waits to be fetched."""
        return json.dumps(question, sort_keys=True) in self.answer_by_question

    @property
    def is_alive(self) -> bool:
        return self.process.returncode is None and not self.reader_task.done()

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()


class WorkerPool:
    """The workers of a studio, by game."""

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
        """Return the answer of a worker to a call.

        Args:
            game: the game, or the name of a worker without a game.
            question: the call.
            wait_seconds: time to wait for the answer; None waits for its end.
            cpu_limit_seconds: CPU time after which the worker is killed.
            cancel_others: whether to end a worker that computes another call.

        Raises:
            ApiError: with status 202 and the progress if the answer takes longer than
                `wait_seconds`, 408 if it exceeds its limit, or the error of the call.
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
        worker = await self._get_worker(game)
        future = worker.submit(question)
        longest = (
            None
            if cpu_limit_seconds is None
            else BUSY_MACHINE_FACTOR * (cpu_limit_seconds + EXIT_GRACE_SECONDS)
        )
        done, _ = await asyncio.wait(
            [future], timeout=longest if wait_seconds is None else wait_seconds
        )
        if done:
            worker.answer_by_question.pop(json.dumps(question, sort_keys=True), None)
            return future.result()
        if wait_seconds is not None:
            body = {"progress": worker.progress, "desk": game}
            raise ApiError(202, "working", "this takes a while", **body)
        self.close(game)
        raise ApiError(408, "slow", TOO_LONG_MESSAGE)

    async def _get_worker(self, game: str) -> WorkerProcess:
        async with self.start_locks.setdefault(game, asyncio.Lock()):
            worker = self.workers.get(game)
            if worker is None or not worker.is_alive:
                self._evict_workers(game)
                worker = self.workers[game] = await WorkerProcess.start(self.root, self.read_only)
            return worker

    def _evict_workers(self, game: str) -> None:
        """End the worker that was used least recently, if there are too many."""
        self.workers.pop(game, None)
        games = sorted(
            set(self.workers) - set(GAMELESS_WORKERS), key=lambda g: self.workers[g].last_used
        )
        excess = len(games) + (game not in GAMELESS_WORKERS) - MAX_GAME_WORKERS
        for other in games[: max(excess, 0)]:
            self.close(other)

    def close(self, game: str) -> bool:
        """End the worker of a game; return True if there was one."""
        worker = self.workers.pop(game, None)
        if worker:
            worker.close()
        return worker is not None

    def close_idle(self) -> None:
        for game, worker in list(self.workers.items()):
            if time.monotonic() - worker.last_used > IDLE_SECONDS and not worker.pending_calls:
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
