"""Points of curves to draw in a chart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from counterplay.core.arena import Floats


def select_points(
    x: Floats, curves: list[Floats], max_points: int, log_x: bool
) -> NDArray[np.int64]:
    """Return the indices of the points to draw: per pixel column, each curve's extremes.

    Columns are equally wide in x, or in log x. The first and last point are always included.

    Args:
        x: increasing values [n].
        curves: values [n] of each curve.
        max_points: about the number of points to return.
        log_x: whether the axis of x is logarithmic.
    """
    if x.size <= max_points:
        return np.arange(x.size)
    columns = max(max_points // (2 * max(len(curves), 1)), 1)
    position = np.log(np.maximum(x, 1e-9)) if log_x else x
    low, high = position[0], position[-1]
    width = max(high - low, 1e-300)
    with np.errstate(over="ignore"):  # a tiny range of x
        column = np.clip((position - low) / width * columns, 0, columns - 1).astype(np.int64)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    indices = [np.array([0, x.size - 1])]
    for curve in curves:
        order = np.lexsort((curve, column))
        indices += [order[starts], order[np.append(starts[1:], x.size) - 1]]
    return np.unique(np.concatenate(indices))
