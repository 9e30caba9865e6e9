"""`counterplay studio`: a page in the browser to watch runs, explore trees and play."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

from counterplay.cli.common import (
    TrustOption,
    integer_option,
)
from counterplay.errors import ConfigError


def studio(
    runs: Annotated[
        Path, typer.Argument(metavar="RUNS", help="The folder of runs to show.")
    ] = Path("runs"),
    port: Annotated[
        int | None,
        integer_option(
            minimum=0, maximum=65535, help="Port to listen at.", show_default="8642, or any free"
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen at.")
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Answer under this host name too; may be repeated."),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Start, stop and change nothing.")
    ] = False,
    slots: Annotated[
        int | None,
        integer_option(
            minimum=1, help="Runs at a time; others wait.", show_default="cores less one"
        ),
    ] = None,
    trust: TrustOption = None,
) -> None:
    """Open the studio in a browser. Ctrl-C ends it; runs go on."""
    try:
        from counterplay.studio.server.http_server import serve, write_opening_page
    except ModuleNotFoundError as error:
        advice = "pip install 'counterplay[studio]'"
        raise ConfigError(f"the studio needs the package {error.name}: {advice}") from error

    def announce(address: str, token: str) -> None:
        print(f"Counterplay Studio of {runs} at {address}/#token={token}", flush=True)
        print("Ctrl-C ends it; runs go on.", flush=True)
        if host not in ("127.0.0.1", "localhost", "::1"):
            warning = "other machines can reach this studio; whoever has the token can start runs"
            print(f"warning: {warning}", file=sys.stderr)
        if browser:
            import webbrowser

            page = write_opening_page(address, token).as_uri()
            threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()

    serve(
        runs,
        host=host,
        port=port,
        allow_hosts=allow_host or [],
        read_only=read_only,
        slots=slots,
        on_ready=announce,
    )
