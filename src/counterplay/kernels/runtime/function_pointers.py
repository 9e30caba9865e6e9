"""Compiled functions as numbers, so that kernels that call them are compiled once for all."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


class FunctionPointer:
    """A function that returns nothing, compiled for one signature."""

    def __init__(self, function: Any, signature: Any):
        self.compiled = function.get_compile_result(signature)

    @property
    def address(self) -> int:
        """Where `call` finds it, as long as this object is there."""
        name = self.compiled.fndesc.llvm_func_name
        return int(self.compiled.library.get_pointer_to_function(name))


@intrinsic
def call_pointer(context, address, arguments):
    """Call what is at the address; whether it failed.

    Its errors are numbers here, so that callers have no error of their own, and no references to
    count on the way to one.
    """

    def generate(context, builder, signature, given):
        convention, kinds = context.call_conv, signature.args[1].types
        kind = convention.get_function_type(types.none, kinds)
        function = builder.inttoptr(given[0], ir.PointerType(kind))
        values = cgutils.unpack_tuple(builder, given[1])
        status, _ = convention.call_function(builder, function, types.none, kinds, values)
        return status.is_error

    return types.boolean(types.int64, arguments), generate
