"""Read small text files of other programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from counterplay.errors import ConfigError, FileError

Parsed = TypeVar("Parsed")


def parse_text_file(
    path: Path, parse: Callable[[str], Parsed], max_bytes: int, kind: str
) -> Parsed:
    """Return the content of a file.

    Args:
        path: the file.
        parse: returns the content of a text; raises ConfigError.
        max_bytes: larger files are refused before they are read.
        kind: what the file should be, such as `ACPC game file`, for the error.

    Raises:
        FileError: the file cannot be read, is too large, or `parse` refuses it.
    """
    try:
        if path.stat().st_size > max_bytes:
            raise FileError(f"{path} is larger than {max_bytes:,} bytes; it is no {kind}")
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    try:
        return parse(text)
    except ConfigError as error:
        raise FileError(f"{path}: {error}") from error
