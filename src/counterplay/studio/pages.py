"""The addresses of the studio, and the files of its page."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from counterplay.studio import game_pages as games
from counterplay.studio import run_pages as runs
from counterplay.studio.answers import Refusal, answer, refusal_from_exception
from counterplay.studio.host import Studio

STATIC = Path(__file__).parent / "static"


def make_app(studio: Studio) -> Starlette:
    """All questions; who may ask them is for `Guard`."""

    def asks(path: str, function: Callable[..., Any], *methods: str) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                found = await function(studio, request)
                return found if isinstance(found, Response) else answer(found)
            except Exception as error:
                return _error_response(error)

        return Route(path, endpoint, methods=list(methods or ("GET",)))

    one = "/api/runs/{run:path}"
    routes = [
        asks("/api/hello", runs.hello),
        asks("/api/events", runs.events),
        asks("/api/runs", runs.listed),
        asks("/api/runs", runs.start, "POST"),
        asks(f"{one}/metrics", runs.metrics),
        asks(f"{one}/metrics.csv", runs.metrics_csv),
        asks(f"{one}/log", runs.log),
        asks(f"{one}/population", games.population),
        asks(f"{one}/stop", runs.stop, "POST"),
        asks(f"{one}/kill", runs.kill, "POST"),
        asks(f"{one}/resume", runs.resume, "POST"),
        asks(f"{one}/checkpoint", runs.request_checkpoint, "POST"),
        asks(f"{one}/trash", runs.trash, "POST"),
        asks(one, runs.one_run),
        asks("/api/restore", runs.restore, "POST"),
        asks("/api/queue/{ticket}", runs.unqueue, "DELETE"),
        asks("/api/queue/{ticket}/approve", runs.approve, "POST"),
        asks("/api/compare", runs.compare),
        asks("/api/catalogue", games.catalogue),
        asks("/api/offers", games.offers),
        asks("/api/games/upload", games.upload, "POST"),
        asks("/api/check", games.check, "POST"),
        asks("/api/estimate", games.estimate, "POST"),
        asks("/api/estimate/run", games.duration, "POST"),
        asks("/api/matrix", games.matrix, "POST"),
        asks("/api/spot", games.spot, "POST"),
        asks("/api/spot/end", games.close_spot, "POST"),
        asks("/api/explore/{what}", games.explore),
        asks("/api/desk", games.close_desk, "DELETE"),
        asks("/api/play", games.sit_down, "POST"),
        asks("/api/play/{play}", games.look_at_play),
        asks("/api/play/{play}/{what}", games.go_on, "POST"),
        asks("/api/{rest:path}", nothing_here, "GET", "POST", "DELETE"),
        Route("/static/{name:path}", static),
        Route("/{rest:path}", page),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(studio.keep_watch())
        yield
        studio.hub.close()
        studio.desks.close_all()
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching

    async def handle_error(request: Request, error: Exception) -> Response:
        return _error_response(error)

    handlers: dict[Any, Any] = {HTTPException: handle_error, Exception: handle_error}
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)


def _error_response(error: Exception) -> Response:
    refusal = refusal_from_exception(error)
    return answer(refusal.body, refusal.status)


async def page(request: Request) -> Response:
    """The one page; its script reads the address."""
    return FileResponse(STATIC / "index.html", media_type="text/html; charset=utf-8")


async def static(request: Request) -> Response:
    found = FILES.get(request.path_params["name"])
    if found is None:
        return PlainTextResponse("there is no such file", 404)
    kinds = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    return FileResponse(found, media_type=kinds.get(found.suffix, "text/plain") + "; charset=utf-8")


FILES = {path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*") if path.is_file()}


async def nothing_here(studio: Studio, request: Request) -> Any:
    raise Refusal(404, "nothing", "there is nothing under this address")
