"""`counterplay studio`: watch runs, explore trees and play, in a browser."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated

import typer

from counterplay.cli.options import TrustOption, integer_option
from counterplay.cli.output import print_note
from counterplay.errors import ConfigError


def studio(
    runs: Annotated[
        Path, typer.Argument(metavar="RUNS", help="The folder of runs to show.")
    ] = Path("runs"),
    port: Annotated[
        int | None,
        integer_option(
            minimum=0,
            maximum=65535,
            help="Port to listen on.",
            show_default="8642, or any free port",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on.")
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Accept requests for this host name too; may be repeated."
        ),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Do not start, stop or change runs.")
    ] = False,
    slots: Annotated[
        int | None,
        integer_option(
            minimum=1,
            help="Runs at the same time; others wait.",
            show_default="cores minus one",
        ),
    ] = None,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithm",
            "-a",
            metavar="FILE.py:Class",
            help="Offer this algorithm of yours on the page New run, which runs its code; may be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    trust: TrustOption = None,
) -> None:
    """Open the studio in a browser. Ctrl-C ends the studio; runs continue."""
    try:
        from counterplay.studio.server.http_server import serve, write_opening_page
        from counterplay.studio.server.own_algorithms import allow_algorithm
    except ModuleNotFoundError as error:
        advice = "pip install 'counterplay[studio]'"
        raise ConfigError(f"the studio needs the package {error.name}: {advice}") from error

    def announce(address: str, token: str) -> None:
        print(f"Counterplay Studio of {runs} at {address}/#token={token}", flush=True)
        print("Ctrl-C ends the studio; runs continue.", flush=True)
        if host not in ("127.0.0.1", "localhost", "::1"):
            reach = "other machines can reach this studio"
            print_note(f"warning: {reach}; anyone with the token can start runs")
        if browser:
            import webbrowser

            page = write_opening_page(address, token).as_uri()
            threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()

    algorithms = [allow_algorithm(spec) for spec in algorithm or []]
    serve(
        runs,
        host=host,
        port=port,
        allow_hosts=allow_host or [],
        read_only=read_only,
        slots=slots,
        algorithms=algorithms,
        on_ready=announce,
    )
