"""Archives of named arrays, strings and numbers that are safe to open: they contain no pickle.

An archive is NumPy's `.npz` with a header. The header names the format, which identifies foreign
files, and holds a SHA-256 of everything else, which identifies damaged files. A file is written
under a temporary name in its folder, synced to disk and renamed: an interruption, a full disk or a
loss of power leaves either the old file or the new one.
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
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from counterplay.errors import FileError, RunError

if TYPE_CHECKING:
    from hashlib import _Hash

Array = NDArray[Any]

MIN_UNPACK_LIMIT_BYTES = 1 << 26  # any archive may unpack to this size
MAX_UNPACK_RATIO = 100  # unpacked size by archive size of larger ones; written files stay below
CHUNK_BYTES = 1 << 20  # bytes unpacked at a time
MAX_MEMBERS = 10_000  # arrays in an archive, the header included
HEADER = "header"  # name of the array that holds the header as JSON
NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class DamagedFileError(Exception):
    """A file cannot be read; the text says what is wrong with it."""


def write_archive(
    path: str | Path, format_name: str, values: Mapping[str, Any], *, compress: bool = True
) -> None:
    """Write named arrays and JSON values to a file.

    Args:
        path: the file.
        format_name: name of the format, which `read_archive` checks.
        values: arrays, or values that JSON can represent, by name.
        compress: whether to compress, which takes ten times as long as writing: for files that are
            small or archived.

    Raises:
        RunError: the file cannot be written, or there are too many arrays.
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
    """Replace a text file atomically."""
    write_file(path, lambda file: file.write(text.encode()))


def write_file(path: str | Path, write_content: Callable[[BinaryIO], object]) -> None:
    """Replace a file atomically by what `write_content` writes, and sync it to disk."""
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
            with contextlib.suppress(FileNotFoundError):  # already renamed
                os.unlink(temporary)
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from error


def sync_folder(path: Path) -> None:
    """Sync the directory entries of a folder to disk."""
    with contextlib.suppress(OSError):  # not supported by some systems
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_regular(path: Path) -> bool:
    """Return True if the path is a regular file, not a link."""
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
    """Read the values of a file that `write_archive` wrote.

    Args:
        path: the file.
        format_name: the format that the file must have.
        skip: names of arrays that are not read or unpacked.

    Returns:
        Arrays and JSON values by name; JSON lists become tuples.

    Raises:
        FileError: the file is missing, damaged, or of another format.
    """
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            members = _check_members(archive, os.fstat(file.fileno()).st_size, skip)
            header = json.loads(_read_array(archive, members.pop(HEADER)).tobytes())
            file_format, values = header["format"], header["values"]
            _check_names(header, archive)
            arrays = {name: _read_array(archive, member) for name, member in members.items()}
        _check_digests(header, arrays)
        arrays |= {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    except FileNotFoundError as error:
        raise FileError(f"there is no file {path}") from error
    except Exception as error:  # readers of zip, npy and JSON raise many kinds on foreign bytes
        reason = str(error) if isinstance(error, DamagedFileError) else type(error).__name__
        raise FileError(
            f"cannot read {path}: damaged, or not a file of Counterplay ({reason})"
        ) from error
    if file_format != format_name:
        problem = f"it is a {file_format!r} file, not a {format_name!r} file"
        raise FileError(f"cannot read {path}: {problem}")
    return arrays


def read_format_name(path: str | Path) -> str:
    """Return the format name of a file that `write_archive` wrote; "" for any other path."""
    try:
        with zipfile.ZipFile(path) as archive:
            entry = archive.getinfo(f"{HEADER}.npy")
            if entry.file_size > _max_unpacked_bytes(os.path.getsize(path)):
                return ""
            header = _read_array(archive, entry)
        return str(json.loads(header.tobytes())["format"])
    except Exception:  # any kind, as above; `read_archive` reports the problem
        return ""


def array_sizes(path: str | Path) -> dict[str, int]:
    """Return the unpacked size in bytes of each array, as declared in the archive's directory."""
    with zipfile.ZipFile(path) as archive:
        return {e.filename.removesuffix(".npy"): e.file_size for e in archive.infolist()}


def _check_digests(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Raise DamagedFileError if the contents differ from those that were written."""
    stored, digests = header.get("sha256"), header.get("arrays")
    if stored is None:  # a file from before checksums
        return
    if digests is None:  # a file from before digests by array
        matches = stored == _legacy_digest(header["format"], header["values"], arrays)
    else:
        matches = stored == _digest(header["format"], header["values"], digests) and all(
            digests.get(name) == _array_digest(name, array) for name, array in arrays.items()
        )
    if not matches:
        raise DamagedFileError("its contents do not match its checksum")


def _digest(format_name: str, values: Mapping[str, Any], digests: Mapping[str, str]) -> str:
    """Return the SHA-256 of a file's contents, with arrays represented by their digests."""
    text = json.dumps([format_name, values, sorted(digests.items())])
    return hashlib.sha256(text.encode()).hexdigest()


def _array_digest(name: str, array: Array) -> str:
    digest = hashlib.sha256()
    _update_digest(digest, name, array)
    return digest.hexdigest()


def _legacy_digest(format_name: str, values: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    digest = hashlib.sha256(json.dumps([format_name, values]).encode())
    for name, array in sorted(arrays.items()):
        _update_digest(digest, name, array)
    return digest.hexdigest()


def _update_digest(digest: _Hash, name: str, array: Array) -> None:
    digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _write_zip(file: BinaryIO, arrays: Mapping[str, Array], method: int) -> bool:
    """Write an archive, and return False if it is too small for the limits of `read_archive`."""
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
    """Return the bytes to which an archive of a size may unpack."""
    return max(MIN_UNPACK_LIMIT_BYTES, MAX_UNPACK_RATIO * size)


def _check_members(
    archive: zipfile.ZipFile, size: int, skip: Container[str]
) -> dict[str, zipfile.ZipInfo]:
    """Return the members to read, by array name, after checks that unpack nothing.

    Args:
        archive: the open archive.
        size: its size in bytes.
        skip: names of arrays that are left out.
    """
    entries = archive.infolist()
    if len(entries) > MAX_MEMBERS:
        raise DamagedFileError(
            f"it has {len(entries):,} members, at most {MAX_MEMBERS:,} are allowed"
        )
    if len({entry.filename for entry in entries}) < len(entries):
        raise DamagedFileError("two entries have the same name")
    names = {entry.filename.removesuffix(".npy"): entry for entry in entries}
    members = {name: entry for name, entry in names.items() if name not in skip}
    total = sum(entry.file_size for entry in members.values())
    if total > _max_unpacked_bytes(size):
        raise DamagedFileError(f"{size:,} bytes would unpack to {total:,}")
    return members


def _check_names(header: Mapping[str, Any], archive: zipfile.ZipFile) -> None:
    """Raise DamagedFileError if the members are not the arrays that the header lists."""
    if header.get("arrays") is None:  # a file from before the list
        return
    listed = {f"{name}.npy" for name in (*header["arrays"], HEADER)}
    if listed != {entry.filename for entry in archive.infolist()}:
        raise DamagedFileError("its contents do not match its checksum: its members differ")


def _read_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    """Return the array of an entry; its declared size limits the bytes that are unpacked."""
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
        raise DamagedFileError(f"the length of {entry.filename} is not the one it declares")
    array = content[start.tell() :].view(dtype).reshape(shape, order="F" if fortran else "C")
    return np.require(array, requirements="A")
