"""Answers of the studio's interface: JSON, and errors that say what, where and what to do."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from starlette.responses import Response


class Refusal(Exception):  # noqa: N818
    """An answer that is not what was asked for, with its HTTP status."""

    def __init__(self, status: int, code: str, message: str, **more: Any):
        super().__init__(message)
        self.status = status
        self.body = {"error": {"code": code, "message": message} | more}


def answer(value: Any, status: int = 200) -> Response:
    """A value as JSON; numbers that are none, which JSON has no word for, become null."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inside) for key, inside in value.items()}
    return [_finite(inside) for inside in value] if isinstance(value, (list, tuple)) else value


def parse_body(body: bytes) -> dict[str, Any]:
    """The JSON object that was sent."""
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise Refusal(400, "not_json", "the body is not JSON") from None
    if not isinstance(found, dict):
        raise Refusal(400, "not_json", "the body must be a JSON object")
    return found


def text_of(path: Path, most: int = 1 << 16) -> str:
    """The end of a text file, or nothing if it cannot be read."""
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - most, 0))
            return file.read(most).decode(errors="replace")
    except OSError:
        return ""
