"""Progress on stderr: a bar while a terminal watches, nothing otherwise."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from counterplay.cli.common import print_line

if TYPE_CHECKING:
    from rich.progress import Progress

    from counterplay.game import Game
    from counterplay.tree import Tree


class Bar:
    """A progress bar that appears `delay` seconds from now and leaves no trace at its end."""

    def __init__(self, title: str, unit: str, total: int = 0, delay: float = 0.0):
        self.title, self.unit, self.total = title, unit, total
        self.watched = sys.stderr.isatty()
        self.start = time.monotonic()
        self.appears = self.start + delay
        self.progress: Progress | None = None
        self.first = 0, self.start  # what was done, and when, from where the rate is counted

    def __enter__(self) -> Bar:
        self.update(0)
        return self

    def __exit__(self, *problem: Any) -> None:
        if self.progress:
            self.progress.stop()

    def update(self, done: int, total: int = 0, note: str = "") -> None:
        """Show how much is done, how fast it goes, and a note."""
        if not self.watched or time.monotonic() < self.appears:
            return
        if self.progress is None:
            self.progress = _new_progress(self.title)
            self.progress.start()
        total = total or self.total
        amount = f"{done:,}/{total:,}" if total else f"{done:,}"
        text = f"{amount} {self.rate(done):,.0f} {self.unit}/s {note}" if done else note
        task = self.progress.task_ids[0]
        self.progress.update(task, completed=min(done, total), total=total or None, text=text)

    def waited_until(self, done: int) -> None:
        """Count the rate from here on: what was done until now has waited for compilation."""
        self.first = done, time.monotonic()

    def rate(self, done: int) -> float:
        """How much is done per second."""
        before, since = self.first if done > self.first[0] else (0, self.start)
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


def build(game: Game) -> Tree:
    """The tree of a game, with a bar if it takes longer than two seconds."""
    return build_any(game, "tree")


def build_any(game: Game, kind: str = "", runs_on: tuple[str, ...] = ("sequences",)) -> Any:
    """The arena of a game, of that kind, or of the kind that suits an algorithm."""
    from counterplay.generated.choosing import build_arena

    with Bar("building", "nodes", delay=2.0) as bar:
        return build_arena(game, kind, runs_on=runs_on, progress=bar.update)
