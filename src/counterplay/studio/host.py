"""What the studio knows: the runs, who listens, what is computed and who plays."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Any

from starlette.requests import Request

from counterplay.experiment.folder import CHECKPOINT
from counterplay.studio.answers import Refusal
from counterplay.studio.desks import WARMING, Desks
from counterplay.studio.events import Hub
from counterplay.studio.games import Games
from counterplay.studio.launching import Launcher
from counterplay.studio.rooms import Rooms
from counterplay.studio.watching import Seen, Watch, game_spec

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
        self.answered: dict[str, Any] = {}  # what was answered to requests with a key
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
        running = {process["pid"] for process in processes if process}
        if not self.read_only and await asyncio.to_thread(self.launcher.poll, running):
            self.hub.send("queue", queue=self.queue())
        if not changed and (found := await asyncio.to_thread(self.watch.find_a_best)):
            self.hub.send("run", run=self.summary(found))

    def queue(self) -> list[dict[str, Any]]:
        return self.launcher.waiting()

    def summary(self, run: Seen) -> dict[str, Any]:
        return run.summary() | {"game": self.games.name(game_spec(run.config))}

    def find(self, name: str) -> Seen | None:
        """The run of that id; looks for the first time if nobody has."""
        if not self.watch.looked:
            self.watch.poll(force=True)
        return self.watch.find(name)

    def run(self, request: Request) -> Seen:
        found = self.find(request.path_params["run"])
        if found is None:
            raise Refusal(404, "run", "there is no such run", hint="it may have been moved")
        return found

    def source(self, text: str) -> dict[str, Any]:
        """A policy as a desk takes it."""
        if not text.startswith("run:"):
            return {"text": text or "uniform"}
        name = text.removeprefix("run:").rpartition("@")[0]
        run = self.find(name)
        if run is None:
            raise Refusal(404, "run", f"there is no run {name[:80]!r}")
        stamp = mtime(run.folder / CHECKPOINT)
        return {"text": text, "folder": str(run.folder), "stamp": stamp}

    def game_of(self, game: str, policy: str) -> str:
        """The game that a page means: the one it names, or that of the run."""
        if game:
            return self.games.spec(game)
        run = self.find(policy.removeprefix("run:").rpartition("@")[0])
        if run is None or run.damage:
            raise Refusal(404, "game", "name a game, or a run that is there")
        return game_spec(run.config)


def with_game(studio: Studio, config: Any) -> dict[str, Any]:
    """A config as the library takes it; its game must be one that pages may name."""
    if not isinstance(config, dict):
        raise Refusal(422, "config", "a config is a JSON object")
    config = dict(config)
    game = config.get("game")
    name = game.get("name") if isinstance(game, dict) else game
    if isinstance(name, str):
        spec = studio.games.spec(name)
        config["game"] = spec if not isinstance(game, dict) else {**game, "name": spec}
    return config


def integer(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.lstrip("-").isdigit() and len(text) < 18 else otherwise


def number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def mtime(path: Path) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
