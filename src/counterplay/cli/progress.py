"""Progress of long computations: results on stdout, a bar on stderr if it is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from counterplay.cli.output import format_seconds, print_line
from counterplay.cli.signals import catch_first_signal

if TYPE_CHECKING:
    from rich.progress import Progress

    from counterplay.arenas.tree.arena import TreeArena
    from counterplay.core.game import Game
    from counterplay.core.solve import AnyAlgorithm, Result
    from counterplay.play.agents import AgentLoader


class ProgressBar:
    """A bar on stderr that appears after `delay` seconds and disappears at the end."""

    def __init__(self, title: str, unit: str, total: int = 0, delay: float = 0.0):
        self.title, self.unit, self.total = title, unit, total
        self.is_terminal = sys.stderr.isatty()
        self.start = time.monotonic()
        self.show_after = self.start + delay
        self.progress: Progress | None = None
        self.rate_start = 0, self.start  # amount and time from which the rate is computed

    def __enter__(self) -> ProgressBar:
        self.update(0)
        return self

    def __exit__(self, *error: object) -> None:
        if self.progress:
            self.progress.stop()

    def update(self, done: int, total: int = 0, note: str = "") -> None:
        """Show the amount that is done, the rate and a note."""
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
        """Compute the rate from here on: the time so far includes compilation."""
        self.rate_start = done, time.monotonic()

    def rate(self, done: int) -> float:
        """Return the amount per second."""
        before, since = self.rate_start if done > self.rate_start[0] else (0, self.start)
        return (done - before) / max(time.monotonic() - since, 1e-9)

    def print(self, line: str) -> None:
        """Print a line on stdout; a bar on the same terminal is removed meanwhile."""
        progress = self.progress if sys.stdout.isatty() else None
        if progress:
            progress.stop()
        print_line(line)
        if progress:
            progress.start()


def _new_progress(title: str) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    console.width -= 4  # for the ^C that a terminal prints, which would wrap
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


class ProgressFollower:
    """Follows a long computation: a bar on stderr, rows of a table on stdout, and Ctrl-C.

    Inside the `with` block, `stop()` is True after the first Ctrl-C or SIGTERM; the second aborts.

    Args:
        title: such as "solving".
        unit: of the amount, such as "it".
        total: the amount at the end; 0 if it is unknown.
        compiles: whether the first step compiles, which the bar says and the rate leaves out.
        shows_time_left: whether the bar shows the time left at the rate so far.
    """

    stop: Callable[[], bool]

    def __init__(
        self,
        title: str,
        unit: str,
        total: int = 0,
        *,
        compiles: bool = False,
        shows_time_left: bool = False,
    ):
        self.bar = ProgressBar(title, unit, total)
        self.total, self.compiles, self.shows_time_left = total, compiles, shows_time_left
        self.done = 0
        self.note: Callable[[], str] | str = ""  # at the end of the bar
        self.columns: tuple[str, ...] = ()  # of the table on stdout
        self._exit_stack = ExitStack()

    def __enter__(self) -> ProgressFollower:
        self._exit_stack.enter_context(self.bar)
        self.stop = self._exit_stack.enter_context(catch_first_signal())
        if self.compiles:
            self.bar.update(0, note="compiling")
        return self

    def __exit__(self, *error: object) -> None:
        self._exit_stack.close()

    def tick(self, done: int, total: int = 0) -> None:
        """Show that this amount is done; the rate is computed from the first call on."""
        if not self.done:
            self.bar.restart_rate(done)
        self.done, self.total = done, total or self.total
        self.bar.update(done, self.total, self._note())

    def print_row(self, columns: Sequence[str], cells: Sequence[object]) -> None:
        """Print a row on stdout, below a header if the columns are not those of the last row."""
        if self.columns != tuple(columns):
            self.columns = tuple(columns)
            self.bar.print("  ".join(columns))
        self.bar.print("  ".join(map(str, cells)))

    def _note(self) -> str:
        note = self.note if isinstance(self.note, str) else self.note()
        if not self.shows_time_left or self.done <= self.bar.rate_start[0]:
            return note
        seconds = (self.total - self.done) / max(self.bar.rate(self.done), 1e-9)
        return f"{format_seconds(seconds)} left{f', {note}' if note else ''}"


def build_tree_with_progress(game: Game) -> TreeArena:
    """Build the tree of a game, with a bar if it takes longer than two seconds."""
    tree: TreeArena = build_arena_with_progress(game, "tree")
    return tree


def build_arena_with_progress(
    game: Game, kind: str = "", runs_on: tuple[str, ...] = ("sequences",)
) -> Any:
    """Build an arena as `build_arena` does, with a bar if it takes longer than two seconds."""
    from counterplay.arenas.build import build_arena

    with ProgressBar("building", "nodes", delay=2.0) as bar:
        return build_arena(game, kind, runs_on=runs_on, progress=bar.update)


def agent_loader_with_progress(
    game: Game, iterations: int | None = None, rules_only: bool = False
) -> AgentLoader:
    """Return a loader of agents that shows bars while it builds and solves."""
    from counterplay.play.agents import AgentLoader

    return AgentLoader(game, iterations, rules_only, build_tree_with_progress, _solve_agent)


def _solve_agent(tree: TreeArena, algorithm: AnyAlgorithm, iterations: int) -> Result:
    from counterplay.core.solve import solve
    from counterplay.registry import get_spec

    with ProgressBar("solving", "it", total=iterations) as bar:
        result = solve(tree, algorithm, iterations=iterations, tick=bar.update)
    name = get_spec(algorithm)
    print(f"solved by {name}: exploitability {result.exploitability:.2e}", file=sys.stderr)
    return result
