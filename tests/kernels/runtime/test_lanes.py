"""Vectors of 16 numbers, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from counterplay.kernels.runtime.jit import noinline_kernel
from counterplay.kernels.runtime.lanes import (
    LANES,
    all_lanes,
    any_lane,
    fill,
    first_lanes,
    largest_lane,
    load,
    select,
    store,
    transpose,
)


@noinline_kernel
def combine(source, target, count):
    """Add 2 * the positive part of `source` to the first `count` numbers of `target`."""
    like = target.dtype.type(0)
    mask = first_lanes(count)
    x = load(source, 1, mask, like)
    zero = fill(like)
    positive = select(x > zero, x, zero)
    store(target, 1, mask, load(target, 1, mask, like) + positive + positive)
    return largest_lane(positive), any_lane(x < zero)


@noinline_kernel
def transpose_square(source, target):
    transpose(source, 0, target, 0)


@noinline_kernel
def copy_row(source, target):
    store(target, 0, all_lanes(), load(source, 0, all_lanes(), source.dtype.type(0)))


@pytest.mark.parametrize("count", [1, 13, LANES])
def test_masked_lanes_leave_the_other_numbers_alone(count):
    source = np.arange(LANES + 2).astype(np.int16) - 5
    target = np.ones(LANES + 2, np.float32)
    expected = target.copy()
    used = slice(1, 1 + count)
    expected[used] += 2 * np.maximum(source[used], 0)
    largest, is_negative = combine(source, target, count)
    np.testing.assert_array_equal(target, expected)
    assert largest == max(0, source[used].max())
    assert is_negative


def test_transposed_square():
    square = np.arange(LANES * LANES, dtype=np.float32).reshape(LANES, LANES)
    target = np.zeros_like(square)
    transpose_square(square, target)
    np.testing.assert_array_equal(target, square.T)


def test_numbers_are_cut_off_to_integers():
    target = np.zeros(LANES, np.int16)
    copy_row(np.linspace(-3.7, 3.7, LANES), target)
    np.testing.assert_array_equal(target, np.trunc(np.linspace(-3.7, 3.7, LANES)))
