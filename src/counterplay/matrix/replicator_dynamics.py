"""Replicator dynamics, plain or projected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Lt

from counterplay.core.arena import Floats
from counterplay.core.settings import PositiveProbability, settings
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm


@dataclass
class ReplicatorMemory:
    """The memory of one player."""

    mixture: Floats  # [A_i]
    utility_range: float  # D, the range of the player's utilities


@settings()
class ReplicatorDynamics:
    """Replicator dynamics (Taylor and Jonker, 1978), in Euler steps. For each player:

        mixture(a) = mixture(a) * (1 + step_size / D * (u(a) - sum over b of mixture(b) u(b)))

    where D is the range of the player's utilities. With `floor` > 0 these are projected replicator
    dynamics (Lanctot et al., 2017): each step ends with the projection onto the mixtures that have
    no probability below `floor`. Without a floor, actions of probability 0 keep it. Equilibria are
    fixed points, so learners must start from another profile.
    """

    step_size: PositiveProbability = 0.1
    floor: Annotated[float, Ge(0.0), Lt(1.0)] = 0.0  # least probability of an action

    def init(self, form: NormalForm, player: int, initial_mixture: Floats) -> ReplicatorMemory:
        if self.floor * initial_mixture.size >= 1.0:
            raise ConfigError(
                f"replicator_dynamics: floor is {self.floor}, too much for {initial_mixture.size} "
                "actions"
            )
        mixture = initial_mixture.copy()
        if self.floor:
            mixture = project_to_simplex(initial_mixture, self.floor)
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
    """Return the mixture nearest to a point, in Euclidean distance, with no entry below `floor`."""
    total = 1.0 - point.size * floor
    above = np.sort(point - floor)[::-1]
    excess = (np.cumsum(above) - total) / np.arange(1, point.size + 1)
    cut = excess[np.flatnonzero(above > excess)[-1]]
    return np.maximum(point - floor - cut, 0.0) + floor
