"""Files that are safe to open: named arrays, strings and numbers in one archive, never pickle.

The archive is NumPy's `.npz` with a header that names the format, so that a foreign file is told
apart, and holds a SHA-256 of all the rest, so that a damaged one is. Files are written beside their
place, brought to the disk and moved there whole: an interruption, a full disk or a loss of power
leaves the old file or the new one.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import stat
import tempfile
import zipfile
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from counterplay.errors import FileError, RunError

MIN_UNPACK_LIMIT_BYTES = 1 << 26  # bytes that any archive may unpack to
MAX_UNPACK_RATIO = (
    100  # a larger one may unpack to so many times its size; what is honest stays below
)
CHUNK_BYTES = 1 << 20  # bytes unpacked at a time
MAX_MEMBERS = 10_000  # arrays in an archive, its header included
HEADER = "header"  # name of the array that holds the header as JSON
NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class DamagedFileError(Exception):
    """What is wrong with a file, for the message to its reader."""


def write_archive(
    path: str | Path, format_name: str, values: Mapping[str, Any], *, compress: bool = True
) -> None:
    """Write arrays, and anything JSON can hold, under their names.

    Compressing takes ten times as long as writing: it is for files that are small or kept for good.
    """
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    if len(arrays) >= MAX_MEMBERS:
        raise RunError(f"cannot write {path}: it would have more than {MAX_MEMBERS:,} arrays")
    rest = {name: value for name, value in values.items() if name not in arrays}
    parts = {name: _array_digest(name, array) for name, array in arrays.items()}
    digest = _digest(format_name, rest, parts)
    header = {"format": format_name, "values": rest, "arrays": parts, "sha256": digest}
    arrays[HEADER] = np.frombuffer(json.dumps(header).encode(), np.uint8)

    def write(file: BinaryIO) -> None:
        if not (compress and _write_zip(file, arrays, zipfile.ZIP_DEFLATED)):
            _write_zip(file, arrays, zipfile.ZIP_STORED)

    write_file(path, write)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    write_file(path, lambda file: file.write(text.encode()))


def write_file(path: str | Path, write_content: Callable[[BinaryIO], object]) -> None:
    """Put what `write` writes in the place of a file, whole or not at all; then it is on disk."""
    path = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w+b") as file:
                write_content(file)
                file.flush()
                os.chmod(temporary, 0o644)
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):  # it may just have been moved
                os.unlink(temporary)
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from error


def sync_folder(path: Path) -> None:
    """Return once the names in a folder are on the disk."""
    with contextlib.suppress(OSError):  # some systems cannot do it
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_regular(path: Path) -> bool:
    """Return True if there is a regular file under this very name, which is not a link."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


