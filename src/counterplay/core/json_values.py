"""Values that JSON can represent."""

from __future__ import annotations

import math


def replace_non_finite(value: object) -> object:
    """Return a JSON value with None in place of NaN and infinities, which JSON does not have.

    Example:
        >>> replace_non_finite({"low": float("-inf"), "values": (1.0, float("nan"))})
        {'low': None, 'values': [1.0, None]}
    """
    if isinstance(value, dict):
        return {key: replace_non_finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [replace_non_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
