"""Vectors of numbers as values of compiled code: rows of arrays are processed 16 numbers at a time.

Loops over several arrays are written with these instead of being left to the compiler, which gives
up on them because it cannot prove that the arrays do not overlap, and which processes the last
numbers of a row one by one: rows of 13 or 34 hands would consist of little else.

`load` and `store` access the numbers that a mask selects; arrays are contiguous and indices are not
checked. Lanes support + - * / < > and `select`. Without compilation they are NumPy arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config
from numba.core import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

LANES = 16  # one register of 512 bits in single precision
FLAGS = ("contract",)  # allows fused multiply-add


class Lanes(types.Type):
    """A vector of floating point numbers."""

    def __init__(self, dtype: Any, width: int):
        self.dtype, self.width = dtype, width
        super().__init__(f"Lanes({dtype}, {width})")


class LaneMask(types.Type):
    """A vector of truth values."""

    def __init__(self, width: int):
        self.width = width
        super().__init__(f"LaneMask({width})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any):
        number = ir.FloatType() if kind.dtype == types.float32 else ir.DoubleType()
        super().__init__(manager, kind, ir.VectorType(number, kind.width))


@register_model(LaneMask)
class _LaneMaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, ir.VectorType(ir.IntType(1), kind.width))


def _register_operator(function: Any, result: Callable[[Any], Any], emit: Any) -> None:
    """Define an operator on two lanes of the same type."""

    @infer_global(function)
    class LanesOperator(AbstractTemplate):
        def generic(self, args: Any, keywords: Any) -> Any:
            if len(args) == 2 and isinstance(args[0], Lanes) and args[0] == args[1]:
                return signature(result(args[0]), *args)
            return None

    @lower_builtin(function, Lanes, Lanes)
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return emit(builder, *args)


_same, _mask = (lambda kind: kind), (lambda kind: LaneMask(kind.width))
_register_operator(operator.add, _same, lambda b, x, y: b.fadd(x, y, flags=FLAGS))
_register_operator(operator.sub, _same, lambda b, x, y: b.fsub(x, y, flags=FLAGS))
_register_operator(operator.mul, _same, lambda b, x, y: b.fmul(x, y, flags=FLAGS))
_register_operator(operator.truediv, _same, lambda b, x, y: b.fdiv(x, y))
_register_operator(operator.lt, _mask, lambda b, x, y: b.fcmp_ordered("<", x, y))
_register_operator(operator.gt, _mask, lambda b, x, y: b.fcmp_ordered(">", x, y))


def _splat(builder: Any, value: Any, width: int) -> Any:
    """Return a vector whose numbers are all `value`."""
    vector = ir.Constant(ir.VectorType(value.type, width), ir.Undefined)
    first = builder.insert_element(vector, value, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
    return builder.shuffle_vector(first, vector, zeros)


def _element_pointer(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    """Return a pointer to the number at an index of a flattened array."""
    kinds = signature.args
    data = context.make_array(kinds[0])(context, builder, values[0]).data
    return builder.gep(data, [context.cast(builder, values[1], kinds[1], types.intp)])


def _vector_name(vector: Any) -> str:
    suffix = {"float": "f32", "double": "f64", "i16": "i16"}[str(vector.element)]
    return f"v{vector.count}{suffix}"


def _masked_load(builder: Any, vector: Any, pointer: Any, align: int, mask: Any) -> Any:
    kind = ir.FunctionType(vector, [pointer.type, ir.IntType(32), mask.type, vector])
    name = f"llvm.masked.load.{_vector_name(vector)}.p0"
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    zeros = ir.Constant(vector, None)
    return builder.call(function, [pointer, ir.Constant(ir.IntType(32), align), mask, zeros])


def _masked_store(builder: Any, value: Any, pointer: Any, align: int, mask: Any) -> None:
    types_ = [value.type, pointer.type, ir.IntType(32), mask.type]
    name = f"llvm.masked.store.{_vector_name(value.type)}.p0"
    kind = ir.FunctionType(ir.VoidType(), types_)
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    builder.call(function, [value, pointer, ir.Constant(ir.IntType(32), align), mask])


def _convert(builder: Any, value: Any, target: Any) -> Any:
    """Convert a vector between floating point types and integers."""
    source, wanted = str(value.type.element), str(target.element)
    if source == wanted:
        return value
    if source == "i16":
        return builder.sitofp(value, target)
    if wanted == "i16":
        return builder.fptosi(value, target)
    return (builder.fpext if wanted == "double" else builder.fptrunc)(value, target)


@intrinsic
def _load(typing_context, array, index, mask, like):
    def code(context, builder, sig, values):
        pointer = _element_pointer(context, builder, sig, values)
        number = context.get_data_type(sig.args[0].dtype)
        align = context.get_abi_sizeof(number)
        vector = ir.VectorType(number, LANES)
        loaded = _masked_load(builder, vector, pointer, align, values[2])
        return _convert(builder, loaded, context.get_value_type(sig.return_type))

    return Lanes(like, LANES)(array, index, mask, like), code


@intrinsic
def _store(typing_context, array, index, mask, value):
    def code(context, builder, sig, values):
        pointer = _element_pointer(context, builder, sig, values)
        number = context.get_data_type(sig.args[0].dtype)
        stored = _convert(builder, values[3], ir.VectorType(number, LANES))
        _masked_store(builder, stored, pointer, context.get_abi_sizeof(number), values[2])
        return context.get_dummy_value()

    return types.void(array, index, mask, value), code


@intrinsic
def _prefetch(typing_context, array, index):
    def code(context, builder, sig, values):
        pointer, number = _element_pointer(context, builder, sig, values), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        name = "llvm.prefetch.p0"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        pointer = builder.bitcast(pointer, kind.args[0])
        builder.call(function, [pointer, *(ir.Constant(number, k) for k in (0, 2, 1))])
        return context.get_dummy_value()

    return types.void(array, index), code


@intrinsic
def _fill(typing_context, value):
    def code(context, builder, sig, values):
        return _splat(builder, values[0], LANES)

    return Lanes(value, LANES)(value), code


@intrinsic
def _first_lanes(typing_context, count):
    def code(context, builder, sig, values):
        bound = _splat(builder, context.cast(builder, values[0], sig.args[0], types.int32), LANES)
        numbers = ir.Constant(ir.VectorType(ir.IntType(32), LANES), list(range(LANES)))
        return builder.icmp_signed("<", numbers, bound)

    return LaneMask(LANES)(count), code


@intrinsic
def _all_lanes(typing_context):
    def code(context, builder, sig, values):
        return ir.Constant(ir.VectorType(ir.IntType(1), LANES), [1] * LANES)

    return LaneMask(LANES)(), code


@intrinsic
def _select(typing_context, mask, if_true, if_false):
    def code(context, builder, sig, values):
        return builder.select(*values)

    return if_true(mask, if_true, if_false), code


@intrinsic
def _any_lane(typing_context, mask):
    def code(context, builder, sig, values):
        bits = builder.bitcast(values[0], ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(mask), code


@intrinsic
def _largest_lane(typing_context, value):
    def code(context, builder, sig, values):
        vector = values[0].type
        name = f"llvm.vector.reduce.fmax.{_vector_name(vector)}"
        kind = ir.FunctionType(vector.element, [vector])
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        return builder.call(function, [values[0]])

    return value.dtype(value), code


@intrinsic
def _transpose(typing_context, source, s, target, t):
    def code(context, builder, sig, values):
        kinds = sig.args
        vector = ir.VectorType(context.get_data_type(kinds[0].dtype), LANES)

        def row_pointers(array, index, k):
            kind, number = kinds[array], values[index]
            data = context.make_array(kind)(context, builder, values[array]).data
            start = context.cast(builder, number, kinds[index], types.intp)
            pointer = builder.gep(data, [builder.add(start, ir.Constant(start.type, LANES * k))])
            return builder.bitcast(pointer, vector.as_pointer())

        rows = []
        for k in range(LANES):
            row = builder.load(row_pointers(0, 1, k))
            row.align = 4
            rows.append(row)
        half, index = LANES // 2, ir.VectorType(ir.IntType(32), LANES)
        low = ir.Constant(index, [k // 2 + LANES * (k % 2) for k in range(LANES)])
        high = ir.Constant(index, [half + k // 2 + LANES * (k % 2) for k in range(LANES)])
        for _ in range(LANES.bit_length() - 1):
            pairs = [(rows[k], rows[k + half]) for k in range(half)]
            rows = [builder.shuffle_vector(*pair, by) for pair in pairs for by in (low, high)]
        for k in range(LANES):
            builder.store(rows[k], row_pointers(2, 3, k)).align = 4
        return context.get_dummy_value()

    return types.void(source, s, target, t), code


def _python_transpose(source: Any, s: int, target: Any, t: int) -> None:
    square = source.ravel()[int(s) : int(s) + LANES * LANES].reshape(LANES, LANES)
    target.ravel()[int(t) : int(t) + LANES * LANES] = square.T.ravel()


def _python_load(array: Any, index: int, mask: Any, like: Any) -> Any:
    numbers = np.zeros(LANES, type(like))
    numbers[: len(mask)] = array.ravel()[int(index) : int(index) + len(mask)]
    return numbers


def _python_store(array: Any, index: int, mask: Any, value: Any) -> None:
    array.ravel()[int(index) : int(index) + len(mask)] = value[: len(mask)]


IS_COMPILED = not getattr(config, "DISABLE_JIT", False)
# the numbers of `array` at a flat index, converted to the type of `like`
load = _load if IS_COMPILED else _python_load
# set the numbers of `array` at a flat index; to integers, they are cut off
store = _store if IS_COMPILED else _python_store
# ask for the number at a flat index, which may lie outside the array, to be brought into the cache
prefetch = _prefetch if IS_COMPILED else lambda array, index: None
# lanes that are all equal to a number
fill = _fill if IS_COMPILED else lambda value: np.full(LANES, value)
# masks of the first `count` lanes, and of all
first_lanes = _first_lanes if IS_COMPILED else lambda count: range(int(count))
all_lanes = _all_lanes if IS_COMPILED else lambda: range(LANES)
select = _select if IS_COMPILED else np.where
largest_lane = _largest_lane if IS_COMPILED else np.max
# write a square of LANES x LANES numbers at flat index s to flat index t, transposed
transpose = _transpose if IS_COMPILED else _python_transpose
any_lane = _any_lane if IS_COMPILED else np.any
