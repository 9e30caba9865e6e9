"""Access control: only requests of the studio's own page, with the token, reach the application.

Every request goes through `SecurityMiddleware`. It refuses requests of other web sites (by Host,
Origin and Sec-Fetch-Site, against DNS rebinding and cross-site requests), of other users (by the
token, which is in a header and never in a URL or a cookie), and bodies that are too large or slow.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from counterplay.studio.server.connections import AUTHORIZED
from counterplay.studio.server.responses import ApiError, api_error_from_exception
from counterplay.studio.server.routes import is_read_only

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
MAX_BODY_BYTES = 1 << 20
MAX_UPLOAD_BYTES = 5 << 20  # of uploaded games and hand histories
UPLOAD_PATHS = ("/api/games/upload", "/api/review")
BODY_TIMEOUT_SECONDS = 5.0  # for a body to arrive
MAX_URL_LENGTH = 8_000  # characters of a path with its query

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
SECURITY_HEADERS = [
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class SecurityMiddleware:
    """Passes valid requests to the application, and adds security headers to all responses."""

    def __init__(
        self, app: ASGIApp, token: str, extra_hosts: Iterable[str] = (), read_only: bool = False
    ):
        self.app, self.token, self.read_only = app, token.encode(), read_only
        self.allowed_hosts = {host.lower() for host in (*LOOPBACK_HOSTS, *extra_hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        is_api = scope["path"].startswith("/api/") or scope["path"] == "/api"

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                cache_control = (b"cache-control", b"no-store" if is_api else b"no-cache")
                headers = message.get("headers", [])
                message["headers"] = [*headers, *SECURITY_HEADERS, cache_control]
            await send(message)

        try:
            headers = self.check_request(scope, is_api)
            body = await self._read_body(scope, headers, receive)
        except Exception as error:
            await _send_error(with_headers, api_error_from_exception(error))
            return
        scope[AUTHORIZED] = is_api
        await self.app(scope, _replay_body(body, receive), with_headers)

    def check_request(self, scope: Scope, is_api: bool) -> dict[str, str]:
        """Return the headers of a request; raise `ApiError` if it is not allowed."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            key = name.decode("latin-1").lower()
            if key in headers and key in ("host", "origin", "authorization", "content-type"):
                raise ApiError(400, "twice", f"the header {key} is repeated")
            headers[key] = value.decode("latin-1")
        host = headers.get("host", "")
        if _host_name(host) not in self.allowed_hosts:
            hint = "use http://127.0.0.1, or start with --allow-host NAME"
            raise ApiError(
                421, "host", "this studio does not accept requests for this host name", hint=hint
            )
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host}".lower():
            raise ApiError(403, "origin", "requests from other sites are refused")
        is_navigation = not is_api and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site") == "cross-site" and not is_navigation:
            raise ApiError(403, "origin", "requests from other sites are refused")
        if scope["method"] not in ("GET", "HEAD", "POST", "DELETE"):
            raise ApiError(405, "method", "this method is not supported")
        if len(scope["path"]) + len(scope.get("query_string", b"")) > MAX_URL_LENGTH:
            raise ApiError(414, "long", "the address is too long")
        if is_api and not self._has_token(headers.get("authorization", "")):
            hint = "open the address that `counterplay studio` printed, or paste its token"
            raise ApiError(401, "token", "this studio requires its token", hint=hint)
        if not is_api and scope["method"] not in ("GET", "HEAD"):
            raise ApiError(405, "method", "this method is not supported")
        if self.read_only and not is_read_only(scope["method"], scope["path"]):
            raise ApiError(403, "read_only", "this studio was started with --read-only")
        return headers

    def _has_token(self, authorization: str) -> bool:
        kind, _, token = authorization.partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self.token)

    async def _read_body(self, scope: Scope, headers: dict[str, str], receive: Receive) -> bytes:
        """Return the body, if it is JSON and not too large."""
        if scope["method"] in ("GET", "HEAD"):
            return b""
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] == "POST" and kind != "application/json":
            raise ApiError(415, "type", "bodies must be application/json")
        max_bytes = MAX_UPLOAD_BYTES if scope["path"] in UPLOAD_PATHS else MAX_BODY_BYTES
        length = headers.get("content-length", "0")
        if not re.fullmatch("[0-9]{1,18}", length) or int(length) > max_bytes:
            raise _body_too_large(max_bytes)
        try:
            async with asyncio.timeout(BODY_TIMEOUT_SECONDS):
                return await _receive_body(receive, max_bytes)
        except TimeoutError:
            raise ApiError(408, "slow", "the body took too long to arrive") from None


def _body_too_large(max_bytes: int) -> ApiError:
    return ApiError(413, "large", f"the body may have at most {max_bytes >> 20} MB")


async def _receive_body(receive: Receive, max_bytes: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ApiError(400, "gone", "the body ended early")
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise _body_too_large(max_bytes)
        if not message.get("more_body"):
            return bytes(body)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that yields the body again, then further messages."""
    sent = False

    async def receive_again() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return receive_again


def _host_name(host: str) -> str:
    """Return the host without its port; "" if it is malformed."""
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]@/\\?#\s]+)(?::\d{1,5})?", host)
    return match[1].lower() if match else ""


async def _send_error(send: Send, error: ApiError) -> None:
    body = json.dumps(error.body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers.append((b"connection", b"close"))
    start = {"type": "http.response.start", "status": error.status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})
