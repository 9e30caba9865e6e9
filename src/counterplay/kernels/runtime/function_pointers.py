"""Call compiled functions by address.

A kernel that calls a function by address is compiled once, not once per function.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


class FunctionPointer:
    """A function without return value, compiled for one signature."""

    def __init__(self, function: Any, signature: Any):
        self.compiled = function.get_compile_result(signature)

    @property
    def address(self) -> int:
        """The address for `call_pointer`; valid while this object is alive."""
        name = self.compiled.fndesc.llvm_func_name
        return int(self.compiled.library.get_pointer_to_function(name))


@intrinsic
def call_pointer(context, address, arguments):
    """Call the function at `address` with a tuple of arguments; return True if it raised.

    An error of the function becomes a return value, so callers raise no exception and need no
    reference counting on the way to one.
    """

    def generate(context, builder, signature, operands):
        convention, kinds = context.call_conv, signature.args[1].types
        kind = convention.get_function_type(types.none, kinds)
        function = builder.inttoptr(operands[0], ir.PointerType(kind))
        values = cgutils.unpack_tuple(builder, operands[1])
        status, _ = convention.call_function(builder, function, types.none, kinds, values)
        return status.is_error

    return types.boolean(types.int64, arguments), generate
