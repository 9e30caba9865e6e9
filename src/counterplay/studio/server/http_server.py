"""The HTTP server of the studio: its socket, its token and its shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from types import FrameType

import uvicorn

from counterplay.core.trust import load_secret, state_folder, write_private
from counterplay.errors import ConfigError, RunError
from counterplay.studio.server.app import make_app
from counterplay.studio.server.app_state import StudioState
from counterplay.studio.server.connections import ConnectionLimiter, limited_protocol
from counterplay.studio.server.security_middleware import SecurityMiddleware

DEFAULT_PORT = 8642
SHUTDOWN_GRACE_SECONDS = 1  # for requests to end after Ctrl-C


class StudioServer(uvicorn.Server):
    """A server that ends its event streams at the first signal, so that it stops at once."""

    studio: StudioState
    warming: asyncio.Task[None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start serving, and compile kernels in the background."""
        await super().startup(sockets)
        self.warming = asyncio.create_task(self.studio.warm_up())

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End the event streams, then the server."""
        self.studio.event_broker.close()
        super().handle_exit(sig, frame)


def serve(
    runs_folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    allow_hosts: Sequence[str] = (),
    read_only: bool = False,
    slots: int | None = None,
    algorithms: Sequence[str] = (),
    on_ready: Callable[[str, str], None] | None = None,
) -> None:
    """Serve until Ctrl-C or SIGTERM.

    Args:
        runs_folder: the folder of runs.
        host: address to listen on.
        port: port to listen on; by default 8642, or any free port.
        allow_hosts: further host names under which requests are accepted.
        read_only: refuse requests that change anything.
        slots: runs at the same time; by default one less than cores.
        algorithms: algorithms of the user to offer, `/path/to/file.py:Class`.
        on_ready: called with the address and the token when the server listens.

    Raises:
        ConfigError: the host is open to other machines and `allow_hosts` is empty.
        RunError: the port is not free.
    """
    if host not in ("127.0.0.1", "localhost", "::1") and not allow_hosts:
        raise ConfigError(
            f"--host {host} opens the studio to other machines; add --allow-host NAME, the name "
            "that browsers will use, if that is what you want"
        )
    listening = bind_socket(host, port)
    token = load_or_create_token()
    studio = StudioState(runs_folder, read_only=read_only, slots=slots, algorithms=algorithms)
    names = [*allow_hosts, *([f"[{host}]" if ":" in host else host] if allow_hosts else [])]
    config = uvicorn.Config(
        SecurityMiddleware(make_app(studio), token, names, read_only),
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=SHUTDOWN_GRACE_SECONDS,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=1 << 15,
        ws="none",
        loop="asyncio",
        http=limited_protocol(ConnectionLimiter()),
    )
    server = StudioServer(config)
    server.studio = studio
    shown = f"[{host}]" if ":" in host else host
    if on_ready:
        on_ready(f"http://{shown}:{listening.getsockname()[1]}", token)
    with contextlib.suppress(KeyboardInterrupt), listening:
        server.run(sockets=[listening])


def bind_socket(host: str, port: int | None) -> socket.socket:
    """Return a listening socket; without a port, at the default port or any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in (DEFAULT_PORT, 0) if port is None else (port,):
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
            listening.listen(128)
            return listening
        except OSError as error:
            listening.close()
            problem = error.strerror or error
    raise RunError(f"cannot listen on {host} port {port}: {problem}; choose another --port")


def load_or_create_token() -> str:
    """Return the token of this user, which stays the same so that open pages survive a restart."""
    return load_secret("studio-token")


def write_opening_page(address: str, token: str) -> Path:
    """Write a page that redirects to the studio, so that no list of processes shows the token."""
    target = escape(f"{address}/#token={token}", quote=True)
    path = state_folder() / "studio-open.html"
    write_private(
        path,
        "<!doctype html><meta charset=utf-8><title>Counterplay Studio</title>"
        f'<meta http-equiv="refresh" content="0;url={target}">'
        f'<a href="{target}">Open the studio</a>\n',
    )
    return path
