"""Options and arguments that several commands share, and the parsing of their values.

Short flags mean the same everywhere: `-a` algorithm, `-e` episodes, `-f` force, `-g` game, `-i`
(or `-n`) iterations, `-o` output file, `-p` player, `-s` seed, `-t` target.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.models import OptionInfo

from counterplay.errors import ConfigError, FileError
from counterplay.registry import ALGORITHMS, GAMES, load_game, resolve_name, spec_name

if TYPE_CHECKING:
    from counterplay.core.game import Game

MAX_INTEGER_DIGITS = 18  # of an option such as --iterations 1e6
MAX_SEEDS = 10_000  # of one option


def complete_games(start: str) -> list[str]:
    """Return the registered games whose names start with a text, for shell completion."""
    return [name for name in GAMES if name.startswith(start)]


def load_last_game(game: str, *before: str) -> Game:
    """Return the game that a command names last, or say so if an earlier argument is the game."""
    try:
        return load_game(game)
    except ConfigError as error:
        for argument in before:
            if resolve_name(GAMES, spec_name(argument)) in GAMES:
                raise ConfigError(f"{error}; the game {argument!r} must come last") from None
        raise


def complete_algorithms(start: str) -> list[str]:
    """Return the algorithms whose names start with a text, for shell completion."""
    return [name for name in ALGORITHMS if name.startswith(start)]


def parse_integer(text: str) -> int | None:
    """Return the integer of a text such as 1000, 1_000 or 1e3; None if it is not an integer."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    is_small = value.is_finite() and abs(value.adjusted()) <= MAX_INTEGER_DIGITS
    return int(value) if is_small and value == int(value) else None


def integer_option(
    *names: str,
    minimum: int,
    help: str,
    maximum: int | None = None,
    metavar: str = "N",
    show_default: bool | str = True,
) -> OptionInfo:
    """Return an option for an integer in a range, which may be written as 1000, 1_000 or 1e3."""

    def parse(text: str | int) -> int:
        value = parse_integer(str(text))
        if value is None:
            raise typer.BadParameter(f"{text!r} is not an integer, such as 1000 or 1e6")
        if value < minimum:
            raise typer.BadParameter(f"{text} is too small, must be at least {minimum}")
        if maximum is not None and value > maximum:
            raise typer.BadParameter(f"{text} is too large, must be at most {maximum}")
        return value

    return _option(*names, parser=parse, metavar=metavar, help=help, show_default=show_default)


def iterations_option(help: str, show_default: bool | str = True) -> OptionInfo:
    """Return the option `--iterations`, with the short forms -i and -n."""
    names = ("--iterations", "-i", "-n")
    return integer_option(*names, minimum=1, help=help, show_default=show_default)


def seed_option(
    help: str = "Seed of all random numbers.",
    show_default: bool | str = True,
) -> OptionInfo:
    """Return the option `--seed`, with the short form -s."""
    return integer_option("--seed", "-s", minimum=0, help=help, show_default=show_default)


def episodes_option(minimum: int, help: str, show_default: bool | str = True) -> OptionInfo:
    """Return the option `--episodes`, with the short form -e."""
    names = ("--episodes", "-e")
    return integer_option(*names, minimum=minimum, help=help, show_default=show_default)


def algorithm_option(help: str, show_default: bool | str = True) -> OptionInfo:
    """Return the option `--algorithm`, with the short form -a."""
    return _option(
        "--algorithm",
        "-a",
        metavar="ALGORITHM",
        help=help,
        autocompletion=complete_algorithms,
        show_default=show_default,
    )


def file_option(*names: str, help: str) -> OptionInfo:
    """Return an option that takes the name of a file."""
    return _option(*names, metavar="FILE", help=help)


def _option(
    *names: str,
    metavar: str,
    help: str,
    show_default: bool | str = True,
    parser: Callable[[str], int] | None = None,
    autocompletion: Callable[[str], list[str]] | None = None,
) -> OptionInfo:
    option: OptionInfo = typer.Option(
        *names,
        metavar=metavar,
        help=help,
        show_default=show_default,
        parser=parser,
        autocompletion=autocompletion,
    )
    return option


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
PolicyArgument = Annotated[
    str,
    typer.Argument(
        metavar="POLICY",
        help="A file written by solve --save or by an export, the folder of a run, or RUN@NAME "
        "for one of its policies.",
        show_default=False,
    ),
]
PolicyGameOption = Annotated[
    str | None,
    typer.Option("--game", "-g", metavar="GAME", help="The game, if POLICY does not name it."),
]
AgentIterationsOption = Annotated[
    int | None, iterations_option("Iterations that algorithms solve for.", "as solve")
]
ThreadsOption = Annotated[
    int | None, integer_option(minimum=1, help="Threads to use.", show_default="all cores")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
SeedOption = Annotated[int, seed_option()]
ExportOption = Annotated[
    Path | None, file_option(help="Write the policy as text; FILE ends in .json or .csv.")
]
ForceOption = Annotated[
    bool, typer.Option("--force", "-f", help="Replace files that exist already.")
]
ExecutorOption = Annotated[
    str, typer.Option(metavar="local|auto|host:port", help="This machine, or a Ray cluster.")
]
ProcessesOption = Annotated[
    int | None,
    integer_option(
        minimum=1, help="Runs at the same time on this machine.", show_default="one per core"
    ),
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
    """Return the seeds of a text such as `0:3` or `0-2` (0, 1, 2), `1,5` or `0-2,7`."""
    seeds: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,18})\s*(?:([-:])\s*(\d{1,18})\s*)?", part)
        first = int(match[1]) if match else 0
        end = first + 1
        if match and match[2]:
            end = int(match[3]) + (match[2] == "-")
        if not match or not 0 < end - first <= MAX_SEEDS:
            raise ConfigError(f"{option} is {text!r}, must be a list such as 0:5, 0-4 or 1,5")
        seeds += range(first, end)
    return list(dict.fromkeys(seeds))


def parse_target(target: str, unit: float, example: str) -> float:
    """Return the value of `--target`: a number, or a percentage of a unit, such as `0.5%`.

    Args:
        target: the text of the option.
        unit: the amount that percentages refer to.
        example: valid texts, for the error message.
    """
    try:
        value = float(target.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        raise ConfigError(f"target is {target!r}; write {example}")
    return value * unit / 100.0 if target.endswith("%") else value


def check_outputs(save: Path | None, export: Path | None, force: bool = True) -> None:
    """Check that files can be written, and may be, before any work is done for them.

    Raises:
        ConfigError: the ending of `export` is unknown, or a file exists and `force` is False.
        FileError: a file cannot be written.
    """
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
