"""References to records between kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterplay.kernels.runtime.jit import outlined_row_kernel
from counterplay.kernels.runtime.references import dereference, reference, reference_item


class Record(NamedTuple):
    numbers: Any
    factor: float


@outlined_row_kernel
def scale(record):
    """Multiply the numbers of a record, or of a reference to one, by its factor."""
    record = dereference(record)
    for i in range(record.numbers.size):
        record.numbers[i] *= record.factor


@outlined_row_kernel
def scale_all(records):
    scale(reference(records[0]))
    by_records = reference(records)
    for k in range(len(records)):
        scale(reference(reference_item(by_records, k)))


def test_records_are_passed_by_value_and_by_reference():
    first, second = Record(np.ones(3), 2.0), Record(np.ones(2), 5.0)
    scale_all((first, second))
    np.testing.assert_array_equal(first.numbers, [4.0, 4.0, 4.0])
    np.testing.assert_array_equal(second.numbers, [5.0, 5.0])
    scale(second)
    np.testing.assert_array_equal(second.numbers, [25.0, 25.0])
