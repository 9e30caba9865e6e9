"""The worker process of the studio: it holds one game, its tree and policies, and answers calls.

Calls and answers are JSON objects, one per line (`core.child_process`). The process may be killed
at any time without harm.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from counterplay.core.child_process import ParentConnection, read_json_line, write_json_line
from counterplay.core.game import Game
from counterplay.errors import ConfigError, CounterplayError

LIBRARY_QUERIES = (  # calls that are about the library, not about one game
    "check",
    "duration",
    "estimate",
    "examine",
    "learn",
    "matrix",
    "offers",
    "population",
    "spot_size",
)
MAX_EXPORT_NODES = 200_000  # of a game that is exported as a file
COMPILING = "compiling the solver, once per installation"
PROGRESS_SECONDS = 0.15  # between two messages about progress, at least


class StudioWorker:
    """Answers calls about one game; without a game, about the library."""

    def __init__(self, send: Callable[[dict[str, Any]], None], root: str = "."):
        self.send = send
        self.root = root  # the folder of runs: games below it may be opened, as data
        self.game_spec = ""
        self.last_report_time = 0.0
        self.reports_compilation = False
        self.solved_spot: tuple[float, Any] | None = None  # target and solution of a hold'em spot

    def report_progress(self, activity: str, done: float, total: float) -> None:
        """Send the progress of a long computation, unless the last message was just sent."""
        seconds = time.monotonic()
        if seconds - self.last_report_time > PROGRESS_SECONDS:
            self.last_report_time = seconds
            self.send({"progress": {"doing": activity, "done": done, "total": total}})

    def report_compilation(self) -> None:
        """Send a message whenever numba compiles, from the first call on."""
        if not self.reports_compilation:
            self.reports_compilation = True
            report_compilation(self)

    @cached_property
    def game(self) -> Game:
        from counterplay.core.trust import load_game_from_file

        return load_game_from_file(self.game_spec, self.root)

    @cached_property
    def policy_sources(self) -> Any:
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
        """Whether the memory suffices for the tree of the game."""
        from counterplay.arenas.tree.size_estimate import available_memory, estimate_size
        from counterplay.studio.worker.library_queries import TREE_MEMORY_SHARE

        needed = estimate_size(self.game, seconds=0.1).num_bytes
        return needed < TREE_MEMORY_SHARE * available_memory()

    @cached_property
    def play(self) -> Any:
        from counterplay.play.sessions import InteractivePlay

        return InteractivePlay(self.game)

    def handle_call(self, call: dict[str, Any]) -> Any:
        """Return the answer to a call."""
        do = str(call.get("do", ""))
        self.game_spec = self.game_spec or str(call.get("game", ""))
        if do in LIBRARY_QUERIES:
            return self._handle_library_query(do, call)
        if do == "spot":
            return self._handle_spot_query(call)
        if do == "warm_up":
            return _warm_up()
        if do == "play":
            return self._handle_play_query(call)
        return self._handle_tree_query(do, call)

    def _handle_library_query(self, kind: str, call: dict[str, Any]) -> Any:
        from counterplay.studio.worker import library_queries

        limit_cpu_time(float(call.get("limit", 0.0)))
        try:
            return self._dispatch_library_query(library_queries, kind, call)
        finally:
            limit_cpu_time(0.0)

    def _dispatch_library_query(self, library_queries: Any, kind: str, call: dict[str, Any]) -> Any:
        if kind == "check":
            return library_queries.check_config(call["config"], self.root)
        if kind == "duration":
            return library_queries.estimate_duration(call["config"], self.root)
        if kind == "estimate":
            return library_queries.estimate_game_size(str(call["spec"]), self.root)
        if kind == "offers":
            return library_queries.offers(self.root)
        if kind == "examine":
            return library_queries.inspect_game_file(str(call["path"]), self.root)
        if kind == "population":
            return library_queries.describe_population(str(call["folder"]))
        if kind == "spot_size":
            from counterplay.studio.worker import spot_queries

            return spot_queries.estimate_spot(call["spot"])
        if kind == "learn":
            return library_queries.run_matrix_learner(call, self.root)
        return library_queries.analyse_matrix(call, self.root)

    def _handle_spot_query(self, call: dict[str, Any]) -> Any:
        from counterplay.studio.worker import spot_queries

        target = float(call.get("target", 0.5))
        self.report_compilation()
        if self.solved_spot is None or self.solved_spot[0] != target:  # a worker has one spot
            self.solved_spot = (
                target,
                spot_queries.solve_spot(call["spot"], target, self.report_progress),
            )
        return spot_queries.describe_spot_node(
            self.solved_spot[1], str(call.get("record", "")), str(call.get("cell", ""))
        )

    def _handle_play_query(self, call: dict[str, Any]) -> Any:
        text = str(call["policy"].get("text", ""))
        if text.startswith("search:"):
            from counterplay.play.agents import AgentLoader, is_searcher

            name = text.removeprefix("search:")
            if not is_searcher(name):  # another name could be the path of a file
                raise ConfigError(f"there is no searcher {name[:80]!r}")
            return self.play.describe_episode(
                call, AgentLoader(self.game).load_agents(name)[0], None
            )
        if text == "uniform" and not self.fits:
            from counterplay.arenas.rules import TabularPolicy

            return self.play.describe_episode(call, TabularPolicy(self.game), None)
        analysis = self.policy_sources.get(call["policy"])
        return self.play.describe_episode(call, analysis.policy, analysis)

    def _handle_tree_query(self, kind: str, call: dict[str, Any]) -> Any:
        from counterplay.studio.worker import tree_layout, tree_queries

        analysis = self.policy_sources.get(call.get("policy") or {})
        against = call.get("versus")
        versus = self.policy_sources.get_comparison(against, analysis) if against else None
        node, start = int(call.get("node", 0)), max(int(call.get("start", 0)), 0)
        if kind == "view":
            return tree_queries.describe_node(analysis, versus, node, start)
        if kind == "grid":
            return tree_queries.describe_grid(analysis, versus, node, start)
        if kind == "leaks":
            player = call.get("player")
            return tree_queries.list_infoset_regrets(
                analysis, start, None if player is None else int(player)
            )
        if kind == "drawing":
            return tree_layout.layout_subtree(analysis, node)
        if kind == "overview":
            return tree_layout.layout_overview(analysis)
        if kind == "find":
            infosets = tree_queries.find_infosets(analysis.tree, str(call.get("text", "")))
            for entry in infosets:
                entry["node"] = tree_queries.likeliest_node(analysis, entry["infoset"])
            return infosets
        if kind == "infoset":
            return tree_queries.describe_infoset(analysis, versus, int(call["infoset"]))
        if kind == "export":
            return _export_policy(analysis.policy, str(call.get("form", "json")))
        if kind == "game_file":
            return _export_game(analysis.tree)
        raise ConfigError(f"unknown call {kind!r}")


def report_compilation(worker: StudioWorker) -> None:
    """Send a message whenever numba compiles, which happens once per installation."""
    from numba.core import event

    class Reporter(event.Listener):
        def on_start(self, event: Any) -> None:
            worker.last_report_time = 0.0  # send it at once
            worker.report_progress(COMPILING, 0, 0)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Reporter())  # type: ignore[no-untyped-call]


def limit_cpu_time(seconds: float) -> None:
    """Kill this process when it has used this much CPU time from now on; 0 removes the limit."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _warm_up() -> bool:
    """Compile the kernels of spots with a low priority; return True if they were compiled."""
    from counterplay.studio.worker import spot_queries

    if hasattr(os, "nice"):
        os.nice(10)
    return spot_queries.warm_up()


