"""The numbers of a schedule of the CFR family, one row per iteration: see `regret`."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplay.arena import Floats
from counterplay.solving import Memory


def next_iterations(memory: Memory, count: int) -> Floats:
    """The iterations t = 1, 2, ... that the next `count` will be."""
    return np.arange(memory.iteration + 1.0, memory.iteration + 1.0 + count)


def discounts(
    arena: Any,
    t: Floats,
    positive: Floats | float,
    negative: Floats | float,
    prediction: float = 0.0,
) -> tuple[Floats, ...]:
    """The factors p_t, n_t and m_t of iterations t [T, 3], and what counts as zero [S]."""
    return columns(t, positive, negative, prediction), arena.rounding


def columns(t: Floats, *values: Floats | float) -> Floats:
    """One row per iteration, one column per value; a value may depend on the iteration or not."""
    table = np.empty((t.size, len(values)))
    for column, value in enumerate(values):
        table[:, column] = value
    return table
