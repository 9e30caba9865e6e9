"""Compiled functions as values, so that kernels that call them are compiled once for all."""

from __future__ import annotations

from typing import Any

from numba.core.types import WrapperAddressProtocol


class Pointer(WrapperAddressProtocol):
    """A function compiled for one signature; kernels see a pointer to it."""

    def __init__(self, function: Any, signature: Any):
        self.function, self.types = function, signature
        self.compiled = function.get_compile_result(signature)

    def __wrapper_address__(self) -> int:
        name = self.compiled.fndesc.llvm_cfunc_wrapper_name
        return int(self.compiled.library.get_pointer_to_function(name))

    def signature(self) -> Any:
        return self.types
