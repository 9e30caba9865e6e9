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

from counterplay.studio.server import game_routes as games
from counterplay.studio.server import run_routes as runs
from counterplay.studio.server.app_state import StudioState
from counterplay.studio.server.responses import (
    ApiError,
    json_response,
    refusal_from_exception,
)

STATIC_FOLDER = Path(__file__).parents[1] / "static"


def make_app(studio: StudioState) -> Starlette:
    """All questions; who may ask them is for `Guard`."""

    def api_route(path: str, function: Callable[..., Any], *methods: str) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                found = await function(studio, request)
                return found if isinstance(found, Response) else json_response(found)
            except Exception as error:
                return _error_response(error)

        return Route(path, endpoint, methods=list(methods or ("GET",)))

    one = "/api/runs/{run:path}"
    routes = [
        api_route("/api/hello", runs.get_server_info),
        api_route("/api/events", runs.stream_events),
        api_route("/api/runs", runs.list_runs),
        api_route("/api/runs", runs.start_runs, "POST"),
        api_route(f"{one}/metrics", runs.get_metrics),
        api_route(f"{one}/metrics.csv", runs.get_metrics_csv),
        api_route(f"{one}/log", runs.get_log),
        api_route(f"{one}/population", games.get_population),
        api_route(f"{one}/stop", runs.stop_run, "POST"),
        api_route(f"{one}/kill", runs.kill_run, "POST"),
        api_route(f"{one}/resume", runs.resume_run, "POST"),
        api_route(f"{one}/checkpoint", runs.request_checkpoint, "POST"),
        api_route(f"{one}/trash", runs.trash_run, "POST"),
        api_route(one, runs.get_run),
        api_route("/api/restore", runs.restore_run, "POST"),
        api_route("/api/queue/{ticket}", runs.remove_queued_run, "DELETE"),
        api_route("/api/queue/{ticket}/approve", runs.approve, "POST"),
        api_route("/api/compare", runs.get_comparison),
        api_route("/api/catalogue", games.get_catalogue),
        api_route("/api/offers", games.offers),
        api_route("/api/games/upload", games.upload_game, "POST"),
        api_route("/api/check", games.check_config, "POST"),
        api_route("/api/estimate", games.estimate_game_size, "POST"),
        api_route("/api/estimate/run", games.estimate_duration, "POST"),
        api_route("/api/matrix", games.analyse_matrix, "POST"),
        api_route("/api/spot", games.query_spot, "POST"),
        api_route("/api/spot/end", games.close_spot_worker, "POST"),
        api_route("/api/explore/{what}", games.query_tree),
        api_route("/api/desk", games.close_worker, "DELETE"),
        api_route("/api/play", games.create_play_session, "POST"),
        api_route("/api/play/{play}", games.get_play_session),
        api_route("/api/play/{play}/{what}", games.continue_play_session, "POST"),
        api_route("/api/{rest:path}", raise_not_found, "GET", "POST", "DELETE"),
        Route("/static/{name:path}", serve_static_file),
        Route("/{rest:path}", serve_page),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        watching = asyncio.create_task(studio.poll_forever())
        yield
        studio.event_broker.close()
        studio.worker_pool.close_all()
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching

    async def handle_error(request: Request, error: Exception) -> Response:
        return _error_response(error)

    handlers: dict[Any, Any] = {HTTPException: handle_error, Exception: handle_error}
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)


def _error_response(error: Exception) -> Response:
    refusal = refusal_from_exception(error)
    return json_response(refusal.body, refusal.status)


async def serve_page(request: Request) -> Response:
    """The one page; its script reads the address."""
    return FileResponse(STATIC_FOLDER / "index.html", media_type="text/html; charset=utf-8")


async def serve_static_file(request: Request) -> Response:
    found = STATIC_FILES.get(request.path_params["name"])
    if found is None:
        return PlainTextResponse("there is no such file", 404)
    kinds = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    return FileResponse(found, media_type=kinds.get(found.suffix, "text/plain") + "; charset=utf-8")


STATIC_FILES = {
    path.relative_to(STATIC_FOLDER).as_posix(): path
    for path in STATIC_FOLDER.rglob("*")
    if path.is_file()
}


async def raise_not_found(studio: StudioState, request: Request) -> Any:
    raise ApiError(404, "nothing", "there is nothing under this address")
