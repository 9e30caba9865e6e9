"""The ranges of hyper-parameters that several sampling algorithms share, and the check of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from counterplay.errors import ConfigError

Range = tuple[Callable[[float], bool], str]


def _from(least: float) -> Range:
    return lambda x: x >= least, f"at least {least:g}"


_FINITE: Range = (lambda x: 0.0 <= x < np.inf, "at least 0 and finite")
_PART: Range = (lambda x: 0.0 < x <= 1.0, "above 0 and at most 1")
RANGES: dict[str, Range] = {
    **dict.fromkeys(("epsilon", "decay", "rate"), _PART),
    **dict.fromkeys(("alpha", "beta", "gamma", "eta", "cooling", "rate_decay"), _FINITE),
    **dict.fromkeys(("player", "n"), _from(0)),
    **dict.fromkeys(("m", "replays", "capacity"), _from(1)),
    "tau": (lambda x: 1.0 <= x < np.inf, "at least 1 and finite"),
    "temperature": (lambda x: 0.0 < x < np.inf, "positive and finite"),
    "workers": (lambda x: 1 <= x <= 256, "from 1 to 256"),
}


def check(name: str, algorithm: Any) -> None:
    """Refuse hyper-parameters outside their ranges; an algorithm has those of these it needs."""
    for field, (fits, allowed) in RANGES.items():
        value = getattr(algorithm, field, None)
        if value is not None and not fits(value):
            raise ConfigError(f"{name}: {field} is {value}, must be {allowed}")
