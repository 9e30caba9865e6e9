"""The far end of a desk: a process that holds one game, its tree and policies, and answers.

One JSON object per line comes in and goes out. It may be killed at any time without harm; when the
other side is gone, it ends.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from counterplay.errors import ConfigError, CounterplayError
from counterplay.game import Game

COUNSEL = (  # questions about the library and not about one game
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
MOST_WRITTEN = 200_000  # nodes of a game file
COMPILING = "compiling the solver, once per installation"
TELL_EVERY = 0.15  # seconds between two words about progress


class Desk:
    """Answers calls about one game; without a game, about the library."""

    def __init__(self, send: Callable[[dict[str, Any]], None], root: str = "."):
        self.send = send
        self.root = root  # the folder of runs: games below it may be opened, as data
        self.spec = ""
        self.told = 0.0
        self.reports_compilation = False
        self.solved: tuple[float, Any] | None = None  # a hold'em spot: to which target, and how

    def tell(self, doing: str, done: float, total: float) -> None:
        """Say how far a long computation has come."""
        now = time.monotonic()
        if now - self.told > TELL_EVERY:
            self.told = now
            self.send({"progress": {"doing": doing, "done": done, "total": total}})

    def report_compilation(self) -> None:
        """Tell the page from now on whenever numba compiles."""
        if not self.reports_compilation:
            self.reports_compilation = True
            report_compilation(self)

    @cached_property
    def game(self) -> Game:
        from counterplay.consent import load_game_from_file

        return load_game_from_file(self.spec, self.root)

    @cached_property
    def sources(self) -> Any:
        from counterplay.studio.counsel import TREE_MEMORY_SHARE
        from counterplay.studio.sources import Sources
        from counterplay.tree.estimating import available_memory
        from counterplay.tree.unrolling import build_tree

        self.tell("building the tree", 0, 0)
        self.report_compilation()
        tree = build_tree(
            self.game,
            memory_limit=int(TREE_MEMORY_SHARE * available_memory()),
            progress=lambda done, total: self.tell("building the tree", done, total),
        )
        return Sources(tree, self.tell)

    @cached_property
    def fits(self) -> bool:
        """Whether there is room for the tree of the game."""
        from counterplay.studio.counsel import TREE_MEMORY_SHARE
        from counterplay.tree.estimating import available_memory, estimate_size

        needed = estimate_size(self.game, seconds=0.1).num_bytes
        return needed < TREE_MEMORY_SHARE * available_memory()

    @cached_property
    def table(self) -> Any:
        from counterplay.studio.sitting import Table

        return Table(self.game)

    def answer(self, call: dict[str, Any]) -> Any:
        """What a call asks for."""
        do = str(call.get("do", ""))
        self.spec = self.spec or str(call.get("game", ""))
        if do in COUNSEL:
            return self._counsel(do, call)
        if do == "spot":
            return self._spot(call)
        if do == "warm_up":
            return _warm_up()
        if do == "play":
            return self._play(call)
        return self._explore(do, call)

    def _counsel(self, do: str, call: dict[str, Any]) -> Any:
        from counterplay.studio import counsel

        limit_time(float(call.get("limit", 0.0)))
        try:
            return self._advise(counsel, do, call)
        finally:
            limit_time(0.0)

    def _advise(self, counsel: Any, do: str, call: dict[str, Any]) -> Any:
        if do == "check":
            return counsel.check(call["config"], self.root)
        if do == "duration":
            return counsel.duration(call["config"], self.root)
        if do == "estimate":
            return counsel.estimate(str(call["spec"]), self.root)
        if do == "offers":
            return counsel.offers(self.root)
        if do == "examine":
            return counsel.examine(str(call["path"]), self.root)
        if do == "population":
            return counsel.population(str(call["folder"]))
        if do == "spot_size":
            from counterplay.studio import spots

            return spots.estimate(call["spot"])
        study = counsel.learn if do == "learn" else counsel.matrix
        return study(call, self.root)

    def _spot(self, call: dict[str, Any]) -> Any:
        from counterplay.studio import spots

        target = float(call.get("target", 0.5))
        self.report_compilation()
        if self.solved is None or self.solved[0] != target:  # a desk holds one spot
            self.solved = target, spots.solved(call["spot"], target, self.tell)
        return spots.view(self.solved[1], str(call.get("record", "")), str(call.get("cell", "")))

    def _play(self, call: dict[str, Any]) -> Any:
        text = str(call["policy"].get("text", ""))
        if text.startswith("search:"):
            from counterplay.cli.contestants import Contestants, searches

            name = text.removeprefix("search:")
            if not searches(name):  # any other name could be that of a file
                raise ConfigError(f"there is no searcher {name[:80]!r}")
            return self.table.look(call, Contestants(self.game).named(name)[0], None)
        if text == "uniform" and not self.fits:
            from counterplay.sampled import SampledPolicy

            return self.table.look(call, SampledPolicy(self.game), None)
        analysis = self.sources.get(call["policy"])
        return self.table.look(call, analysis.policy, analysis)

    def _explore(self, do: str, call: dict[str, Any]) -> Any:
        from counterplay.studio import drawing, exploring

        analysis = self.sources.get(call.get("policy") or {})
        against = call.get("versus")
        versus = self.sources.versus(against, analysis) if against else None
        node, start = int(call.get("node", 0)), max(int(call.get("start", 0)), 0)
        if do == "view":
            return exploring.view(analysis, versus, node, start)
        if do == "grid":
            return exploring.grid(analysis, versus, node, start)
        if do == "leaks":
            player = call.get("player")
            return exploring.leak_list(analysis, start, None if player is None else int(player))
        if do == "drawing":
            return drawing.drawing(analysis, node)
        if do == "overview":
            return drawing.overview(analysis)
        if do == "find":
            found = exploring.find(analysis.tree, str(call.get("text", "")))
            for one in found:
                one["node"] = exploring.likeliest(analysis, one["infoset"])
            return found
        if do == "infoset":
            return exploring.infoset(analysis, versus, int(call["infoset"]))
        if do == "export":
            return _exported(analysis.policy, str(call.get("form", "json")))
        if do == "game_file":
            return _game_file(analysis.tree)
        raise ConfigError(f"there is no question {do!r}")


def report_compilation(desk: Desk) -> None:
    """Tell the page whenever numba compiles, which happens once per installation."""
    from numba.core import event

    class Reporter(event.Listener):
        def on_start(self, found: Any) -> None:
            desk.told = 0.0  # said at once
            desk.tell(COMPILING, 0, 0)

        def on_end(self, found: Any) -> None:
            pass

    event.register("numba:compile", Reporter())  # type: ignore[no-untyped-call]


def limit_time(seconds: float) -> None:
    """End this process once it has computed for so long; 0 lifts the limit.

    Its own time counts, not the clock's: on a busy machine everything takes longer.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _warm_up() -> bool:
    """Compile the kernels of spots, after everything else that the machine has to do."""
    from counterplay.studio import spots

    if hasattr(os, "nice"):
        os.nice(10)
    return spots.warm_up()