def _export_policy(policy: Any, file_format: str) -> str:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy"
        (policy.to_csv if file_format == "csv" else policy.to_json)(path)
        return path.read_text()


def _export_game(tree: Any) -> str:
    """Return the game as a text in Gambit's .efg format."""
    import tempfile

    from counterplay.interop.game_files import save_game

    if tree.num_nodes > MAX_EXPORT_NODES:
        problem = f"{tree.num_nodes:,} nodes are too many for an .efg file of the studio"
        raise ConfigError(problem)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "game.efg"
        save_game(tree.game, path)
        return path.read_text()


def main() -> None:
    """Answer calls until the studio ends."""
    connection = ParentConnection(read_json_line, write_json_line)
    root, *options = sys.argv[1:] or ["."]
    if "--read-only" in options:
        from counterplay.core.trust import forbid_code

        forbid_code("this studio was started with --read-only and runs no code of games")
    worker = StudioWorker(connection.send, root)
    while True:
        call = connection.receive()
        try:
            connection.send({"id": call["id"], "found": worker.handle_call(call)})
        except CounterplayError as error:
            connection.send({"id": call["id"], "error": str(error), "kind": type(error).__name__})
        except MemoryError:
            problem = "out of memory; choose smaller parameters"
            connection.send({"id": call["id"], "error": problem, "kind": "RunError"})
        except Exception as error:  # of a game's rules, or of a call written by hand
            problem = f"{type(error).__name__}: {error}"
            connection.send({"id": call["id"], "error": problem[:500], "kind": "Internal"})


if __name__ == "__main__":
    main()
