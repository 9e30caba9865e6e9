"""What several commands share: their options, tables, JSON, and the files they write."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.errors import ConfigError, RunError
from counterplay.registry import ALGORITHMS, GAMES

if TYPE_CHECKING:
    from counterplay.policy import Policy
    from counterplay.sampled import SampledPolicy

MIN_FOLDED_WIDTH = 6  # characters; columns are not folded any narrower


def complete_games(start: str) -> list[str]:
    """The registered games that a half-typed word may become."""
    return [name for name in GAMES if name.startswith(start)]


def complete_algorithms(start: str) -> list[str]:
    """The algorithms that a half-typed word may become."""
    return [name for name in ALGORITHMS if name.startswith(start)]


GameArgument = Annotated[
    str,
    typer.Argument(
        metavar="GAME",
        help="A game, such as leduc_poker, 'kuhn_poker(players=3)', "
        "'openspiel:leduc_poker(players=3)', a file.efg, .nfg or .json, or a class of your own "
        "as file.py:Class, which runs that file's code.",
        autocompletion=complete_games,
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of all randomness.")]
ExportOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the policy as text; FILE ends in .json or .csv."),
]


def print_json(value: object) -> None:
    """Print a value as JSON on stdout."""
    print(json.dumps(value, indent=2))


def print_json_line(value: object) -> None:
    """Print a value as one line of JSON, at once: for records while they come."""
    print(json.dumps(value), flush=True)


def terminal_width() -> int:
    """Return the columns of the terminal; 80 where stdout is a file or a pipe."""
    return shutil.get_terminal_size((80, 24)).columns


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns; long cells are folded so that lines fit the terminal, or 80 columns."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = fit_widths([max(map(len, cells)) for cells in zip(*lines, strict=True)])
    for line in lines:
        folded = [wrap_cell(cell, width) for cell, width in zip(line, widths, strict=True)]
        for parts in zip_longest(*folded, fillvalue=""):
            cells = [part.ljust(width) for part, width in zip(parts, widths, strict=True)]
            print("  ".join(cells).rstrip())


def fit_widths(widths: Sequence[int]) -> list[int]:
    """Cap the widest columns so that all of them, two spaces apart, fit the terminal."""
    room = terminal_width() - 2 * (len(widths) - 1)
    cap = max(widths, default=0)
    while cap > MIN_FOLDED_WIDTH and sum(min(width, cap) for width in widths) > room:
        cap -= 1
    return [min(width, cap) for width in widths]


def wrap_cell(text: str, width: int) -> list[str]:
    """Fold a text into lines of at most that many characters."""
    return textwrap.wrap(text, max(width, 1), break_on_hyphens=False) or [""]


def print_facts(facts: Mapping[str, object]) -> None:
    """Print one `name  value` line per fact."""
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name.replace('_', ' '):{width}}  {_readable(value)}")


def _readable(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return ", ".join(map(_readable, value)) if isinstance(value, list) else str(value)


def readable_bytes(count: float) -> str:
    """A number of bytes in the unit that suits it, such as `3.2 MiB`."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:,.3g} TiB"


def readable_seconds(count: float) -> str:
    """A time in the unit that suits it, such as `12 min`."""
    for unit, size in (("s", 60.0), ("min", 60.0), ("h", 24.0)):
        if count < size:
            return f"{count:.2g} {unit}"
        count /= size
    return f"{count:,.3g} days"


SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="POLICY",
        help="What solve --save or an export wrote, the folder of a run, or RUN@NAME for one of "
        "its policies.",
        show_default=False,
    ),
]
OfGameOption = Annotated[
    str | None, typer.Option("--game", metavar="GAME", help="The game, if POLICY does not name it.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace files that exist already.")]


def check_outputs(save: Path | None, export: Path | None, force: bool = True) -> None:
    """Refuse files that could not be written, or must not, before any work is done for them."""
    if export and export.suffix not in (".json", ".csv"):
        raise ConfigError(f"cannot export to {export}; the name must end in .json or .csv")
    for path in (save, export):
        if path is None:
            continue
        if not path.parent.is_dir():
            raise RunError(f"cannot write {path}: there is no directory {path.parent}")
        if path.is_dir():
            raise RunError(f"cannot write {path}: it is a directory")
        if path.exists() and not force:
            raise ConfigError(f"{path} exists already; --force replaces it")
        if not os.access(path.parent, os.W_OK):
            raise RunError(f"cannot write {path}: no permission to write in {path.parent}")


def write_outputs(policy: Policy | SampledPolicy, save: Path | None, export: Path | None) -> None:
    """Write the policy to the files asked for, and say so on stderr."""
    if save:
        policy.save(save)
    if export:
        (policy.to_json if export.suffix == ".json" else policy.to_csv)(export)
    for path in (save, export):
        if path:
            print(f"wrote {path}", file=sys.stderr)


def say_what_networks_see(algorithm: Any, game: Any) -> None:
    """A line on stderr where networks must do without observations of the game's own."""
    from counterplay.observing import note

    if algorithm.needs == "deep" and (line := note(game)):
        print(line, file=sys.stderr)
