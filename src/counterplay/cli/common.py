"""What several commands share: their options, tables, JSON, and the files they write."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.errors import ConfigError, FileError
from counterplay.registry import ALGORITHMS, GAMES

if TYPE_CHECKING:
    from counterplay.arenas.rules import TabularPolicy
    from counterplay.core.policy import Policy

MAX_INTEGER_DIGITS = 18  # of an option such as --iterations 1e6
MAX_SEEDS = 10_000  # of one option
MAX_WORD_WIDTH = 24  # characters of a word that a table never breaks


def complete_games(start: str) -> list[str]:
    """The registered games that a half-typed word may become."""
    return [name for name in GAMES if name.startswith(start)]


def complete_algorithms(start: str) -> list[str]:
    """The algorithms that a half-typed word may become."""
    return [name for name in ALGORITHMS if name.startswith(start)]


def integer_option(
    *names: str, minimum: int, maximum: int | None = None, metavar: str = "N", **options: Any
) -> Any:
    """An option for an integer in a range, which may be written as 1000, 1_000 or 1e3."""

    def parse(text: str | int) -> int:
        value = parse_integer(str(text))
        if value is None:
            raise typer.BadParameter(f"{text!r} is not an integer, such as 1000 or 1e6")
        if value < minimum:
            raise typer.BadParameter(f"{text} is too small, must be at least {minimum}")
        if maximum is not None and value > maximum:
            raise typer.BadParameter(f"{text} is too large, must be at most {maximum}")
        return value

    return typer.Option(*names, parser=parse, metavar=metavar, **options)


ExecutorOption = Annotated[
    str, typer.Option(metavar="local|auto|host:port", help="This machine, or a Ray cluster.")
]
ProcessesOption = Annotated[
    int | None, integer_option(minimum=1, help="Runs at once here.", show_default="one per core")
]


def parse_integer(text: str) -> int | None:
    """The integer that a text such as 1000, 1_000 or 1e3 stands for; None if it is not one."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    small = value.is_finite() and abs(value.adjusted()) <= MAX_INTEGER_DIGITS
    return int(value) if small and value == int(value) else None


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
SeedOption = Annotated[
    int, integer_option("--seed", "-s", minimum=0, help="Seed of all randomness.")
]
ExportOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the policy as text; FILE ends in .json or .csv."),
]


def print_json(value: object) -> None:
    """Print a value as JSON on stdout."""
    print(json.dumps(value, indent=2))


def print_json_line(value: object) -> None:
    """Print a value as one line of JSON, at once: for records while they come."""
    print_line(json.dumps(value))


def print_line(line: str) -> None:
    """Print a line at once; the work goes on if the reader of a pipe has left."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        silence_stdout()


def silence_stdout() -> None:
    """Send what is printed from here on to nowhere, because its reader has left."""
    with contextlib.suppress(OSError, ValueError):
        handle = os.open(os.devnull, os.O_WRONLY)
        os.dup2(handle, sys.stdout.fileno())
        os.close(handle)


def terminal_width() -> int:
    """Return the columns of the terminal; 80 where stdout is a file or a pipe."""
    return shutil.get_terminal_size((80, 24)).columns


def print_wrapped(text: str) -> None:
    """Print a paragraph, folded to fit the terminal, or 80 columns."""
    print(textwrap.fill(text, terminal_width(), subsequent_indent="  ", break_on_hyphens=False))


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print columns; long cells are folded so that lines fit the terminal, or 80 columns."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = fit_widths(list(zip(*lines, strict=True)))
    for line in lines:
        folded = [wrap_cell(cell, width) for cell, width in zip(line, widths, strict=True)]
        for parts in zip_longest(*folded, fillvalue=""):
            cells = [part.ljust(width) for part, width in zip(parts, widths, strict=True)]
            print("  ".join(cells).rstrip())


def fit_widths(columns: Sequence[Sequence[str]]) -> list[int]:
    """Cap the widest columns so that all of them, two spaces apart, fit the terminal.

    Numbers and words stay in one piece, unless they are longer than `MAX_WORD_WIDTH`.
    """
    widths = [max(map(len, cells)) for cells in columns]
    words = [" ".join(cells).split() for cells in columns]
    least = [min(max(map(len, own), default=0), MAX_WORD_WIDTH) for own in words]
    room = terminal_width() - 2 * (len(widths) - 1)
    cap = max(widths, default=0)
    fitted = widths
    while cap > 1 and sum(fitted) > room:
        cap -= 1
        fitted = [max(min(width, cap), low) for width, low in zip(widths, least, strict=True)]
    return fitted


def wrap_cell(text: str, width: int) -> list[str]:
    """Fold a text into lines of at most that many characters."""
    return textwrap.wrap(text, max(width, 1), break_on_hyphens=False) or [""]


def print_facts(facts: Mapping[str, object]) -> None:
    """Print one `name  value` line per fact."""
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name.replace('_', ' '):{width}}  {_format_value(value)}")


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return ", ".join(map(_format_value, value)) if isinstance(value, list) else str(value)


def split_specs(text: str) -> list[str]:
    """Split a list such as `cfr_plus,dcfr(alpha=1,gamma=3)` at the commas outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    names = [part.strip() for part in parts]
    if not all(names):
        raise ConfigError(f"{text!r} has an empty name between its commas")
    return list(dict.fromkeys(names))


