"""Replicator dynamics, plain or projected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm


@dataclass
class ReplicatorMemory:
    mixture: Floats
    utility_range: float  # the range of the player's utilities


@settings()
class ReplicatorDynamics:
    """Replicator dynamics (Taylor and Jonker, 1978), in Euler steps. For each player:

        mixture(a) = mixture(a) * (1 + step_size / D * (u(a) - sum over b of mixture(b) u(b)))

    With utilities in a range of D. With `floor` > 0 these are projected replicator dynamics
    (Lanctot et al., 2017): after each step comes the nearest mixture with no probability below it.
    Actions at probability 0 stay there, and equilibria are fixed points: start elsewhere.
    """

    step_size: float = 0.1
    floor: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.step_size <= 1.0:
            raise ConfigError(
                f"replicator_dynamics: step_size is {self.step_size}, must be above 0 and at most 1"
            )
        if not 0.0 <= self.floor < 1.0:
            raise ConfigError(f"replicator_dynamics: floor is {self.floor}, must be in [0, 1)")

    def init(self, form: NormalForm, player: int, initial_mixture: Floats) -> ReplicatorMemory:
        if self.floor * initial_mixture.size >= 1.0:
            raise ConfigError(
                f"replicator_dynamics: floor is {self.floor}, too much for {initial_mixture.size} actions"
            )
        mixture = (
            project_to_simplex(initial_mixture, self.floor)
            if self.floor
            else initial_mixture.copy()
        )
        return ReplicatorMemory(mixture, float(form.utility_range[player]))

    def play(self, memory: ReplicatorMemory) -> Floats:
        return memory.mixture

    def observe(self, memory: ReplicatorMemory, values: Floats, played_mixture: Floats) -> None:
        mixture = memory.mixture
        growth = (values - mixture @ values) / memory.utility_range
        mixture = mixture * (1.0 + self.step_size * growth)
        memory.mixture = (
            project_to_simplex(mixture, self.floor) if self.floor else mixture / mixture.sum()
        )

    def average_weight(self, iteration: int) -> float:
        return 1.0


def project_to_simplex(point: Floats, floor: float) -> Floats:
    """The nearest mixture with no probability below `floor`, by Euclid's measure."""
    room = 1.0 - point.size * floor
    above = np.sort(point - floor)[::-1]
    excess = (np.cumsum(above) - room) / np.arange(1, point.size + 1)
    cut = excess[np.flatnonzero(above > excess)[-1]]
    return np.maximum(point - floor - cut, 0.0) + floor
