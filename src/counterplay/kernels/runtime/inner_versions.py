"""Versions of kernels that other kernels call: without the parts that calls from Python need.

For every signature numba makes wrappers for calls from Python and C, and machine code. A kernel
that is called by kernels only needs neither, because its intermediate code is linked into each
caller. Without them, the first `solve` of Kuhn poker compiles in about four fifths of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import compiler, sigutils
from numba.core.caching import CompileResultCacheImpl
from numba.core.compiler_lock import global_compiler_lock
from numba.core.typing.templates import make_concrete_template

NUM_ALLOCATIONS = 100_000  # between two collections of garbage while numba compiles


@contextmanager
def compiling() -> Iterator[None]:
    """Hold the compiler's lock, and collect garbage rarely.

    Numba allocates millions of objects, and Python's collector would take a sixth of the time.
    The lock keeps other threads from changing the collector's thresholds meanwhile.
    """
    with global_compiler_lock:
        first, *others = gc.get_threshold()
        gc.set_threshold(max(first, NUM_ALLOCATIONS) if first else 0, *others)
        try:
            yield
        finally:
            gc.set_threshold(first, *others)


class InnerVersions:
    """The versions of one kernel for calls by kernels, by the types of their arguments.

    Args:
        dispatcher: The kernel.
        cache: Keeps the versions on disk; None if no folder is writable.
    """

    def __init__(self, dispatcher: Any, cache: Any):
        self.dispatcher, self.cache = dispatcher, cache
        self.versions: dict[tuple[Any, ...], Any] = {}
        # numba calls these two where a kernel calls this one
        dispatcher.get_call_template = self.get_call_template
        dispatcher.get_overload = self.get_overload
        self.compile_for_python = dispatcher.compile
        dispatcher.compile = self.compile_with_wrappers

    def compile_with_wrappers(self, signature: Any) -> Any:
        """Compile a version for calls from Python."""
        with compiling():
            return self.compile_for_python(signature)

    def get_call_template(self, args: Any, kws: Any) -> tuple[Any, Any, Any, dict[str, Any]]:
        """Return the types of a call, as `numba.core.dispatcher.Dispatcher` does."""
        signature, args = self.dispatcher._compiler.fold_argument_types(args, kws)
        self.compile(tuple(args))
        name = self.dispatcher.py_func.__name__
        signatures = [version.signature for version in self.versions.values()]
        template = make_concrete_template(f"CallTemplate({name})", name, signatures)
        return template, signature, args, {}

    def get_overload(self, signature: Any) -> Any:
        """Return the key under which the code of a version is registered."""
        args, _ = sigutils.normalize_signature(signature)
        return self.versions[tuple(args)].entry_point

    def compile(self, args: tuple[Any, ...]) -> None:
        """Make sure that there is a version for these types."""
        if args in self.versions:
            return
        with compiling(), self.dispatcher._compiling_counter:
            target = self.dispatcher.targetctx
            version = self.cache.load_overload(args, target) if self.cache else None
            if version is None:
                version = self._compile(args)
                if self.cache:
                    self.cache.save_overload(args, version)
            target.insert_user_function(version.entry_point, version.fndesc, [version.library])
            self.versions[args] = version

    def _compile(self, args: tuple[Any, ...]) -> Any:
        function_compiler = self.dispatcher._compiler
        flags: Any = compiler.Flags()
        target = function_compiler.targetdescr
        target.options.parse_as_flags(flags, function_compiler.targetoptions)
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        version = compiler.compile_extra(
            target.typing_context,
            target.target_context,
            function_compiler.py_func,
            args=args,
            return_type=None,
            flags=flags,
            locals=function_compiler.locals,
            pipeline_class=function_compiler.pipeline_class,
        )
        return version._replace(entry_point=object())


class InnerCacheImpl(CompileResultCacheImpl):
    """Stores a version as intermediate code, in files of their own."""

    @property
    def filename_base(self) -> str:
        return f"{super().filename_base}.inner"

    def reduce(self, version: Any) -> Any:
        version.fndesc.typemap = version.fndesc.calltypes = None  # cannot be pickled
        environments = tuple(version._find_referenced_environments())
        code = version.library.serialize_using_bitcode()
        return code, version.fndesc, version.environment, version.signature, environments

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        code, descriptor, environment, signature, environments = payload
        library = target_context.codegen().unserialize_library(code)
        for other in environments:
            library.codegen.set_env(other.env_name, other)
        return compiler.compile_result(
            target_context=target_context,
            typing_context=target_context.typing_context,
            library=library,
            environment=environment,
            entry_point=object(),
            fndesc=descriptor,
            signature=signature,
            objectmode=False,
            lifted=(),
            reload_init=(),
            referenced_envs=environments,
        )
