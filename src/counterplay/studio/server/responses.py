"""JSON responses of the studio, and errors that say what is wrong and what to do on the page."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from counterplay.core.archive import open_regular
from counterplay.errors import CounterplayError

MAX_MESSAGE_LENGTH = 1_000  # characters of an error message

# Advice for people at a prompt, which a page cannot follow: a command of counterplay or an option.
COMMAND_LINE = re.compile(r"\bcounterplay\s+[a-z]|(?<![\w-])--[a-z]|from Python")
PAGE_HINTS = (  # pattern of a message -> what to do on the page
    (re.compile(r"unknown game|there is no game"), "The page Games lists all games."),
    (re.compile(r"unknown algorithm"), "The page New run lists all algorithms."),
    (
        re.compile(r"its tree takes about"),
        "Choose smaller parameters on the page of the game, or solve it with an algorithm that "
        'samples and "arena": "rules".',
    ),
)


class ApiError(Exception):
    """An answer that is not what was asked for, with its HTTP status."""

    def __init__(self, status: int, code: str, message: str, **details: Any):
        super().__init__(message)
        self.status = status
        self.body = {"error": {"code": code, "message": message} | details}


def refusal_from_exception(error: BaseException) -> ApiError:
    """Convert any exception into a response: the one place that decides on status and sentence."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, CounterplayError):
        message, hint = rewrite_for_page(str(error))
        return ApiError(409, "library", message, hint=hint)
    if isinstance(error, HTTPException):  # raised by the router, such as a method it does not have
        return ApiError(error.status_code, "http", str(error.detail))
    if isinstance(error, OSError):  # such as a disk that is full
        problem = error.strerror or str(error)
        where = f": {os.path.basename(str(error.filename))}" if error.filename else ""
        return ApiError(507, "disk", f"{problem}{where}")
    if isinstance(error, RecursionError):
        return ApiError(400, "deep", "the request is nested too deeply")
    if isinstance(error, MemoryError):
        return ApiError(507, "memory", "there is not enough free memory to answer this")
    kind = type(error).__name__
    message = f"the studio failed to answer because of an error in the program ({kind}: {error})"
    return ApiError(500, "internal", message[:MAX_MESSAGE_LENGTH])


def rewrite_for_page(message: str) -> tuple[str, str]:
    """Split an error message of the library into its facts and a hint that fits a web page.

    Clauses that advise a command or an option of the command line are left out.
    """
    hint = next((text for pattern, text in PAGE_HINTS if pattern.search(message)), "")
    facts = re.sub(
        r"\s*\([^()]*\)", lambda part: "" if COMMAND_LINE.search(part[0]) else part[0], message
    )
    first, *rest = re.split(r"(;\s+|\.\s+(?=[A-Z`'\"]))", facts)
    for separator, clause in zip(rest[::2], rest[1::2], strict=True):
        if not COMMAND_LINE.search(clause):
            first += separator + clause
    return first[:MAX_MESSAGE_LENGTH], hint


def json_response(value: Any, status: int = 200) -> Response:
    """Return a value as a JSON response; numbers that JSON cannot write (NaN, inf) become null."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_replace_non_finite(value), allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json")


def _replace_non_finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _replace_non_finite(inside) for key, inside in value.items()}
    return (
        [_replace_non_finite(inside) for inside in value]
        if isinstance(value, (list, tuple))
        else value
    )


def read_text_tail(path: Path, max_bytes: int = 1 << 16) -> str:
    """Return the end of a text file, or nothing if it cannot be read."""
    try:
        with open_regular(path) as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - max_bytes, 0))
            return file.read(max_bytes).decode(errors="replace")
    except OSError:
        return ""
