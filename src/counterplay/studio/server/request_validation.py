"""Validation of JSON bodies and query parameters of requests."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence

from starlette.requests import Request

from counterplay.studio.server.responses import ApiError

MAX_BODY_DEPTH = 32  # nested lists and objects
MAX_INTEGER = 2**63
MAX_NUMBER = 1e300  # larger numbers overflow in computations
MAX_TEXT_LENGTH = 4_000  # characters of a query parameter, or of a short text in a body
INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)


def parse_body(body: bytes) -> dict[str, object]:
    """Return the JSON object of a body.

    Raises:
        ApiError: the body is not a JSON object, is nested too deeply, or has a number or a
            character that cannot be used: NaN, infinities, half of a surrogate pair.
    """
    try:
        value = json.loads(body or b"{}", parse_constant=_refuse_constant)
    except RecursionError:
        raise ApiError(400, "not_json", "the body is nested too deeply") from None
    except ValueError:
        raise ApiError(400, "not_json", "the body is not JSON") from None
    if not isinstance(value, dict):
        raise ApiError(400, "not_json", "the body must be a JSON object")
    _check_values(value)
    return value


def _refuse_constant(name: str) -> float:
    raise ApiError(400, "not_json", f"the body has {name}, which is not a number")


def _check_values(root: object) -> None:
    """Raise `ApiError` for values that cannot be used."""
    if depth_of(root) > MAX_BODY_DEPTH:
        raise ApiError(400, "not_json", f"the body is nested more than {MAX_BODY_DEPTH} deep")
    waiting: list[object] = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.keys()
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str):
            _check_text(value)
        elif isinstance(value, (int, float)) and not -MAX_NUMBER <= value <= MAX_NUMBER:
            raise ApiError(400, "not_json", "the body has a number that is too large")
        elif isinstance(value, int) and not -MAX_INTEGER <= value < MAX_INTEGER:
            raise ApiError(400, "not_json", "the body has a whole number that is too large")


def depth_of(value: object) -> int:
    """Return the depth of nested lists and objects; 0 for other values."""
    depth, level = 0, [value]
    while level := [part for part in level if isinstance(part, (list, dict))]:
        depth += 1
        level = [x for part in level for x in (part.values() if isinstance(part, dict) else part)]
    return depth


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        message = "the body has half of a surrogate pair, which is not a character"
        raise ApiError(400, "not_json", message) from None


def text_field(body: Mapping[str, object], name: str, default: str = "") -> str:
    """Return a short text of a body."""
    value = body.get(name, default)
    if not isinstance(value, str):
        raise ApiError(422, name, f"{name} must be a text", field=name)
    if len(value) > MAX_TEXT_LENGTH:
        message = f"{name} may have at most {MAX_TEXT_LENGTH} characters"
        raise ApiError(422, name, message, field=name)
    return value


def integer_field(
    body: Mapping[str, object], name: str, default: int | None = None, low: int = 0
) -> int | None:
    """Return a whole number of a body that is at least `low`."""
    value = body.get(name, default)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise ApiError(422, name, f"{name} must be a whole number, at least {low}", field=name)
    return value


class Query:
    """The query parameters of a request; a malformed one raises `ApiError` 400 with its name."""

    def __init__(self, request: Request):
        self.values = request.query_params

    def has(self, name: str) -> bool:
        return name in self.values

    def integer(self, name: str, default: int = 0, low: int = 0, high: int = 2**53) -> int:
        """Return a whole number from `low` to `high`; the default if it is missing or empty."""
        text = self.values.get(name, "")
        if not text:
            return default
        if not INTEGER.fullmatch(text) or not low <= int(text) <= high:
            message = f"{name} is {text[:40]!r}, must be a whole number from {low} to {high}"
            raise ApiError(400, "query", message, field=name)
        return int(text)

    def number(self, name: str) -> float | None:
        """Return a finite number; None if it is missing or empty."""
        text = self.values.get(name, "")
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            message = f"{name} is {text[:40]!r}, must be a number"
            raise ApiError(400, "query", message, field=name)
        return value

    def text(self, name: str, default: str = "", max_length: int = MAX_TEXT_LENGTH) -> str:
        """Return a text of at most `max_length` characters."""
        text = self.values.get(name, default)
        if len(text) > max_length:
            message = f"{name} may have at most {max_length} characters"
            raise ApiError(400, "query", message, field=name)
        return text

    def texts(self, name: str, max_count: int) -> Sequence[str]:
        """Return all values of a parameter that may be repeated."""
        return self.values.getlist(name)[:max_count]

    def choice(self, name: str, options: Sequence[str]) -> str:
        """Return one of the options; the first if it is missing or empty."""
        text = self.values.get(name, "") or options[0]
        if text not in options:
            message = f"{name} is {text[:40]!r}, must be one of {', '.join(options)}"
            raise ApiError(400, "query", message, field=name)
        return text
