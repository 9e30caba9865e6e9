"""Output of the commands: tables, facts and JSON on stdout, notes on stderr, policies in files."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterplay.arenas.holdem.node_view import NodeView
    from counterplay.arenas.rules import TabularPolicy
    from counterplay.core.game import Game
    from counterplay.core.policy import Policy
    from counterplay.core.solve import AnyAlgorithm

MAX_WORD_WIDTH = 24  # characters of a word that a table never breaks


def print_json(value: object) -> None:
    """Print a value as JSON on stdout."""
    print(json.dumps(value, indent=2))


def print_json_line(value: object) -> None:
    """Print a value as one line of JSON, without buffering."""
    print_line(json.dumps(value))


def print_line(line: str) -> None:
    """Print a line without buffering; work continues if the reader of a pipe has left."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        silence_stdout()


def print_note(line: str) -> None:
    """Print a line on stderr."""
    print(line, file=sys.stderr)


def print_written(path: Path) -> None:
    """Print on stderr that a file was written."""
    print_note(f"wrote {path}")


def silence_stdout() -> None:
    """Discard further output to stdout, because its reader has left."""
    with contextlib.suppress(OSError, ValueError):
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, sys.stdout.fileno())
        os.close(handle)


def terminal_width() -> int:
    """Return the columns of the terminal; 80 if stdout is a file or a pipe."""
    return shutil.get_terminal_size((80, 24)).columns


def print_wrapped(text: str) -> None:
    """Print a paragraph, wrapped to the width of the terminal."""
    print(textwrap.fill(text, terminal_width(), subsequent_indent="  ", break_on_hyphens=False))


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns; long cells are wrapped so that lines fit the terminal."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = fit_widths(list(zip(*lines, strict=True)))
    for line in lines:
        columns = [wrap_cell(cell, width) for cell, width in zip(line, widths, strict=True)]
        for parts in zip_longest(*columns, fillvalue=""):
            cells = [part.ljust(width) for part, width in zip(parts, widths, strict=True)]
            print("  ".join(cells).rstrip())


def fit_widths(columns: Sequence[Sequence[str]]) -> list[int]:
    """Return widths of columns that, two spaces apart, fit the terminal; the widest shrink first.

    Numbers and words stay in one piece, unless they are longer than `MAX_WORD_WIDTH`.
    """
    widths = [max(map(len, cells)) for cells in columns]
    words_by_column = [" ".join(cells).split() for cells in columns]
    min_widths = [min(max(map(len, words), default=0), MAX_WORD_WIDTH) for words in words_by_column]
    available = terminal_width() - 2 * (len(widths) - 1)
    cap = max(widths, default=0)
    capped = widths
    while cap > 1 and sum(capped) > available:
        cap -= 1
        capped = [max(min(width, cap), low) for width, low in zip(widths, min_widths, strict=True)]
    return capped


def wrap_cell(text: str, width: int) -> list[str]:
    """Return a text as lines of at most `width` characters."""
    return textwrap.wrap(text, max(width, 1), break_on_hyphens=False) or [""]


def print_facts(facts: Mapping[str, object]) -> None:
    """Print one line `name  value` per fact."""
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name.replace('_', ' '):{width}}  {_format_value(value)}")


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return ", ".join(map(_format_value, value)) if isinstance(value, list) else str(value)


def format_bytes(count: float) -> str:
    """Return a number of bytes in a fitting unit, such as `3.2 MiB`."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:,.3g} TiB"


def format_seconds(count: float) -> str:
    """Return a time in a fitting unit, such as `12 min`."""
    for unit, size in (("s", 60.0), ("min", 60.0), ("h", 24.0)):
        if count < size:
            return f"{count:.2g} {unit}"
        count /= size
    return f"{count:,.3g} days"


def write_outputs(policy: Policy | TabularPolicy, save: Path | None, export: Path | None) -> None:
    """Write the policy to these files, and print their names on stderr."""
    if save:
        policy.save(save)
        print_written(save)
    if export:
        (policy.to_json if export.suffix == ".json" else policy.to_csv)(export)
        print_written(export)


def write_node_view(view: NodeView, export: Path | None, grid: Path | None) -> None:
    """Write the hands of a hold'em node and the drawing of its grid, if their paths are given."""
    from counterplay.arenas.holdem.solution import export_node_view
    from counterplay.display.hand_grid import draw_hand_grid

    if grid:
        draw_hand_grid(view).save(grid)
        print_written(grid)
    if export:
        export_node_view(view, export)
        print_written(export)


def print_observation_note(algorithm: AnyAlgorithm, game: Game) -> None:
    """Print a note if networks have to use infoset keys because the game has no observations."""
    from counterplay.core.observations import missing_observations_note

    if algorithm.required_extra == "deep" and (line := missing_observations_note(game)):
        print_note(line)


def print_setup_note(game: Game) -> None:
    """Print a note if buckets of hands have to be computed before the first state."""
    if note := getattr(game, "setup_note", ""):
        print_note(note)
