"""How kernels are compiled, and where numba keeps what it has compiled.

Numba notices that a function's own file has changed, not that a kernel it calls from another file
has. So the folder of its cache is named after the sources of all kernels, and other such folders
beside it, which nobody will read again, are removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any

from numba import njit
from numba.core.caching import CompileResultCacheImpl
from numba.core.types import Array

from counterplay.kernels.runtime.jit_cache import ChecksummedCache, warn_uncached

CHANCE, TERMINAL = -1, -2  # as in `counterplay.core.game`, but what is compiled in must stand here

_PACKAGE = Path(__file__).parents[2]
_KERNEL_FILES = sorted([*_PACKAGE.glob("kernels/**/*.py"), *_PACKAGE.glob("games/compiled/*.py")])
_SOURCE_HASH = sha256(b"".join(sha256(file.read_bytes()).digest() for file in _KERNEL_FILES))
CACHE_FOLDER = f"sources-{_SOURCE_HASH.hexdigest()[:16]}"


def kernel(
    function: Callable[..., Any], inline: bool = True, no_alloc: bool = False, **options: Any
) -> Any:
    """The function compiled when it is first called; without Python's checks and its lock.

    A `no_alloc` one makes no array and returns none, so that nobody need count references to arrays.
    Numba counts them, and finds that it need not only where a function is simple enough: where it
    does not, a walk can take three times as long.
    """
    options |= {"error_model": "numpy", "forceinline": inline, "_nrt": not no_alloc}
    compiled = njit(nogil=True, **options)(function)
    if compiled is not function:  # as it is with NUMBA_DISABLE_JIT=1
        try:
            compiled._cache = (_NoAllocKernelCache if no_alloc else _KernelCache)(function)
        except RuntimeError:  # neither of the folders that numba tries can be written to
            folder = os.environ.get("NUMBA_CACHE_DIR") or str(Path(__file__).parent / "__pycache__")
            warn_uncached(folder, "no permission to write, nor in the user's own cache")
    return compiled


def is_compiled(*kernels: Any) -> bool:
    """Return True if the cache has something compiled for each of these kernels."""
    return all(keeps_compiled(one) and one._cache.has_overloads() for one in kernels)


def keeps_compiled(kernel: Any) -> bool:
    """Return True if there is a folder that keeps this kernel once it is compiled."""
    return isinstance(getattr(kernel, "_cache", None), ChecksummedCache)


no_alloc_kernel = partial(kernel, no_alloc=True)
fma_kernel = partial(kernel, fastmath={"contract"})  # may add a product without rounding it first
noinline_kernel = partial(fma_kernel, inline=False)  # not copied to where it is called


class _SourceHashLocator:
    """Mixed into what numba chooses a folder by: $NUMBA_CACHE_DIR, the package's own, the user's"""

    def get_cache_path(self) -> str:
        return str(Path(super().get_cache_path()) / CACHE_FOLDER)  # type: ignore[misc]

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> Any:
        found = super().from_function(function, file)  # type: ignore[misc]
        if found is not None:
            _remove_stale_caches(Path(found.get_cache_path()))
        return found


@cache
def _remove_stale_caches(folder: Path) -> None:
    for other in folder.parent.glob("sources-*"):
        if other != folder:
            rmtree(other, ignore_errors=True)


class _SourceHashCacheImpl(CompileResultCacheImpl):
    _locator_classes: list[Any] = [  # noqa: RUF012
        type(choice.__name__, (_SourceHashLocator, choice), {})
        for choice in CompileResultCacheImpl._locator_classes
    ]


class _KernelCache(ChecksummedCache):
    _impl_class = _SourceHashCacheImpl  # type: ignore[assignment]


class _NoAllocKernelCache(_KernelCache):
    def save_overload(self, signature: Any, compiled: Any) -> None:
        kind = compiled.signature.return_type
        if any(isinstance(part, Array) for part in (kind, *getattr(kind, "types", ()))):
            raise TypeError(f"{compiled.fndesc.qualname} is bare: it cannot return an array")
        super().save_overload(signature, compiled)
