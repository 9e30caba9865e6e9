"""Bounds of hyper-parameters by field name, for the deep algorithms.

Other algorithms state bounds in their annotations: see `counterplay.core.settings`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from counterplay.errors import ConfigError

FieldBound = tuple[Callable[[Any], bool], str]


def at_least(minimum: float) -> FieldBound:
    """Return the bound "at least `minimum`"."""
    return lambda x: x >= minimum, f"at least {minimum:g}"


NON_NEGATIVE: FieldBound = (lambda x: 0.0 <= x < np.inf, "at least 0 and finite")
FRACTION: FieldBound = (lambda x: 0.0 < x <= 1.0, "above 0 and at most 1")


def check_bounds(name: str, algorithm: Any, bounds: Mapping[str, FieldBound]) -> None:
    """Raise ConfigError if a field that the algorithm has is outside its bound."""
    for field, (fits, allowed) in bounds.items():
        value = getattr(algorithm, field, None)
        if value is not None and not fits(value):
            raise ConfigError(f"{name}: {field} is {value}, must be {allowed}")
