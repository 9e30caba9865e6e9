"""Hedge, also called exponential or multiplicative weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.settings import NonNegative, settings
from counterplay.matrix.normal_form import NormalForm


@dataclass
class HedgeMemory:
    """The memory of one player."""

    log_initial_mixture: Floats  # [A_i]
    value_sum: Floats  # [A_i] sum of the observed values
    utility_range: float  # D, the range of the player's utilities
    iteration: int = 0


@settings()
class Hedge:
    """Hedge (Freund and Schapire, 1997). At t = 1, 2, ..., for each player:

        mixture(a) is proportional to   initial(a) * exp(eta_t * sum over k < t of u^k(a))
        eta_t = eta / D,   or sqrt(8 ln A / t) / D if eta is 0

    where D is the range of the player's utilities. The constant eta = sqrt(8 ln A / T) keeps regret
    per iteration below D * sqrt(ln A / (2 T)); the decreasing one below about
    D * (sqrt(2) * sqrt(ln A / T)).
    """

    eta: NonNegative = 0.0  # in units of 1 / D; 0: decreases with the iteration

    def init(self, form: NormalForm, player: int, initial_mixture: Floats) -> HedgeMemory:
        with np.errstate(divide="ignore"):
            log_mixture = np.log(initial_mixture)
        utility_range = float(form.utility_range[player])
        return HedgeMemory(log_mixture, np.zeros(initial_mixture.size), utility_range)

    def play(self, memory: HedgeMemory) -> Floats:
        count = memory.value_sum.size
        decreasing_eta = np.sqrt(8.0 * np.log(count) / (memory.iteration + 1))
        eta = (self.eta or decreasing_eta) / memory.utility_range
        exponent = memory.log_initial_mixture + eta * (memory.value_sum - memory.value_sum.max())
        weights = np.exp(exponent - exponent.max())
        return weights / weights.sum()

    def observe(self, memory: HedgeMemory, values: Floats, played_mixture: Floats) -> None:
        memory.iteration += 1
        memory.value_sum += values

    def average_weight(self, iteration: int) -> float:
        return 1.0
