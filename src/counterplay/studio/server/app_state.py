"""What the studio knows: the runs, who listens, what is computed and who plays."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

from starlette.requests import Request

from counterplay.studio.server.event_stream import EventBroker
from counterplay.studio.server.game_names import GameNames
from counterplay.studio.server.name_resolver import NameResolver
from counterplay.studio.server.play_session_store import PlaySessionStore
from counterplay.studio.server.responses import ApiError, rewrite_for_page
from counterplay.studio.server.run_index import RunIndex, RunInfo
from counterplay.studio.server.run_launcher import RunLauncher
from counterplay.studio.server.worker_pool import WARMING, WorkerPool

POLL_SECONDS = 0.25  # seconds between two looks at running runs


class StudioState:
    """Everything that the questions are answered from."""

    def __init__(self, runs_folder: Path, *, read_only: bool = False, slots: int | None = None):
        self.runs_folder, self.read_only = runs_folder.resolve(), read_only
        self.run_index, self.event_broker, self.worker_pool = (
            RunIndex(self.runs_folder),
            EventBroker(),
            WorkerPool(self.runs_folder, read_only),
        )
        self.launcher, self.game_names, self.play_sessions = (
            RunLauncher(self.runs_folder, slots),
            GameNames(self.runs_folder),
            PlaySessionStore(),
        )
        self.resolver = NameResolver(self.game_names, self.find_run)
        self.response_by_key: dict[str, Any] = {}  # what was answered to requests with a key
        self.offers: dict[str, Any] = {}  # by game; empty until a page asks
        self.poll_lock = asyncio.Lock()

    async def poll_forever(self) -> None:
        """Look at the runs again and again, and tell the pages what is new."""
        while not self.event_broker.closed:
            try:
                await self.poll_runs()
            except Exception as error:  # such as a full disk: a watch that ended would be worse
                self.run_index.problem = f"cannot look after the runs: {error}"
            self.worker_pool.close_idle()
            await asyncio.sleep(POLL_SECONDS)

    async def warm_up(self) -> None:
        """Compile the kernels of hold'em spots in a process of their own, if that was not done."""
        with contextlib.suppress(ApiError):
            await self.worker_pool.ask(WARMING, {"do": "warm_up"}, wait_seconds=None)
        self.worker_pool.close(WARMING)

    async def poll_runs(self, force: bool = False) -> None:
        """Look once; one at a time, so that events come in the order of what they tell."""
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
            self.event_broker.publish("queue", queue=self.queue_entries())
        if not changed and (found := await asyncio.to_thread(self.run_index.update_one_best)):
            self.event_broker.publish("run", run=self.summarise_run(found))

    def queue_entries(self) -> list[dict[str, Any]]:
        """Return the configs that wait, start or could not start, with the reason for a page."""
        waiting = self.launcher.list_pending()
        for entry in waiting:
            if "problem" in entry:
                entry["problem"] = rewrite_for_page(str(entry["problem"]))[0]
        return waiting

    def summarise_run(self, run: RunInfo) -> dict[str, Any]:
        """Return what the list of runs shows of a run."""
        row = run.summary()
        problem = rewrite_for_page(row["problem"])[0]
        return row | {"game": self.game_names.name_from_spec(row["game"]), "problem": problem}

    def find_run(self, name: str) -> RunInfo | None:
        """The run of that id; looks for the first time if nobody has."""
        if not self.run_index.has_polled:
            self.run_index.poll(force=True)
        return self.run_index.find(name)

    def run_from_request(self, request: Request) -> RunInfo:
        """Return the run that the path of a request names."""
        return self.resolver.run(request.path_params["run"])
