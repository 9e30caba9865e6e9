"""Who may ask: the loopback host, this very page, with the token; nothing else gets past here.

Every request of every method goes through `Guard`: against other web sites (Host, Origin and
Sec-Fetch-Site: DNS rebinding and cross-site requests), against other users (the token, which comes
in a header and never in a URL or a cookie), and against bodies that are too large or too slow.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from counterplay.studio.server.connections import AUTHORIZED
from counterplay.studio.server.responses import ApiError, refusal_from_exception

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "[::1]")
MAX_BODY_BYTES, MAX_UPLOAD_BYTES = (
    1 << 20,
    5 << 20,
)  # bytes; uploaded games may be larger than other bodies
UPLOAD_PATH = "/api/games/upload"
BODY_TIMEOUT_SECONDS = 5.0  # seconds that a body may take to arrive
READ_ONLY_POST_PATHS = (
    "/api/play",
    "/api/check",
    "/api/estimate",
    "/api/matrix",
    "/api/spot",
)  # change nothing
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
    """Lets through what may be asked, with the headers that every answer has."""

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
        private = scope["path"].startswith("/api/") or scope["path"] == "/api"

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [
                    *SECURITY_HEADERS,
                    (b"cache-control", b"no-store" if private else b"no-cache"),
                ]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        try:
            headers = self.check_request(scope, private)
            body = await self._read_body(scope, headers, receive)
        except Exception as error:
            await _send_error(with_headers, refusal_from_exception(error))
            return
        scope[AUTHORIZED] = private
        await self.app(scope, _replay_body(body, receive), with_headers)

    def check_request(self, scope: Scope, is_api: bool) -> dict[str, str]:
        """The headers of a request that may go on; raises `Refusal` for the others."""
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            key = name.decode("latin-1").lower()
            if key in headers and key in ("host", "origin", "authorization", "content-type"):
                raise ApiError(400, "twice", f"the header {key} is there twice")
            headers[key] = value.decode("latin-1")
        host = headers.get("host", "")
        if _host_name(host) not in self.allowed_hosts:
            hint = "use http://127.0.0.1, or start with --allow-host NAME"
            raise ApiError(421, "host", "this studio does not answer under that name", hint=hint)
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host}".lower():
            raise ApiError(403, "origin", "requests from other sites are refused")
        page = not is_api and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site") == "cross-site" and not page:
            raise ApiError(403, "origin", "requests from other sites are refused")
        if scope["method"] not in ("GET", "HEAD", "POST", "DELETE"):
            raise ApiError(405, "method", "there is no such method here")
        if len(scope["path"]) + len(scope.get("query_string", b"")) > MAX_URL_LENGTH:
            raise ApiError(414, "long", "the address is too long")
        if is_api and not self._has_token(headers.get("authorization", "")):
            hint = "open the address that `counterplay studio` printed, or paste its token"
            raise ApiError(401, "token", "this studio wants its token", hint=hint)
        if not is_api and scope["method"] not in ("GET", "HEAD"):
            raise ApiError(405, "method", "there is no such method here")
        changes = scope["method"] not in ("GET", "HEAD")
        harmless = scope["path"].startswith(READ_ONLY_POST_PATHS)
        if changes and self.read_only and not harmless:
            raise ApiError(403, "read_only", "this studio was started with --read-only")
        return headers

    def _has_token(self, authorization: str) -> bool:
        kind, _, token = authorization.partition(" ")
        return kind.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self.token)

    async def _read_body(self, scope: Scope, headers: dict[str, str], receive: Receive) -> bytes:
        """All of the body, if it is JSON and of a decent size."""
        if scope["method"] in ("GET", "HEAD"):
            return b""
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] == "POST" and kind != "application/json":
            raise ApiError(415, "type", "bodies must be application/json")
        most = MAX_UPLOAD_BYTES if scope["path"] == UPLOAD_PATH else MAX_BODY_BYTES
        announced = headers.get("content-length", "0")
        if not re.fullmatch("[0-9]{1,18}", announced) or int(announced) > most:
            raise ApiError(413, "large", f"the body may have {most >> 20} MB, not more")
        try:
            async with asyncio.timeout(BODY_TIMEOUT_SECONDS):
                return await _receive_body(receive, most)
        except TimeoutError:
            raise ApiError(408, "slow", "the body took too long to arrive") from None


async def _receive_body(receive: Receive, max_bytes: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ApiError(400, "gone", "the body ended early")
        body += message.get("body", b"")
        if len(body) > max_bytes:
            raise ApiError(413, "large", f"the body may have {max_bytes >> 20} MB, not more")
        if not message.get("more_body"):
            return bytes(body)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """The body once more, and then whatever else comes: the end of the connection."""
    sent = False

    async def receive_again() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return receive_again


def _host_name(host: str) -> str:
    """The host without its port, which must be a number."""
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]@/\\?#\s]+)(?::\d{1,5})?", host)
    return match[1].lower() if match else ""


async def _send_error(send: Send, error: ApiError) -> None:
    body = json.dumps(error.body).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers.append((b"connection", b"close"))
    start = {"type": "http.response.start", "status": error.status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})
