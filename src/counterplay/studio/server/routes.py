"""Registration of API handlers: one decorator per handler, with its path and its method.

    @api_route("/api/matrix", "POST", read_only=True)
    async def analyse_matrix(studio: StudioState, request: Request) -> JsonObject:
        ...

`app.make_app` serves all registered handlers. A request other than GET is refused by a read-only
studio unless its handler is registered with `read_only=True`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from starlette.requests import Request
from starlette.responses import Response

if TYPE_CHECKING:
    from counterplay.studio.server.app_state import StudioState

JsonObject = dict[str, object]
HandlerResult = Response | JsonObject | list[object]
Handler = Callable[["StudioState", Request], Awaitable[HandlerResult]]
HandlerT = TypeVar("HandlerT", bound=Handler)


class ApiRoute(NamedTuple):
    """A path of the API with its handler."""

    path: str  # may have parameters, such as /api/play/{play}
    method: str
    handler: Handler
    is_read_only: bool  # whether the handler changes nothing

    def matches(self, path: str) -> bool:
        """Return True if a path is one of this route."""
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(self.path))
        return re.fullmatch(pattern, path) is not None


API_ROUTES: list[ApiRoute] = []


def api_route(
    path: str, method: str = "GET", *, read_only: bool = False
) -> Callable[[HandlerT], HandlerT]:
    """Return a decorator that registers a handler."""

    def register(handler: HandlerT) -> HandlerT:
        API_ROUTES.append(ApiRoute(path, method, handler, read_only or method == "GET"))
        return handler

    return register


def is_read_only(method: str, path: str) -> bool:
    """Return True if a request changes nothing."""
    if method in ("GET", "HEAD"):
        return True
    return any(
        route.is_read_only and route.method == method and route.matches(path)
        for route in API_ROUTES
    )
