"""Files that are safe to open: named arrays, strings and numbers in one archive, never pickle.

The archive is NumPy's `.npz` with an entry that names the format, so that a foreign or damaged
file is told apart. It is written beside its place and moved there whole: an interruption or a full
disk leaves the old file as it was.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from counterplay.errors import RunError


def write_arrays(path: str | Path, format_name: str, values: Mapping[str, Any]) -> None:
    """Write arrays, and anything JSON can hold, under their names."""
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    rest = {name: value for name, value in values.items() if name not in arrays}
    header = json.dumps({"format": format_name, "values": rest})
    arrays["header"] = np.frombuffer(header.encode(), np.uint8)
    _replace(path, lambda file: np.savez_compressed(file, allow_pickle=False, **arrays))


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    _replace(path, lambda file: file.write(text.encode()))


def _replace(path: str | Path, write: Callable[[BinaryIO], object]) -> None:
    path = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                write(file)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):  # it may just have been moved
                os.unlink(temporary)
            raise
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from error


_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


def read_arrays(path: str | Path, format_name: str) -> dict[str, Any]:
    """Read what `write_arrays` wrote under the same format name; JSON lists come as tuples."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays: dict[str, Any] = dict(archive)
        header = json.loads(arrays.pop("header").tobytes())
        found, values = header["format"], header["values"]
    except FileNotFoundError as error:
        raise RunError(f"there is no file {path}") from error
    except _UNREADABLE as error:
        reason = "damaged, or not a file of Counterplay"
        raise RunError(f"cannot read {path}: {reason} ({type(error).__name__})") from error
    if found != format_name:
        raise RunError(f"cannot read {path}: it is a {found!r} file, not a {format_name!r} file")
    arrays |= {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return arrays
