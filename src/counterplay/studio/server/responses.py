"""JSON responses of the studio, and errors with a hint for the user of a page."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.responses import Response

from counterplay.core.archive import open_regular
from counterplay.core.json_values import replace_non_finite
from counterplay.errors import CounterplayError

MAX_MESSAGE_LENGTH = 1_000  # characters of an error message

# Advice that a user of a page cannot follow: a command of counterplay, or an option.
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
    """An error response with its HTTP status and a JSON body.

    Status 202 is not an error: the answer is still being computed, and `details` has the progress.
    """

    def __init__(self, status: int, code: str, message: str, **details: object):
        super().__init__(message)
        self.status, self.message = status, message
        self.body = {"error": {"code": code, "message": message} | details}


def not_found_error() -> ApiError:
    """Return the error for an address that does not exist."""
    return ApiError(404, "nothing", "there is nothing under this address")


def api_error_from_exception(error: BaseException) -> ApiError:
    """Convert any exception into an error response, with its status and its message."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, CounterplayError):
        message, hint = rewrite_for_page(str(error))
        return ApiError(409, "library", message, hint=hint)
    if isinstance(error, HTTPException):  # raised by the router, for example for a wrong method
        return ApiError(error.status_code, "http", str(error.detail))
    if isinstance(error, OSError):  # for example a full disk
        problem = error.strerror or str(error)
        file = f": {os.path.basename(str(error.filename))}" if error.filename else ""
        return ApiError(507, "disk", f"{problem}{file}")
    if isinstance(error, RecursionError):
        return ApiError(400, "deep", "the request is nested too deeply")
    if isinstance(error, MemoryError):
        return ApiError(507, "memory", "there is not enough free memory to answer this")
    kind = type(error).__name__
    message = f"the studio failed to answer because of an error in the program ({kind}: {error})"
    return ApiError(500, "internal", message[:MAX_MESSAGE_LENGTH])


def rewrite_for_page(message: str) -> tuple[str, str]:
    """Split an error message of the library into its facts and a hint that fits a web page.

    Clauses about commands or options of the command line are left out.
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


def json_response(value: object, status: int = 200) -> Response:
    """Return a value as a JSON response; numbers that JSON cannot write (NaN, inf) become null."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(replace_non_finite(value), allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json")


def read_text_tail(path: Path, max_bytes: int = 1 << 16) -> str:
    """Return the end of a text file; "" if it cannot be read."""
    try:
        with open_regular(path) as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - max_bytes, 0))
            return file.read(max_bytes).decode(errors="replace")
    except OSError:
        return ""
