"""The product of a dense tile of eight rows with a vector, as SIMD operations.

The compiler does not generate them by itself, because numba turns LLVM's vectoriser of straight
code off, and payoffs of trees consist of them: benchmarks/speed/sweep_layout.md has the speed-up.
Arrays are contiguous; indices are not checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config
from numba.core import types
from numba.extending import intrinsic

NUM_LANES = 8  # rows of a tile


@intrinsic
def _multiply_tile(typing_context, matrix, m, column, first, last, source, row, t, target):
    def code(context, builder, signature, values):
        kinds = signature.args

        def data(k: int) -> Any:
            return context.make_array(kinds[k])(context, builder, values[k]).data

        def number(k: int) -> Any:
            return context.cast(builder, values[k], kinds[k], types.uintp)

        def constant(value: int) -> Any:
            return ir.Constant(index_type, value)

        matrix_data, columns, source_data = data(0), data(2), data(5)
        start, first, last = number(1), number(3), number(4)
        index_type, lane_type = start.type, ir.IntType(32)
        lanes = ir.VectorType(lane_type, NUM_LANES)
        vector = ir.VectorType(ir.DoubleType(), NUM_LANES)
        undefined = ir.Constant(vector, ir.Undefined)
        entry, loop = builder.block, builder.append_basic_block("columns")
        end = builder.append_basic_block("end")
        builder.branch(loop)
        builder.position_at_end(loop)
        k, at, total = builder.phi(index_type), builder.phi(index_type), builder.phi(vector)
        sequence = builder.zext(builder.load(builder.gep(columns, [k])), index_type)
        factor = builder.load(builder.gep(source_data, [sequence]))
        factor = builder.insert_element(undefined, factor, ir.Constant(lane_type, 0))
        factor = builder.shuffle_vector(factor, undefined, ir.Constant(lanes, [0] * NUM_LANES))
        at_row = builder.gep(matrix_data, [builder.mul(at, constant(NUM_LANES))])
        weights = builder.load(builder.bitcast(at_row, vector.as_pointer()))
        weights.align = 8
        product = builder.fmul(weights, factor, flags=("contract",))
        sums = builder.fadd(total, product, flags=("contract",))
        next_k, next_at = builder.add(k, constant(1)), builder.add(at, constant(1))
        for phi, before, after in (
            (k, first, next_k),
            (at, start, next_at),
            (total, ir.Constant(vector, [0.0] * NUM_LANES), sums),
        ):
            phi.add_incoming(before, entry)
            phi.add_incoming(after, loop)
        builder.cbranch(builder.icmp_unsigned("<", next_k, last), loop, end)
        builder.position_at_end(end)
        rows, targets = data(6), data(8)
        at_tile = builder.mul(number(7), constant(NUM_LANES))
        for lane in range(NUM_LANES):
            index = builder.load(builder.gep(rows, [builder.add(at_tile, constant(lane))]))
            value = builder.extract_element(sums, ir.Constant(lane_type, lane))
            builder.store(value, builder.gep(targets, [builder.zext(index, index_type)]))
        return context.get_dummy_value()

    return types.void(matrix, m, column, first, last, source, row, t, target), code


def _python_multiply_tile(
    matrix: Any, m: int, column: Any, first: int, last: int, source: Any, row: Any, t: int, y: Any
) -> None:
    sums = np.zeros(NUM_LANES)
    for k in range(int(last) - int(first)):
        sums += matrix[int(m) + k] * source[column[int(first) + k]]
    y[row[t]] = sums


IS_COMPILED = not getattr(config, "DISABLE_JIT", False)
# target[row[t]] = sum over k from first to last of matrix[m + k - first] * source[column[k]], with
# unsigned columns and rows [., 8] of float64; at least one column; first to last, with fused
# multiply-add where the processor has it
multiply_tile = _multiply_tile if IS_COMPILED else _python_multiply_tile