def parse_seeds(option: str, text: str) -> list[int]:
    """The seeds that `0:3` or `0-2` (0, 1, 2), `1,5` or `0-2,7` name."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,18})\s*(?:([-:])\s*(\d{1,18})\s*)?", part)
        first = int(match[1]) if match else 0
        end = first + 1
        if match and match[2]:
            end = int(match[3]) + (match[2] == "-")
        if not match or not 0 < end - first <= MAX_SEEDS:
            raise ConfigError(f"{option} is {text!r}, must be such as 0:5, 0-4 or 1,5")
        seeds += range(first, end)
    return list(dict.fromkeys(seeds))


def format_bytes(count: float) -> str:
    """A number of bytes in the unit that suits it, such as `3.2 MiB`."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:,.3g} TiB"


def format_seconds(count: float) -> str:
    """A time in the unit that suits it, such as `12 min`."""
    for unit, size in (("s", 60.0), ("min", 60.0), ("h", 24.0)):
        if count < size:
            return f"{count:.2g} {unit}"
        count /= size
    return f"{count:,.3g} days"


PolicyArgument = Annotated[
    str,
    typer.Argument(
        metavar="POLICY",
        help="What solve --save or an export wrote, the folder of a run, or RUN@NAME for one of "
        "its policies.",
        show_default=False,
    ),
]
PolicyGameOption = Annotated[
    str | None, typer.Option("--game", metavar="GAME", help="The game, if POLICY does not name it.")
]


def _remember_trust(paths: list[str] | None) -> list[str] | None:
    """Allow the code that the user names, before the command opens anything."""
    if paths:
        from counterplay.core.trust import trust

        for path in paths:
            trust(path)
    return paths


TrustOption = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="PATH",
        help="Allow files to run the code of this Python file, and remember it until the code "
        "changes; may be repeated.",
        callback=_remember_trust,
        show_default=False,
    ),
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
            raise FileError(f"cannot write {path}: there is no directory {path.parent}")
        if path.is_dir():
            raise FileError(f"cannot write {path}: it is a directory")
        if path.exists() and not force:
            raise ConfigError(f"{path} exists already; --force replaces it")
        if not os.access(path.parent, os.W_OK):
            raise FileError(f"cannot write {path}: no permission to write in {path.parent}")


def write_outputs(policy: Policy | TabularPolicy, save: Path | None, export: Path | None) -> None:
    """Write the policy to the files asked for, and say so on stderr."""
    if save:
        policy.save(save)
    if export:
        (policy.to_json if export.suffix == ".json" else policy.to_csv)(export)
    for path in (save, export):
        if path:
            print(f"wrote {path}", file=sys.stderr)


def print_observation_note(algorithm: Any, game: Any) -> None:
    """A line on stderr where networks must do without observations of the game's own."""
    from counterplay.core.observations import missing_observations_note

    if algorithm.required_extra == "deep" and (line := missing_observations_note(game)):
        print(line, file=sys.stderr)
