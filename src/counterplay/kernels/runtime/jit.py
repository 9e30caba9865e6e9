"""Compile kernels with numba and keep the machine code on disk.

Numba recompiles a function when its file changes, but not when a kernel that it calls from another
file changes. So the cache folder is named after a hash of the sources of all kernels, and folders
of older sources are removed.
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
from numba.np import linalg

from counterplay.kernels.runtime.inner_versions import InnerCacheImpl, InnerVersions
from counterplay.kernels.runtime.jit_cache import ChecksummedCache, warn_uncached


def _import_array_functions() -> None:
    """Import numba's functions of arrays without SciPy's linear algebra, which is large and slow.

    Importing them looks whether BLAS is there, which it is, since SciPy is a dependency. Compiled
    functions that use BLAS, of users for example, import it when they are compiled.
    """
    ensure_blas = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = ensure_blas


_import_array_functions()

CHANCE, TERMINAL = -1, -2  # as in `counterplay.core.game`; part of the hashed sources

_PACKAGE = Path(__file__).parents[2]
_KERNEL_FILES = sorted([*_PACKAGE.glob("kernels/**/*.py"), *_PACKAGE.glob("games/compiled/*.py")])
_SOURCE_HASH = sha256(b"".join(sha256(file.read_bytes()).digest() for file in _KERNEL_FILES))
CACHE_FOLDER = f"sources-{_SOURCE_HASH.hexdigest()[:16]}"


def kernel(
    function: Callable[..., Any],
    inline: bool = True,
    no_alloc: bool = False,
    copy_source: bool = False,
    **options: Any,
) -> Any:
    """Compile a function at its first call, without Python's division checks and without the GIL.

    Args:
        function: A function on numbers, arrays and named tuples of them.
        inline: Copy the machine code into each caller.
        no_alloc: The function allocates and returns no array, so reference counting is off.
            Numba removes the counting itself only in simple functions; elsewhere it makes a
            traversal up to three times slower.
        copy_source: Copy the source into each caller instead. A function that mostly calls others
            then needs no machine code, which takes half a second to compile.
        **options: Further options of `numba.njit`.

    Returns:
        The compiled function, or `function` itself if NUMBA_DISABLE_JIT=1.
    """
    options |= {"error_model": "numpy", "forceinline": inline, "_nrt": not no_alloc}
    if copy_source:
        options["inline"] = "always"
    compiled = njit(nogil=True, **options)(function)
    if compiled is not function:  # they are the same with NUMBA_DISABLE_JIT=1
        inner_cache = None
        try:
            compiled._cache = (_NoAllocKernelCache if no_alloc else _KernelCache)(function)
            inner_cache = (_NoAllocInnerCache if no_alloc else _InnerCache)(function)
        except RuntimeError:  # none of the folders that numba tries is writable
            folder = os.environ.get("NUMBA_CACHE_DIR") or str(Path(__file__).parent / "__pycache__")
            warn_uncached(folder, "no permission to write, nor in the user's cache folder")
        InnerVersions(compiled, inner_cache)
    return compiled


def is_compiled(*kernels: Any) -> bool:
    """Return True if the cache holds machine code of each of these kernels."""
    return all(keeps_compiled(kernel) and kernel._cache.has_overloads() for kernel in kernels)


def keeps_compiled(kernel: Any) -> bool:
    """Return True if this kernel has a writable cache folder."""
    return isinstance(getattr(kernel, "_cache", None), ChecksummedCache)


no_alloc_kernel = partial(kernel, no_alloc=True)
fma_kernel = partial(kernel, fastmath={"contract"})  # allows fused multiply-add
sum_kernel = partial(kernel, fastmath={"contract", "reassoc"})  # sums in any order
fma_row_kernel = partial(fma_kernel, no_alloc=True)  # called in inner loops of the others
sum_row_kernel = partial(sum_kernel, no_alloc=True)
fma_call_kernel = partial(fma_kernel, copy_source=True)  # calls others in turn
outlined_row_kernel = partial(fma_row_kernel, inline=False)  # compiled once, called by the others
noinline_kernel = partial(fma_kernel, inline=False)


class _SourceHashLocator:
    """Mixin for numba's cache locators that appends the folder of the current sources."""

    def get_cache_path(self) -> str:
        return str(Path(super().get_cache_path()) / CACHE_FOLDER)  # type: ignore[misc]

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> Any:
        locator = super().from_function(function, file)  # type: ignore[misc]
        if locator is not None:
            _remove_stale_caches(Path(locator.get_cache_path()))
        return locator


@cache
def _remove_stale_caches(folder: Path) -> None:
    for other in folder.parent.glob("sources-*"):
        if other != folder:
            rmtree(other, ignore_errors=True)


_LOCATORS: list[Any] = [
    type(locator.__name__, (_SourceHashLocator, locator), {})
    for locator in CompileResultCacheImpl._locator_classes
]


class _SourceHashCacheImpl(CompileResultCacheImpl):
    _locator_classes = _LOCATORS


class _SourceHashInnerImpl(InnerCacheImpl):
    _locator_classes = _LOCATORS


class _KernelCache(ChecksummedCache):
    _impl_class = _SourceHashCacheImpl  # type: ignore[assignment]


class _InnerCache(ChecksummedCache):
    _impl_class = _SourceHashInnerImpl  # type: ignore[assignment]


class _RefusesArrays(ChecksummedCache):
    """Mixin for the caches of `no_alloc` kernels."""

    def save_overload(self, signature: Any, compiled: Any) -> None:
        result_type = compiled.signature.return_type
        if any(
            isinstance(part, Array) for part in (result_type, *getattr(result_type, "types", ()))
        ):
            raise TypeError(
                f"{compiled.fndesc.qualname} is a no_alloc kernel: it cannot return an array"
            )
        super().save_overload(signature, compiled)


class _NoAllocKernelCache(_RefusesArrays, _KernelCache):
    pass


class _NoAllocInnerCache(_RefusesArrays, _InnerCache):
    pass
