"""Numba's cache on disk with a checksum in every file.

Numba unpickles cache files and runs their machine code unchecked: a truncated file raises in every
process, a flipped bit crashes it, and a data file that another process wrote under the same number
runs as the wrong function. Here a file with a wrong checksum or key counts as missing: the function
is compiled again and the file is overwritten.
"""

from __future__ import annotations

import pickle
import warnings
from functools import cache
from hashlib import sha256
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

DIGEST_BYTES = sha256().digest_size  # the checksum at the start of a file


@cache
def warn_uncached(folder: str, problem: str) -> None:
    """Warn once per folder that compiled kernels are not kept, and say how to fix that."""
    warnings.warn(
        f"compiled kernels cannot be kept in {folder} ({problem}), so that every process compiles "
        "them again, which takes up to half a minute; set NUMBA_CACHE_DIR to a writable folder",
        RuntimeWarning,
        stacklevel=2,
    )


class ChecksummedCache(FunctionCache):
    """The cache of one function; a damaged or unwritable file costs a recompilation, no error.

    `_impl_class` chooses the folder.
    """

    def __init__(self, function: Any):
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = _ChecksummedFiles(
            locator.get_cache_path(), self._impl.filename_base, locator.get_source_stamp()
        )

    def save_overload(self, *compiled: Any) -> None:
        try:
            super().save_overload(*compiled)
        except OSError as error:  # the disk is full, or the folder was removed
            warn_uncached(self.cache_path, str(error.strerror or error))

    def has_overloads(self) -> bool:
        """Return True if machine code of this function is cached."""
        return bool(self._cache_file._load_index())


class _ChecksummedFiles(IndexDataCacheFile):
    """An index file and its data files, for one version of numba and of the source."""

    def load(self, key: Any) -> Any:
        entry = super().load(key)
        return entry[1] if entry and entry[0] == key else None

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def _load_index(self) -> Any:
        return self._read(self._index_path) or {}

    def _save_index(self, overloads: Any) -> None:
        self._write(self._index_path, overloads)

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> Any:
        try:
            with open(path, "rb") as file:
                digest, data = file.read(DIGEST_BYTES), file.read()
        except OSError:
            return None
        return pickle.loads(data) if digest == self._digest(data) else None

    def _write(self, path: str, value: Any) -> None:
        data = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(self._digest(data) + data)

    def _digest(self, data: bytes) -> bytes:
        return sha256(repr((self._version, self._source_stamp)).encode() + data).digest()
