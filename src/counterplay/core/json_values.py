"""Values that JSON can represent, and files of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from counterplay.errors import ConfigError, FileError

Parsed = TypeVar("Parsed")


def load_json(path: str | Path, parse: Callable[[Any], Parsed]) -> Parsed:
    """Read a JSON file, and return the object that `parse` makes of its value.

    Raises:
        FileError: the file cannot be read.
        ConfigError: `parse` refuses the value; the message then starts with the path.
    """
    try:
        value = json.loads(Path(path).read_text())
    except FileNotFoundError as error:
        raise FileError(f"there is no file {path}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    try:
        return parse(value)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def replace_non_finite(value: object) -> object:
    """Return a JSON value with None in place of NaN and infinities, which JSON does not have.

    Example:
        >>> replace_non_finite({"low": float("-inf"), "values": (1.0, float("nan"))})
        {'low': None, 'values': [1.0, None]}
    """
    if isinstance(value, dict):
        return {key: replace_non_finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [replace_non_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