def _exported(policy: Any, form: str) -> str:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy"
        (policy.to_csv if form == "csv" else policy.to_json)(path)
        return path.read_text()


def _game_file(tree: Any) -> str:
    """The game as Gambit reads it."""
    import tempfile

    from counterplay.interop.files import save_game

    if tree.num_nodes > MOST_WRITTEN:
        problem = f"{tree.num_nodes:,} nodes are too many for an .efg file of the studio"
        raise ConfigError(problem)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "game.efg"
        save_game(tree.rules, path)
        return path.read_text()


def main() -> None:
    """Answer line by line, until nobody asks any more."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a game prints must not look like an answer
    lock, waiting = threading.Lock(), queue.SimpleQueue[str]()

    def send(value: dict[str, Any]) -> None:
        with lock:
            try:
                out.write(json.dumps(value) + "\n")
                out.flush()
            except OSError:
                os._exit(0)

    def listen() -> None:
        for line in sys.stdin:
            waiting.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    root, *options = sys.argv[1:] or ["."]
    if "--read-only" in options:
        from counterplay.consent import forbid_code

        forbid_code("this studio was started with --read-only and runs no code of games")
    desk = Desk(send, root)
    while True:
        call = json.loads(waiting.get())
        try:
            send({"id": call["id"], "found": desk.answer(call)})
        except CounterplayError as error:
            send({"id": call["id"], "error": str(error), "kind": type(error).__name__})
        except MemoryError:
            problem = "out of memory; choose smaller parameters"
            send({"id": call["id"], "error": problem, "kind": "RunError"})
        except Exception as error:  # a game's rules, or an address written by hand
            problem = f"{type(error).__name__}: {error}"
            send({"id": call["id"], "error": problem[:500], "kind": "Internal"})


if __name__ == "__main__":
    main()
