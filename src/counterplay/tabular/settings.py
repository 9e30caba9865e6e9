"""The hyper-parameters that the Monte Carlo CFR family shares, and their ranges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from counterplay.errors import ConfigError

Learner = tuple[float, float]  # lowest regret kept, rate of Hedge (0: regret matching)

DECAY = 0.5  # usual step of guesses that are decaying averages

RANGES: dict[str, tuple[Callable[[float], bool], str]] = {
    "epsilon": (lambda x: 0.0 < x <= 1.0, "above 0 and at most 1"),
    "tau": (lambda x: 1.0 <= x < np.inf, "at least 1 and finite"),
    "beta": (lambda x: 0.0 <= x < np.inf, "at least 0 and finite"),
    "decay": (lambda x: 0.0 < x <= 1.0, "above 0 and at most 1"),
    "alpha": (lambda x: 0.0 <= x < np.inf, "at least 0 and finite"),
    "gamma": (lambda x: 0.0 <= x < np.inf, "at least 0 and finite"),
    "eta": (lambda x: 0.0 <= x < np.inf, "at least 0 and finite"),
    "workers": (lambda x: 1 <= x <= 256, "from 1 to 256"),
    "player": (lambda x: x >= 0, "at least 0"),
}


def check(name: str, algorithm: Any) -> None:
    """Refuse hyper-parameters outside their ranges."""
    for field, (fits, allowed) in RANGES.items():
        value = getattr(algorithm, field, None)
        if value is not None and not fits(value):
            raise ConfigError(f"{name}: {field} is {value}, must be {allowed}")
    if getattr(algorithm, "plus", False) and getattr(algorithm, "eta", 0.0):
        raise ConfigError(f"{name}: plus is for regret matching; with Hedge (eta > 0) leave it out")
    if getattr(algorithm, "expected", False) and algorithm.decay != DECAY:
        raise ConfigError(
            f"{name}: decay is for guesses that are learned; with expected leave it out"
        )


def learner(algorithm: Any) -> Learner:
    """What infosets learn by, as the fields `plus` and `eta` say; regret matching without them."""
    plus = getattr(algorithm, "plus", False)
    return 0.0 if plus else -np.inf, float(getattr(algorithm, "eta", 0.0))
