"""Kernels that count no references neither make arrays nor return any."""

from __future__ import annotations

import numpy as np
import pytest
from numba.core.errors import TypingError

from counterplay.kernels.runtime.jit import no_alloc_kernel


@no_alloc_kernel
def second(values):
    return values[1]


@no_alloc_kernel
def whole(values):
    return values


@no_alloc_kernel
def part(values):
    return values[0], values[1:]


@no_alloc_kernel
def allocate(values):
    return np.zeros(2)[0] + values[0]


def test_a_number_is_fine():
    assert second(np.array([1.0, 2.0])) == 2.0


@pytest.mark.parametrize("kernel", [whole, part])
def test_no_array_is_returned(kernel):
    """Its references would be counted wrongly, and its memory freed while in use."""
    with pytest.raises(Exception, match="is a no_alloc kernel: it cannot return an array"):
        kernel(np.ones(2))


def test_no_array_is_made():
    with pytest.raises(TypingError, match="zeros"):
        allocate(np.ones(2))
