"""A device that draws everybody's policies together, and what players gain by not following it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from counterplay.arena import Floats, SequenceArena
from counterplay.evaluate import Judgement
from counterplay.policy import Policy
from counterplay.population.loop import joint_opponents
from counterplay.population.meta_solvers import marginals
from counterplay.population.oracles import ExactResponse
from counterplay.population.pools import Population, mixed_policy


@dataclass(frozen=True, eq=False)
class JointPolicy:
    """A distribution over joint policies of the pools.

    It is judged as a whole: what each player would gain by not following the device, if it must
    decide before it hears from it (`coarse`), or may still after that. What it saves, exports and
    plays is `separate`: everybody draws its own part alone.
    """

    tree: SequenceArena
    memory: Population = field(repr=False)
    joint: Floats = field(repr=False)  # [n_0, ..., n_{P-1}]
    coarse: bool

    @cached_property
    def separate(self) -> Policy:
        """The policy in which every player follows its own part of the device, alone."""
        if not self.joint.size:
            return mixed_policy(self.tree, self.memory, [])
        return mixed_policy(self.tree, self.memory, marginals(self.joint))

    @property
    def probabilities(self) -> Floats:
        """Those of `separate` [S]."""
        return self.separate.probabilities

    def judged(self, arena: SequenceArena) -> Judgement:
        """What everybody gets by following the device, and by the best deviation from it."""
        if not self.joint.size:
            from counterplay.evaluate import judge

            return judge(arena, self.separate)
        players = range(arena.num_players)
        values = np.array([float((self.memory.payoffs[p] * self.joint).sum()) for p in players])
        best = [self._best(arena, player) for player in players]
        return Judgement(values, np.array(best))

    def _best(self, arena: SequenceArena, player: int) -> float:
        """What the player's best deviations earn."""
        total, oracle = 0.0, ExactResponse()
        for part in recommended(self.joint, player, self.coarse):
            weight = float(part.sum())
            others = joint_opponents(arena, self.memory, player, part / weight)
            total += weight * oracle.respond(arena, player, others).value
        return total

    def __getitem__(self, key: str | tuple[int, str]) -> dict[str, float]:
        return self.separate[key]

    def save(self, path: str | Path) -> None:
        """Write `separate` to one file."""
        self.separate.save(path)

    def to_json(self, path: str | Path) -> None:
        """Write `separate` as JSON."""
        self.separate.to_json(path)

    def to_csv(self, path: str | Path) -> None:
        """Write `separate` as CSV."""
        self.separate.to_csv(path)


def recommended(joint: Floats, player: int, coarse: bool) -> list[Floats]:
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
