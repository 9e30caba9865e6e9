"""Progress on stderr: a bar while a terminal watches, nothing otherwise."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from counterplay.cli.common import print_line

if TYPE_CHECKING:
    from rich.progress import Progress

    from counterplay.arenas.tree.arena import TreeArena
    from counterplay.core.game import Game
    from counterplay.core.solve import AnyAlgorithm, Result
    from counterplay.play.agents import AgentLoader


class ProgressBar:
    """A progress bar that appears `delay` seconds from now and leaves no trace at its end."""

    def __init__(self, title: str, unit: str, total: int = 0, delay: float = 0.0):
        self.title, self.unit, self.total = title, unit, total
        self.is_terminal = sys.stderr.isatty()
        self.start = time.monotonic()
        self.show_after = self.start + delay
        self.progress: Progress | None = None
        self.rate_start = 0, self.start  # what was done, and when, from where the rate is counted

    def __enter__(self) -> ProgressBar:
        self.update(0)
        return self

    def __exit__(self, *problem: Any) -> None:
        if self.progress:
            self.progress.stop()

    def update(self, done: int, total: int = 0, note: str = "") -> None:
        """Show how much is done, how fast it goes, and a note."""
        if not self.is_terminal or time.monotonic() < self.show_after:
            return
        if self.progress is None:
            self.progress = _new_progress(self.title)
            self.progress.start()
        total = total or self.total
        amount = f"{done:,}/{total:,}" if total else f"{done:,}"
        text = f"{amount} {self.rate(done):,.0f} {self.unit}/s {note}" if done else note
        task = self.progress.task_ids[0]
        self.progress.update(task, completed=min(done, total), total=total or None, text=text)

    def restart_rate(self, done: int) -> None:
        """Count the rate from here on: what was done until now has waited for compilation."""
        self.rate_start = done, time.monotonic()

    def rate(self, done: int) -> float:
        """How much is done per second."""
        before, since = self.rate_start if done > self.rate_start[0] else (0, self.start)
        return (done - before) / max(time.monotonic() - since, 1e-9)

    def print(self, line: str) -> None:
        """Print a line of results, out of the bar's way."""
        aside = self.progress if sys.stdout.isatty() else None
        if aside:
            aside.stop()
        print_line(line)
        if aside:
            aside.start()


def _new_progress(title: str) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    console.width -= 4  # room for the ^C that a terminal prints, which would wrap
    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=10),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}", markup=False),
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    progress.add_task(title, total=None, text="")
    return progress


def build_tree_with_progress(game: Game) -> TreeArena:
    """The tree of a game, with a bar if it takes longer than two seconds."""
    return build_arena_with_progress(game, "tree")


def build_arena_with_progress(
    game: Game, kind: str = "", runs_on: tuple[str, ...] = ("sequences",)
) -> Any:
    """The arena of a game, of that kind, or of the kind that suits an algorithm."""
    from counterplay.arenas.build import build_arena

    with ProgressBar("building", "nodes", delay=2.0) as bar:
        return build_arena(game, kind, runs_on=runs_on, progress=bar.update)


def agent_loader_with_progress(
    game: Game, iterations: int | None = None, rules_only: bool = False
) -> AgentLoader:
    """A loader of agents with bars while it builds and solves."""
    from counterplay.play.agents import AgentLoader

    return AgentLoader(game, iterations, rules_only, build_tree_with_progress, _solve_agent)


def _solve_agent(tree: TreeArena, algorithm: AnyAlgorithm, iterations: int) -> Result:
    from counterplay.core.solve import solve

    with ProgressBar("solving", "it", total=iterations) as bar:
        result = solve(tree, algorithm, iterations=iterations, tick=bar.update)
    print(f"The opponent's exploitability is {result.exploitability:.2e}.", file=sys.stderr)
    return result
