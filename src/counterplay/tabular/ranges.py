"""The ranges of hyper-parameters that several algorithms share, and the check of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from counterplay.errors import ConfigError

Range = tuple[Callable[[Any], bool], str]


def at_least(least: float) -> Range:
    return lambda x: x >= least, f"at least {least:g}"


FINITE: Range = (lambda x: 0.0 <= x < np.inf, "at least 0 and finite")
PART: Range = (lambda x: 0.0 < x <= 1.0, "above 0 and at most 1")
RANGES: dict[str, Range] = {
    **dict.fromkeys(("epsilon", "decay", "rate"), PART),
    **dict.fromkeys(("alpha", "beta", "gamma", "eta", "cooling", "rate_decay"), FINITE),
    **dict.fromkeys(("player", "n"), at_least(0)),
    **dict.fromkeys(("m", "replays", "capacity"), at_least(1)),
    "tau": (lambda x: 1.0 <= x < np.inf, "at least 1 and finite"),
    "temperature": (lambda x: 0.0 < x < np.inf, "positive and finite"),
    "workers": (lambda x: 1 <= x <= 256, "from 1 to 256"),
}


def check(name: str, algorithm: Any, ranges: Mapping[str, Range] = RANGES) -> None:
    """Refuse hyper-parameters outside their ranges; an algorithm has those of these it needs."""
    for field, (fits, allowed) in ranges.items():
        value = getattr(algorithm, field, None)
        if value is not None and not fits(value):
            raise ConfigError(f"{name}: {field} is {value}, must be {allowed}")
