"""SIMD operations on rows of eight numbers: arrays [., 8] are added and multiplied row by row.

The compiler does not generate them by itself, because numba turns LLVM's vectoriser of straight
code off, and showdowns consist of them: benchmarks/holdem/holdem.md has the speed-up. All arrays
are contiguous and of one type, float32 or float64; indices are not checked.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import config
from numba.core import types
from numba.extending import intrinsic

NUM_LANES = 8


def _row_pointer(
    context: Any, builder: Any, array_type: Any, array: Any, row: Any, row_type: Any
) -> Any:
    """Return a pointer to a row of eight numbers."""
    data = context.make_array(array_type)(context, builder, array).data
    index = context.cast(builder, row, row_type, types.intp)
    start = builder.mul(index, ir.Constant(index.type, NUM_LANES))
    vector = ir.VectorType(context.get_data_type(array_type.dtype), NUM_LANES)
    return builder.bitcast(builder.gep(data, [start]), vector.as_pointer())


class _RowAccess:
    """Loads and stores of rows inside an intrinsic."""

    def __init__(self, context: Any, builder: Any, signature: Any, values: Any):
        self.context, self.builder = context, builder
        self.kinds, self.values = signature.args, values

    def pointer(self, array: int, row: int) -> Any:
        kinds, values = self.kinds, self.values
        return _row_pointer(
            self.context, self.builder, kinds[array], values[array], values[row], kinds[row]
        )

    def load(self, pointer: Any) -> Any:
        vector = self.builder.load(pointer)
        vector.align = 4
        return vector

    def store(self, value: Any, pointer: Any) -> None:
        self.builder.store(value, pointer).align = 4


@intrinsic
def _add_row(typing_context, target, t, source, s):
    def code(context, builder, signature, values):
        rows = _RowAccess(context, builder, signature, values)
        pointer = rows.pointer(0, 1)
        total = builder.fadd(rows.load(pointer), rows.load(rows.pointer(2, 3)))
        rows.store(total, pointer)
        return context.get_dummy_value()

    return types.void(target, t, source, s), code


@intrinsic
def _add_scaled_row(typing_context, target, t, factor, f, source, s):
    def code(context, builder, signature, values):
        rows = _RowAccess(context, builder, signature, values)
        pointer = rows.pointer(0, 1)
        product = builder.fmul(rows.load(rows.pointer(2, 3)), rows.load(rows.pointer(4, 5)))
        rows.store(builder.fadd(rows.load(pointer), product), pointer)
        return context.get_dummy_value()

    return types.void(target, t, factor, f, source, s), code


@intrinsic
def _add_scaled_remainder(typing_context, target, t, factor, f, sums, whole, a, b):
    def code(context, builder, signature, values):
        rows = _RowAccess(context, builder, signature, values)
        pointer = rows.pointer(0, 1)
        rest = builder.fsub(rows.load(rows.pointer(4, 5)), rows.load(rows.pointer(4, 6)))
        rest = builder.fsub(rest, rows.load(rows.pointer(4, 7)))
        product = builder.fmul(rows.load(rows.pointer(2, 3)), rest)
        rows.store(builder.fadd(rows.load(pointer), product), pointer)
        return context.get_dummy_value()

    return types.void(target, t, factor, f, sums, whole, a, b), code


def _python_add_row(target: Any, t: int, source: Any, s: int) -> None:
    target[t] += source[s]


def _python_add_scaled_row(target: Any, t: int, factor: Any, f: int, source: Any, s: int) -> None:
    target[t] += factor[f] * source[s]


def _python_add_scaled_remainder(
    target: Any, t: int, factor: Any, f: int, sums: Any, whole: int, a: int, b: int
) -> None:
    target[t] += factor[f] * (sums[whole] - sums[a] - sums[b])


IS_COMPILED = not getattr(config, "DISABLE_JIT", False)
# target[t] += source[s]
add_row = _add_row if IS_COMPILED else _python_add_row
# target[t] += factor[f] * source[s]
add_scaled_row = _add_scaled_row if IS_COMPILED else _python_add_scaled_row
# target[t] += factor[f] * (sums[whole] - sums[a] - sums[b])
add_scaled_remainder = _add_scaled_remainder if IS_COMPILED else _python_add_scaled_remainder