@contextlib.contextmanager
def open_regular(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file for reading; raise `OSError` for links, pipes, devices and folders.

    Opening a pipe would wait for a writer, and a link could lead anywhere.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{path.name} is not a regular file")
        yield file


def read_archive(path: str | Path, format_name: str, skip: Container[str] = ()) -> dict[str, Any]:
    """Read what `write_arrays` wrote under the same format name; JSON lists come as tuples.

    Arrays to `skip` are not even unpacked.
    """
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            members = _check_members(archive, os.fstat(file.fileno()).st_size, skip)
            header = json.loads(_read_array(archive, members.pop(HEADER)).tobytes())
            found, values = header["format"], header["values"]
            _check_names(header, archive)
            arrays = {name: _read_array(archive, member) for name, member in members.items()}
        _check_digests(header, arrays)
        arrays |= {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    except FileNotFoundError as error:
        raise FileError(f"there is no file {path}") from error
    except Exception as error:  # whatever the readers of zip, npy and JSON raise on foreign bytes
        why = str(error) if isinstance(error, DamagedFileError) else type(error).__name__
        raise FileError(
            f"cannot read {path}: damaged, or not a file of Counterplay ({why})"
        ) from error
    if found != format_name:
        raise FileError(f"cannot read {path}: it is a {found!r} file, not a {format_name!r} file")
    return arrays


def read_format_name(path: str | Path) -> str:
    """The format name of what `write_arrays` wrote; empty for any other file, or none."""
    try:
        with zipfile.ZipFile(path) as archive:
            entry = archive.getinfo(f"{HEADER}.npy")
            if entry.file_size > _max_unpacked_bytes(os.path.getsize(path)):
                return ""
            header = _read_array(archive, entry)
        return str(json.loads(header.tobytes())["format"])
    except Exception:  # as above; whoever reads it all says what is wrong
        return ""


def array_sizes(path: str | Path) -> dict[str, int]:
    """Bytes that each array of a file takes unpacked, as the archive's directory says."""
    with zipfile.ZipFile(path) as archive:
        return {e.filename.removesuffix(".npy"): e.file_size for e in archive.infolist()}


def _check_digests(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Refuse contents other than those that were written."""
    stored, parts = header.get("sha256"), header.get("arrays")
    if stored is None:  # an older file
        return
    if parts is None:  # one written before arrays had digests of their own
        good = stored == _legacy_digest(header["format"], header["values"], arrays)
    else:
        good = stored == _digest(header["format"], header["values"], parts) and all(
            parts.get(name) == _array_digest(name, array) for name, array in arrays.items()
        )
    if not good:
        raise DamagedFileError("its contents do not match its checksum")


def _digest(format_name: str, values: Mapping[str, Any], parts: Mapping[str, str]) -> str:
    """The SHA-256 of everything in a file but itself, arrays by their own."""
    text = json.dumps([format_name, values, sorted(parts.items())])
    return hashlib.sha256(text.encode()).hexdigest()


def _array_digest(name: str, array: Any) -> str:
    digest = hashlib.sha256()
    _update_digest(digest, name, array)
    return digest.hexdigest()


def _legacy_digest(format_name: str, values: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps([format_name, values]).encode())
    for name, array in sorted(arrays.items()):
        _update_digest(digest, name, array)
    return digest.hexdigest()


def _update_digest(digest: Any, name: str, array: Any) -> None:
    digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _write_zip(file: BinaryIO, arrays: Mapping[str, Any], method: int) -> bool:
    """Write an archive; False if it is so small that `read_arrays` would not trust it."""
    file.seek(0)
    file.truncate()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = method
            with archive.open(entry, "w", force_zip64=True) as stream:
                npy.write_array(stream, array, allow_pickle=False)
    return sum(array.nbytes for array in arrays.values()) <= _max_unpacked_bytes(file.tell()) // 2


def _max_unpacked_bytes(size: int) -> int:
    """How many bytes an archive of that size may unpack to."""
    return max(MIN_UNPACK_LIMIT_BYTES, MAX_UNPACK_RATIO * size)


def _check_members(
    archive: zipfile.ZipFile, size: int, skip: Container[str]
) -> dict[str, zipfile.ZipInfo]:
    """Return the members to read, by array name, after checks that unpack nothing.

    Args:
        archive: the open archive.
        size: its size in bytes.
        skip: names of arrays that are not wanted.
    """
    every = archive.infolist()
    if len(every) > MAX_MEMBERS:
        raise DamagedFileError(
            f"it has {len(every):,} members, at most {MAX_MEMBERS:,} are allowed"
        )
    if len({entry.filename for entry in every}) < len(every):
        raise DamagedFileError("two entries have the same name")
    names = {entry.filename.removesuffix(".npy"): entry for entry in every}
    wanted = {name: entry for name, entry in names.items() if name not in skip}
    total = sum(entry.file_size for entry in wanted.values())
    if total > _max_unpacked_bytes(size):
        raise DamagedFileError(f"{size:,} bytes would unpack to {total:,}")
    return wanted


def _check_names(header: Mapping[str, Any], archive: zipfile.ZipFile) -> None:
    """Refuse an archive whose members are not the arrays that its header lists."""
    if header.get("arrays") is None:  # written before the header listed them
        return
    listed = {f"{name}.npy" for name in (*header["arrays"], HEADER)}
    if listed != {entry.filename for entry in archive.infolist()}:
        raise DamagedFileError("its contents do not match its checksum: its members are others")


def _read_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Any:
    """The array of an entry, whose declared size bounds what is unpacked."""
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DamagedFileError(f"{entry.filename} is compressed in an unknown way")
    content, end = np.empty(entry.file_size, np.uint8), 0
    with archive.open(entry) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            content[end : end + len(chunk)] = np.frombuffer(chunk, np.uint8)
            end += len(chunk)
    start = io.BytesIO(content[: 1 << 14].tobytes())
    shape, fortran, dtype = NPY_HEADERS[npy.read_magic(start)](start)
    length = math.prod(shape) * dtype.itemsize
    if dtype.kind not in "biufc" or not dtype.isnative or min(shape, default=0) < 0:
        raise DamagedFileError(f"{entry.filename} is not an array of numbers")
    if not start.tell() + length == content.size == end:
        raise DamagedFileError(f"{entry.filename} has another length than it says")
    array = content[start.tell() :].view(dtype).reshape(shape, order="F" if fortran else "C")
    return np.require(array, requirements="A")
