"""The state of the studio: runs, events, workers, the queue and play sessions."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from pathlib import Path

from starlette.requests import Request

from counterplay.studio.server.event_stream import EventBroker
from counterplay.studio.server.game_names import GameNames
from counterplay.studio.server.name_resolver import NameResolver
from counterplay.studio.server.own_algorithms import OwnAlgorithms
from counterplay.studio.server.play_session_store import PlaySessionStore
from counterplay.studio.server.responses import ApiError, rewrite_for_page
from counterplay.studio.server.routes import JsonObject
from counterplay.studio.server.run_index import RunIndex, RunInfo, RunSummary
from counterplay.studio.server.run_launcher import QueueEntry, RunLauncher
from counterplay.studio.server.worker_pool import WARMING, WorkerPool

POLL_SECONDS = 0.25  # between two scans of running runs
MAX_STORED_RESPONSES = 256  # of requests with an idempotency key


class StudioState:
    """The state that all request handlers share."""

    def __init__(
        self,
        runs_folder: Path,
        *,
        read_only: bool = False,
        slots: int | None = None,
        algorithms: Iterable[str] = (),
    ):
        self.runs_folder, self.read_only = runs_folder.resolve(), read_only
        self.run_index = RunIndex(self.runs_folder)
        self.event_broker = EventBroker()
        self.worker_pool = WorkerPool(self.runs_folder, read_only)
        self.launcher = RunLauncher(self.runs_folder, slots)
        self.game_names = GameNames(self.runs_folder)
        self.play_sessions = PlaySessionStore()
        self.own_algorithms = OwnAlgorithms(algorithms, self._list_runs)
        self.resolver = NameResolver(self.game_names, self.find_run, self.own_algorithms)
        self.offers: JsonObject = {}  # by game; empty until a page requests them
        self.poll_lock = asyncio.Lock()
        self._response_by_key: dict[str, JsonObject] = {}  # by idempotency key

    async def poll_forever(self) -> None:
        """Scan the runs regularly, and send the changes to the pages."""
        while not self.event_broker.closed:
            try:
                await self.poll_runs()
            except Exception as error:  # for example a full disk; the next scan may succeed
                self.run_index.problem = f"cannot scan the runs: {error}"
            self.worker_pool.close_idle()
            await asyncio.sleep(POLL_SECONDS)

    async def warm_up(self) -> None:
        """Compile the kernels of hold'em spots in a worker, if they are not in the cache."""
        with contextlib.suppress(ApiError):
            await self.worker_pool.ask(WARMING, {"do": "warm_up"}, wait_seconds=None)
        self.worker_pool.close(WARMING)

    async def poll_runs(self, force: bool = False) -> None:
        """Scan the runs once; scans do not overlap, so that events are in order."""
        async with self.poll_lock:
            await self._poll_runs_locked(force)

    async def _poll_runs_locked(self, force: bool) -> None:
        changed, gone = await asyncio.to_thread(self.run_index.poll, force)
        for run in changed:
            self.event_broker.publish("run", run=self.summarise_run(run))
        for name in gone:
            self.event_broker.publish("gone", run=name)
        processes = [run.status.process for run in self.run_index.runs.values() if run.is_running]
        pids = [process.get("pid") for process in processes if process]
        running = {pid for pid in pids if isinstance(pid, int)}
        if not self.read_only and await asyncio.to_thread(self.launcher.poll, running):
            self.publish_queue()
        if not changed and (updated := await asyncio.to_thread(self.run_index.update_one_best)):
            self.event_broker.publish("run", run=self.summarise_run(updated))

    def publish_queue(self) -> None:
        """Send the queue to all pages."""
        self.event_broker.publish("queue", queue=self.queue_entries())

    def queue_entries(self) -> list[QueueEntry]:
        """Return the configs that wait, start or could not start."""
        entries = self.launcher.list_pending()
        for entry in entries:
            if "problem" in entry:
                entry["problem"] = rewrite_for_page(entry["problem"])[0]
        return entries

    def summarise_run(self, run: RunInfo) -> RunSummary:
        """Return a run as the list of runs shows it."""
        summary = run.summary()
        summary["game"] = self.game_names.name_from_spec(summary["game"])
        summary["problem"] = rewrite_for_page(summary["problem"])[0]
        return summary

    def find_run(self, name: str) -> RunInfo | None:
        """Return the run of this id; scans the folder if that has not been done."""
        if not self.run_index.has_polled:
            self.run_index.poll(force=True)
        return self.run_index.find(name)

    def _list_runs(self) -> list[RunInfo]:
        if not self.run_index.has_polled:
            self.run_index.poll(force=True)
        return list(self.run_index.runs.values())

    def run_from_request(self, request: Request) -> RunInfo:
        """Return the run that the path of a request names."""
        return self.resolver.run(request.path_params["run"])

    def find_response(self, key: str) -> JsonObject | None:
        """Return the response to an earlier request with this idempotency key."""
        return self._response_by_key.get(key) if key else None

    def store_response(self, key: str, response: JsonObject) -> None:
        """Store the response to a request with an idempotency key."""
        if key:
            self._response_by_key[key] = response
        while len(self._response_by_key) > MAX_STORED_RESPONSES:
            del self._response_by_key[next(iter(self._response_by_key))]
