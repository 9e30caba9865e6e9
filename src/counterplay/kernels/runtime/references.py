"""Pass records of arrays between kernels by reference.

Numba passes the fields of a named tuple one by one. A record of fifty arrays has 350 of them, which
are copied at every call that is not inlined: a quarter of a walk over small blocks was spent there.
`reference` stores a value once and returns its address, `dereference` reads it back, and LLVM
removes the reads of fields that the function does not use.

A reference is valid until the function that made it returns. Without compilation a reference is the
value itself.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model


class RecordReference(types.Type):
    """The address of a value on the stack."""

    def __init__(self, target: Any):
        self.target = target
        super().__init__(f"RecordReference({target})")


@register_model(RecordReference)
class _ReferenceModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, manager[kind.target].get_value_type().as_pointer())


@intrinsic
def _reference(typing_context, value):
    if isinstance(value, RecordReference):
        return value(value), lambda context, builder, sig, values: values[0]

    def code(context, builder, sig, values):
        return cgutils.alloca_once_value(builder, values[0])

    return RecordReference(value)(value), code


@intrinsic
def _dereference(typing_context, reference):
    if not isinstance(reference, RecordReference):
        return reference(reference), lambda context, builder, sig, values: values[0]

    def code(context, builder, sig, values):
        return builder.load(values[0])

    return reference.target(reference), code


@intrinsic
def _reference_item(typing_context, reference, index):
    def code(context, builder, sig, values):
        number = context.cast(builder, values[1], sig.args[1], types.int64)
        return builder.gep(values[0], [ir.Constant(number.type, 0), number], inbounds=True)

    return RecordReference(reference.target.dtype)(reference, index), code


IS_COMPILED = not getattr(config, "DISABLE_JIT", False)
# the address of a value; of a reference, itself
reference = _reference if IS_COMPILED else lambda value: value
# the value at an address; any other value is returned as it is
dereference = _dereference if IS_COMPILED else lambda value: value
# the address of an item of a tuple of equal types, given that of the tuple
reference_item = _reference_item if IS_COMPILED else lambda values, index: values[index]
