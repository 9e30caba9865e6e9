"""The ranges of hyper-parameters that several algorithms share, and the check of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from counterplay.errors import ConfigError

FieldBound = tuple[Callable[[Any], bool], str]


def at_least(minimum: float) -> FieldBound:
    return lambda x: x >= minimum, f"at least {minimum:g}"


NON_NEGATIVE: FieldBound = (lambda x: 0.0 <= x < np.inf, "at least 0 and finite")
FRACTION: FieldBound = (lambda x: 0.0 < x <= 1.0, "above 0 and at most 1")
SHARED_BOUNDS: dict[str, FieldBound] = {
    **dict.fromkeys(("epsilon", "baseline_decay", "learning_rate"), FRACTION),
    **dict.fromkeys(
        ("alpha", "beta", "gamma", "hedge_eta", "temperature_decay", "learning_rate_decay"),
        NON_NEGATIVE,
    ),
    **dict.fromkeys(("player", "num_self_play_episodes"), at_least(0)),
    **dict.fromkeys(("num_response_episodes", "num_replays", "replay_buffer_size"), at_least(1)),
    "tau": (lambda x: 1.0 <= x < np.inf, "at least 1 and finite"),
    "temperature": (lambda x: 0.0 < x < np.inf, "positive and finite"),
    "num_workers": (lambda x: 1 <= x <= 256, "from 1 to 256"),
}


def check_bounds(
    name: str, algorithm: Any, bounds: Mapping[str, FieldBound] = SHARED_BOUNDS
) -> None:
    """Refuse hyper-parameters outside their ranges; an algorithm has those of these it needs."""
    for field, (fits, allowed) in bounds.items():
        value = getattr(algorithm, field, None)
        if value is not None and not fits(value):
            raise ConfigError(f"{name}: {field} is {value}, must be {allowed}")
