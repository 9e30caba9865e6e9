"""The state of a worker process: one game, its tree, its policies and episodes in progress."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterplay.core.game import Game
from counterplay.studio.worker.queries import Call, JsonObject, find_query

if TYPE_CHECKING:
    from counterplay.arenas.tree.arena import TreeArena
    from counterplay.play.episodes import Agent
    from counterplay.studio.worker.play_queries import EpisodeCache
    from counterplay.studio.worker.policy_sources import PolicySources
    from counterplay.studio.worker.spot_study import SpotStudies, SpotStudy

COMPILING = "compiling the solver, once per installation"
PROGRESS_SECONDS = 0.15  # between two reports of progress


class StudioWorker:
    """Answers calls about one game; without a game, about the library."""

    def __init__(self, send: Callable[[JsonObject], None], root: str = "."):
        self.send = send
        self.root = root  # the folder of runs; game files below it may be opened
        self.game_spec = ""
        self.last_report_time = 0.0
        self.reports_compilation = False
        self.spot_studies: SpotStudies | None = None  # of its hold'em spot
        self._comparison: tuple[Path, int, SpotStudy] | None = None  # with its time of change
        self.stop_requested = threading.Event()  # ends the solve in progress

    def report_progress(self, activity: str, done: float, total: float, **details: object) -> None:
        """Report the progress of a long computation, at most a few times a second."""
        seconds = time.monotonic()
        if seconds - self.last_report_time > PROGRESS_SECONDS:
            self.last_report_time = seconds
            progress = {"doing": activity, "done": done, "total": total} | details
            self.send({"progress": progress})

    def report_compilation(self) -> None:
        """Report from now on whenever numba compiles."""
        if not self.reports_compilation:
            self.reports_compilation = True
            report_compilation(self)

    @cached_property
    def game(self) -> Game:
        from counterplay.core.trust import load_game_from_file

        return load_game_from_file(self.game_spec, self.root)

    @cached_property
    def policy_sources(self) -> PolicySources:
        from counterplay.arenas.tree.build import build_tree
        from counterplay.arenas.tree.size_estimate import available_memory
        from counterplay.studio.worker.library_queries import TREE_MEMORY_SHARE
        from counterplay.studio.worker.policy_sources import PolicySources

        self.report_progress("building the tree", 0, 0)
        self.report_compilation()
        tree = build_tree(
            self.game,
            memory_limit=int(TREE_MEMORY_SHARE * available_memory()),
            progress=lambda done, total: self.report_progress("building the tree", done, total),
        )
        return PolicySources(tree, self.report_progress)

    @cached_property
    def fits(self) -> bool:
        """Whether the tree of the game fits into memory."""
        from counterplay.arenas.tree.size_estimate import available_memory, estimate_size
        from counterplay.studio.worker.library_queries import TREE_MEMORY_SHARE

        needed = estimate_size(self.game, seconds=0.1).num_bytes
        return needed < TREE_MEMORY_SHARE * available_memory()

    def load_searcher(self, name: str, sources: Mapping[str, str]) -> Agent:
        """Return a searcher by name, whose tree and blueprint are computed here."""
        from counterplay.core.solve import AnyAlgorithm, Result, solve
        from counterplay.play.agents import AgentLoader

        def run_algorithm(tree: TreeArena, algorithm: AnyAlgorithm, iterations: int) -> Result:
            return solve(
                tree,
                algorithm,
                iterations=iterations,
                tick=lambda done: self.report_progress("preparing the opponent", done, iterations),
            )

        loader = AgentLoader(
            self.game, build=lambda game: self.policy_sources.tree, solve=run_algorithm
        )
        return self.play.load_searcher(name, sources, loader)

    @cached_property
    def play(self) -> EpisodeCache:
        from counterplay.studio.worker.play_queries import EpisodeCache

        return EpisodeCache(self.game)

    def comparison_study(self, path: Path) -> SpotStudy:
        """Return the solution of a file to compare with; the last one is kept."""
        from counterplay.studio.worker.spot_study import SpotStudy

        stamp = path.stat().st_mtime_ns
        if self._comparison is None or self._comparison[:2] != (path, stamp):
            self._comparison = None
            self._comparison = path, stamp, SpotStudy.from_file(path)
        return self._comparison[2]

    def handle_at_once(self, call: Call) -> bool:
        """Handle a call that interrupts the one in progress; return False for all others."""
        if call.get("do") != "stop_solving":
            return False
        self.stop_requested.set()
        self.send({"id": call["id"], "found": {"stopped": True}})
        return True

    def handle_call(self, call: Call) -> Any:
        """Return the answer to a call; its CPU time is limited to `limit` seconds, if given."""
        answer = find_query(str(call.get("do", "")))
        self.game_spec = self.game_spec or str(call.get("game", ""))
        limit_cpu_time(float(call.get("limit", 0.0)))
        try:
            return answer(self, call)
        finally:
            limit_cpu_time(0.0)


def report_compilation(worker: StudioWorker) -> None:
    """Report to the page whenever numba compiles, which happens once per installation."""
    from numba.core import event

    class Reporter(event.Listener):
        def on_start(self, event: object) -> None:
            worker.last_report_time = 0.0  # report at once
            worker.report_progress(COMPILING, 0, 0)

        def on_end(self, event: object) -> None:
            pass

    event.register("numba:compile", Reporter())  # type: ignore[no-untyped-call]


def limit_cpu_time(seconds: float) -> None:
    """End this process after some seconds of CPU time; 0 removes the limit.

    Elapsed time does not count, because it is longer on a busy machine.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
