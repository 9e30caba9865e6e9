"""Hedge, also called exponential or multiplicative weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm


@dataclass
class HedgeMemory:
    log_initial_mixture: Floats
    value_sum: Floats  # sum of the values seen
    utility_range: float  # D, the range of the player's utilities
    iteration: int = 0


@settings()
class Hedge:
    """Hedge (Freund and Schapire, 1997). At t = 1, 2, ..., for each player:

        mixture(a) is proportional to   start(a) * exp(eta_t * sum over k < t of u^k(a))
        eta_t = eta / D,   or sqrt(8 ln A / t) / D if eta is 0

    With utilities in a range of D. The fixed eta = sqrt(8 ln A / T) keeps regret per iteration
    below D * sqrt(ln A / (2 T)); the falling one below about D * (sqrt(2) * sqrt(ln A / T)).
    """

    eta: float = 0.0  # in units of one over the utility range; 0: falls with the iteration

    def __post_init__(self) -> None:
        if not 0.0 <= self.eta < np.inf:
            raise ConfigError(f"hedge: eta is {self.eta}, must be 0 or positive")

    def init(self, form: NormalForm, player: int, initial_mixture: Floats) -> HedgeMemory:
        with np.errstate(divide="ignore"):
            log_start = np.log(initial_mixture)
        return HedgeMemory(
            log_start, np.zeros(initial_mixture.size), float(form.utility_range[player])
        )

    def play(self, memory: HedgeMemory) -> Floats:
        count = memory.value_sum.size
        falling = np.sqrt(8.0 * np.log(count) / (memory.iteration + 1))
        eta = (self.eta or falling) / memory.utility_range
        exponent = memory.log_initial_mixture + eta * (memory.value_sum - memory.value_sum.max())
        weights = np.exp(exponent - exponent.max())
        return weights / weights.sum()

    def observe(self, memory: HedgeMemory, values: Floats, played_mixture: Floats) -> None:
        memory.iteration += 1
        memory.value_sum += values

    def average_weight(self, iteration: int) -> float:
        return 1.0
