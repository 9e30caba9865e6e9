"""The web application: API routes, static files and the page."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from counterplay.studio.server import (  # noqa: F401 (registers handlers)
    game_routes,
    run_routes,
    spot_routes,
    trace_routes,
)
from counterplay.studio.server.app_state import StudioState
from counterplay.studio.server.responses import (
    api_error_from_exception,
    json_response,
    not_found_error,
)
from counterplay.studio.server.routes import API_ROUTES, ApiRoute

STATIC_FOLDER = Path(__file__).parents[1] / "static"
MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
STATIC_FILES = {
    path.relative_to(STATIC_FOLDER).as_posix(): path
    for path in STATIC_FOLDER.rglob("*")
    if path.is_file()
}


def make_app(studio: StudioState) -> Starlette:
    """Return the application; `SecurityMiddleware` decides which requests reach it."""

    def make_route(route: ApiRoute) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                answer = await route.handler(studio, request)
                return answer if isinstance(answer, Response) else json_response(answer)
            except Exception as error:
                return _error_response(error)

        return Route(route.path, endpoint, methods=[route.method])

    # a path with a `path` parameter, such as /api/runs/{run:path}, matches all paths below it
    ordered = sorted(API_ROUTES, key=lambda route: route.path.endswith(":path}"))
    routes = [
        *map(make_route, ordered),
        Route("/api/{rest:path}", _serve_not_found, methods=["GET", "POST", "DELETE"]),
        Route("/static/{name:path}", _serve_static_file),
        Route("/{rest:path}", _serve_page),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        polling = asyncio.create_task(studio.poll_forever())
        yield
        studio.event_broker.close()
        studio.worker_pool.close_all()
        polling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await polling

    async def handle_error(request: Request, error: Exception) -> Response:
        return _error_response(error)

    return Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={HTTPException: handle_error, Exception: handle_error},
    )


def _error_response(error: Exception) -> Response:
    api_error = api_error_from_exception(error)
    return json_response(api_error.body, api_error.status)


async def _serve_page(request: Request) -> Response:
    """Return the only HTML page; its script shows the page of the address."""
    return FileResponse(STATIC_FOLDER / "index.html", media_type="text/html; charset=utf-8")


async def _serve_static_file(request: Request) -> Response:
    path = STATIC_FILES.get(request.path_params["name"])
    if path is None:
        return PlainTextResponse("there is no such file", 404)
    media_type = MEDIA_TYPES.get(path.suffix, "text/plain")
    return FileResponse(path, media_type=f"{media_type}; charset=utf-8")


async def _serve_not_found(request: Request) -> Response:
    return json_response(not_found_error().body, 404)
