"""What the studio knows: the runs, who listens, what is computed and who plays."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

from starlette.requests import Request

from counterplay.studio.answers import Refusal, rewrite_for_page
from counterplay.studio.desks import WARMING, Desks
from counterplay.studio.events import Hub
from counterplay.studio.games import Games
from counterplay.studio.launching import Launcher
from counterplay.studio.resolver import NameResolver
from counterplay.studio.rooms import Rooms
from counterplay.studio.watching import Seen, Watch

POLL = 0.25  # seconds between two looks at running runs


class Studio:
    """Everything that the questions are answered from."""

    def __init__(self, root: Path, *, read_only: bool = False, slots: int | None = None):
        self.root, self.read_only = root.resolve(), read_only
        self.watch, self.hub, self.desks = Watch(self.root), Hub(), Desks(self.root, read_only)
        self.launcher, self.games, self.rooms = (
            Launcher(self.root, slots),
            Games(self.root),
            Rooms(),
        )
        self.resolver = NameResolver(self.games, self.find_run)
        self.answered: dict[str, Any] = {}  # what was answered to requests with a key
        self.offers: dict[str, Any] = {}  # by game; empty until a page asks
        self.looking = asyncio.Lock()

    async def keep_watch(self) -> None:
        """Look at the runs again and again, and tell the pages what is new."""
        while not self.hub.closed:
            try:
                await self.look()
            except Exception as error:  # such as a full disk: a watch that ended would be worse
                self.watch.problem = f"cannot look after the runs: {error}"
            self.desks.close_idle()
            await asyncio.sleep(POLL)

    async def warm_up(self) -> None:
        """Compile the kernels of hold'em spots in a process of their own, if that was not done."""
        with contextlib.suppress(Refusal):
            await self.desks.ask(WARMING, {"do": "warm_up"}, patience=None)
        self.desks.close(WARMING)

    async def look(self, force: bool = False) -> None:
        """Look once; one at a time, so that events come in the order of what they tell."""
        async with self.looking:
            await self._look(force)

    async def _look(self, force: bool) -> None:
        changed, gone = await asyncio.to_thread(self.watch.poll, force)
        for run in changed:
            self.hub.send("run", run=self.summary(run))
        for name in gone:
            self.hub.send("gone", run=name)
        processes = [run.status.process for run in self.watch.runs.values() if run.running]
        pids = [process.get("pid") for process in processes if process]
        running = {pid for pid in pids if isinstance(pid, int)}
        if not self.read_only and await asyncio.to_thread(self.launcher.poll, running):
            self.hub.send("queue", queue=self.queue())
        if not changed and (found := await asyncio.to_thread(self.watch.find_a_best)):
            self.hub.send("run", run=self.summary(found))

    def queue(self) -> list[dict[str, Any]]:
        """Return the configs that wait, start or could not start, with the reason for a page."""
        waiting = self.launcher.waiting()
        for entry in waiting:
            if "problem" in entry:
                entry["problem"] = rewrite_for_page(str(entry["problem"]))[0]
        return waiting

    def summary(self, run: Seen) -> dict[str, Any]:
        """Return what the list of runs shows of a run."""
        row = run.summary()
        problem = rewrite_for_page(row["problem"])[0]
        return row | {"game": self.games.name(row["game"]), "problem": problem}

    def find_run(self, name: str) -> Seen | None:
        """The run of that id; looks for the first time if nobody has."""
        if not self.watch.looked:
            self.watch.poll(force=True)
        return self.watch.find(name)

    def run(self, request: Request) -> Seen:
        """Return the run that the path of a request names."""
        return self.resolver.run(request.path_params["run"])
