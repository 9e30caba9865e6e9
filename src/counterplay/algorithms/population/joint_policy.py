"""A device that draws everybody's policies together, and what players gain by not following it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from counterplay.algorithms.population.meta_solvers import marginals
from counterplay.algorithms.population.oracles import ExactResponse
from counterplay.algorithms.population.population import Population, policy_from_mixtures
from counterplay.algorithms.population.psro_loop import joint_opponents
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.evaluation import Judgement
from counterplay.core.policy import Policy


@dataclass(frozen=True, eq=False)
class JointPolicy:
    """A distribution over joint policies of the pools.

    It is judged as a whole: what each player would gain by not following the device, if it must
    decide before it hears from it (`coarse`), or may still after that. What it saves, exports and
    plays is `separate`: everybody draws its own part alone.
    """

    arena: SequenceArena
    memory: Population = field(repr=False)
    joint: Floats = field(repr=False)  # [n_0, ..., n_{P-1}]
    coarse: bool

    @cached_property
    def marginal_policy(self) -> Policy:
        """The policy in which every player follows its own part of the device, alone."""
        if not self.joint.size:
            return policy_from_mixtures(self.arena, self.memory, [])
        return policy_from_mixtures(self.arena, self.memory, marginals(self.joint))

    @property
    def probabilities(self) -> Floats:
        """Those of `separate` [S]."""
        return self.marginal_policy.probabilities

    def judge(self, arena: SequenceArena) -> Judgement:
        """What everybody gets by following the device, and by the best deviation from it."""
        if not self.joint.size:
            from counterplay.core.evaluation import judge

            return judge(arena, self.marginal_policy)
        players = range(arena.num_players)
        values = np.array([float((self.memory.payoffs[p] * self.joint).sum()) for p in players])
        best = [self._best_deviation_value(arena, player) for player in players]
        return Judgement(values, np.array(best))

    def _best_deviation_value(self, arena: SequenceArena, player: int) -> float:
        """What the player's best deviations earn."""
        total, oracle = 0.0, ExactResponse()
        for part in split_by_recommendation(self.joint, player, self.coarse):
            weight = float(part.sum())
            others = joint_opponents(arena, self.memory, player, part / weight)
            total += weight * oracle.respond(arena, player, others).value
        return total

    def __getitem__(self, key: str | tuple[int, str]) -> dict[str, float]:
        return self.marginal_policy[key]

    def save(self, path: str | Path) -> None:
        """Write `separate` to one file."""
        self.marginal_policy.save(path)

    def to_json(self, path: str | Path) -> None:
        """Write `separate` as JSON."""
        self.marginal_policy.to_json(path)

    def to_csv(self, path: str | Path) -> None:
        """Write `separate` as CSV."""
        self.marginal_policy.to_csv(path)


def split_by_recommendation(joint: Floats, player: int, coarse: bool) -> list[Floats]:
    """The table, by what the player knows when it deviates: nothing, or its own policy."""
    if coarse:
        return [joint]
    found = []
    for own in range(joint.shape[player]):
        place = tuple(own if p == player else slice(None) for p in range(joint.ndim))
        part = np.zeros_like(joint)
        part[place] = joint[place]
        if part.sum() > 0.0:
            found.append(part)
    return found
