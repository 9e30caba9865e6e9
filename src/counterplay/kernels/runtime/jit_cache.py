"""Numba's cache on disk with a seal on every file: a damaged one counts as missing.

Numba unpickles what it finds and runs it. A truncated file would end every solve in a traceback,
a flipped bit in a crash, and a file that another process had numbered alike would run as another
function. Here whatever does not carry its seal is compiled anew and written over.
"""

from __future__ import annotations

import pickle
import warnings
from functools import cache
from hashlib import sha256
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

DIGEST_BYTES = sha256().digest_size  # bytes, before the rest of a file


@cache
def warn_uncached(folder: str, problem: str) -> None:
    """Say once that compiled kernels are not kept, and how to mend that."""
    warnings.warn(
        f"compiled kernels cannot be kept in {folder} ({problem}), so that every process compiles "
        "them again, which takes up to half a minute; set NUMBA_CACHE_DIR to a folder that can be "
        "written to",
        RuntimeWarning,
        stacklevel=2,
    )


class ChecksummedCache(FunctionCache):
    """A function's cache that only ever costs time; in which folder, `_impl_class` says."""

    def __init__(self, function: Any):
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = _ChecksummedFiles(
            locator.get_cache_path(), self._impl.filename_base, locator.get_source_stamp()
        )

    def save_overload(self, *compiled: Any) -> None:
        try:
            super().save_overload(*compiled)
        except OSError as error:  # the disk is full, or the folder is gone
            warn_uncached(self.cache_path, str(error.strerror or error))

    def has_overloads(self) -> bool:
        """Return True if something compiled is kept for this function."""
        return bool(self._cache_file._load_index())


class _ChecksummedFiles(IndexDataCacheFile):
    """An index and its data files, all for one version of numba and of the source."""

    def load(self, key: Any) -> Any:
        found = super().load(key)
        return found[1] if found and found[0] == key else None

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
                seal, data = file.read(DIGEST_BYTES), file.read()
        except OSError:
            return None
        return pickle.loads(data) if seal == self._digest(data) else None

    def _write(self, path: str, value: Any) -> None:
        data = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(self._digest(data) + data)

    def _digest(self, data: bytes) -> bytes:
        return sha256(repr((self._version, self._source_stamp)).encode() + data).digest()
