"""The `counterplay` command. Heavy imports wait inside the commands, so that help is instant."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.main import get_command

from counterplay import __version__
from counterplay.cli.algorithms import algorithms
from counterplay.cli.bounds import bounds
from counterplay.cli.compare import compare
from counterplay.cli.configs import configs
from counterplay.cli.convert import convert
from counterplay.cli.draw import draw
from counterplay.cli.evaluate import evaluate
from counterplay.cli.export import export
from counterplay.cli.games import games
from counterplay.cli.inspect import inspect
from counterplay.cli.match import match
from counterplay.cli.matrix import matrix
from counterplay.cli.play import play
from counterplay.cli.plot import plot
from counterplay.cli.resume import resume
from counterplay.cli.run import run
from counterplay.cli.show import show
from counterplay.cli.signals import terminate_as_interrupt
from counterplay.cli.solve import solve
from counterplay.cli.spot_show import spot
from counterplay.cli.studio import studio
from counterplay.cli.sweep import sweep
from counterplay.errors import ConfigError, CounterplayError

FAILED, BAD_USAGE, INTERRUPTED = 1, 2, 130
LONGEST = 2_000  # characters of an error message

# ClickException, the base of typer's own errors; its module differs between versions of typer
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: tuple[Callable[..., None], ...] = (
    *(games, algorithms, inspect, draw, solve, evaluate, bounds, show, play, match),
    *(matrix, convert, export, configs, run, resume, sweep, plot, compare, studio),
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(spot, name="spot")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"counterplay {__version__}")
        raise typer.Exit()


@app.callback(invoke_without_command=True)
def counterplay(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Solve games of hidden information, and know exactly how good the solution is."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors become one line on stderr."""
    try:
        with terminate_as_interrupt():
            code = get_command(app).main(
                args=arguments, prog_name="counterplay", standalone_mode=False
            )
            sys.stdout.flush()
            return int(code or 0)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except ConfigError as error:
        return _fail(error, BAD_USAGE)
    except USAGE_ERROR as error:
        return _fail(_with_hint(error), BAD_USAGE)
    except CounterplayError as error:
        return _fail(error, FAILED)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _silence_stdout()
        return 0
    except SystemExit:  # typer's answer to a broken pipe inside a command
        _silence_stdout()
        return 0
    except OSError as error:
        _silence_stdout()
        return _fail(error.strerror or error, FAILED)
    except MemoryError:
        return _fail("out of memory; choose smaller parameters", FAILED)


def _fail(problem: object, code: int) -> int:
    text = " ".join(str(problem).split())
    if len(text) > LONGEST:  # it quotes something enormous
        text = f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
    print("error:", text, file=sys.stderr)
    return code


def _with_hint(error: Any) -> str:
    context = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context else ""
    return f"{error.format_message()}{hint}"


def _silence_stdout() -> None:
    """Let what is still buffered for a reader who has left go nowhere, without complaint."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
