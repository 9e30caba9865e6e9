"""The `counterplay` command. Heavy imports are inside the commands, so that help is instant.

Exit codes, the same for all commands:

    0    done
    1    the answer is no, or the work could not be finished (too large, disk full, diverged)
    2    wrong input: an option, a name, or a file that is missing, damaged or of the wrong kind
    130  interrupted by Ctrl-C or SIGTERM
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from counterplay import __version__
from counterplay.cli.acpc import acpc
from counterplay.cli.algorithms import algorithms
from counterplay.cli.bounds import bounds
from counterplay.cli.check import check
from counterplay.cli.compare import compare
from counterplay.cli.concepts import concepts
from counterplay.cli.configs import configs
from counterplay.cli.convert import convert
from counterplay.cli.draw import draw
from counterplay.cli.evaluate import evaluate
from counterplay.cli.export import export
from counterplay.cli.games import games
from counterplay.cli.grid import grid
from counterplay.cli.inspect import inspect
from counterplay.cli.match import match
from counterplay.cli.matrix import matrix
from counterplay.cli.output import print_note, silence_stdout
from counterplay.cli.play import play
from counterplay.cli.plot import plot
from counterplay.cli.preflop import preflop
from counterplay.cli.resume import resume
from counterplay.cli.review import review
from counterplay.cli.run import run
from counterplay.cli.show import show
from counterplay.cli.signals import terminate_as_interrupt
from counterplay.cli.solve import solve
from counterplay.cli.spot import spot
from counterplay.cli.studio import studio
from counterplay.cli.sweep import sweep
from counterplay.cli.trace import trace
from counterplay.cli.upi import upi
from counterplay.errors import (
    ConfigError,
    CounterplayError,
    FileError,
    GameError,
    SearchWarning,
)
from counterplay.registry import GAMES

EXIT_FAILED, BAD_INPUT, EXIT_INTERRUPTED = 1, 2, 130
MAX_MESSAGE_LENGTH = 2_000  # characters
EXIT_CODES = "Exit codes: 0 done; 1 failed, or the answer is no; 2 wrong input; 130 interrupted."

# ClickException, the base class of typer's errors; its module differs between versions of typer
USAGE_ERROR_TYPE: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: tuple[Callable[..., None], ...] = (
    *(games, algorithms, inspect, check, draw, solve, evaluate, bounds, show, play),
    *(match, review, upi),
    *(matrix, trace, concepts, convert, export, configs),
    *(run, resume, grid, sweep, plot, compare, studio),
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(acpc, name="acpc")
app.add_typer(spot, name="spot")
app.add_typer(preflop, name="preflop")


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print(f"counterplay {__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True, epilog=EXIT_CODES)
def counterplay(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Solve games of hidden information, and measure exactly how good the solution is."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@cache
def _command() -> Any:  # a class of click, whose module differs between versions of typer
    return get_command(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors become one line on stderr."""
    _open_missing_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with terminate_as_interrupt(), _search_warnings_as_notes():
            code = _command().main(args=words, prog_name="counterplay", standalone_mode=False)
            sys.stdout.flush()
            return int(code or 0)
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except (ConfigError, FileError, GameError) as error:
        return _print_error(error, BAD_INPUT)
    except USAGE_ERROR_TYPE as error:
        return _print_error(_usage_message(error, words), BAD_INPUT)
    except CounterplayError as error:
        return _print_error(error, EXIT_FAILED)
    except BrokenPipeError:  # the reader of a pipe, such as head, has left
        silence_stdout()
        return 0
    except SystemExit:  # raised by typer for a broken pipe inside a command
        silence_stdout()
        return 0
    except OSError as error:
        silence_stdout()
        file = f"{error.filename}: " if error.filename else ""
        return _print_error(f"{file}{error.strerror or error}", EXIT_FAILED)
    except MemoryError:
        return _print_error("out of memory; choose smaller parameters", EXIT_FAILED)


@contextmanager
def _search_warnings_as_notes() -> Iterator[None]:
    """Print the warnings of agents that search on stderr, without the place in the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", SearchWarning)
        print_warning = warnings.showwarning

        def show(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, SearchWarning):
                print_note(f"note: {message}")
            else:
                print_warning(message, category, *place, **more)

        warnings.showwarning = show
        yield


def _print_error(problem: object, code: int) -> int:
    text = " ".join(str(problem).split())
    if len(text) > MAX_MESSAGE_LENGTH:  # it quotes a very long input
        half = MAX_MESSAGE_LENGTH // 2
        text = f"{text[:half]} ... {text[-half:]}"
    print("error:", text, file=sys.stderr)
    return code


def _usage_message(error: Exception, arguments: Sequence[str]) -> str:
    """Return the message of a usage error, with the command that prints the help."""
    context = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context else ""
    option = getattr(error, "option_name", None)
    if option and (spec := _game_with_option(option, arguments)):
        return f"no option {option}; parameters of a game are part of its name: '{spec}'{hint}"
    format_message: Callable[[], str] = getattr(error, "format_message", error.__str__)
    return f"{format_message()}{hint}"


def _game_with_option(option: str, arguments: Sequence[str]) -> str:
    """Return the game on the command line with an unknown option as its parameter, or ""."""
    name = option.lstrip("-").replace("-", "_")
    games = [word for word in arguments if word.partition("(")[0] in GAMES]
    if not games or name not in _parameter_names(games[0].partition("(")[0]):
        return ""
    index = next(n for n, word in enumerate(arguments) if word.partition("=")[0] == option)
    equals, value = arguments[index].partition("=")[1:]
    if not equals:
        value = arguments[index + 1] if index + 1 < len(arguments) else "..."
    game, _, parameters = games[0].removesuffix(")").partition("(")
    return f"{game}({parameters}{', ' if parameters else ''}{name}={value})"


def _parameter_names(game: str) -> list[str]:
    from counterplay.experiment.dataclass_fields import read_dataclass_fields

    return [field.name for field in read_dataclass_fields(GAMES[game])]


def _open_missing_streams() -> None:
    """Replace standard streams that the shell has closed, for example with `>&-`."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115


if __name__ == "__main__":
    sys.exit(main())
