"""Joint policies: correlated distributions over the policies of all players."""

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
from counterplay.core.evaluation import Judgement, judge
from counterplay.core.policy import Policy


@dataclass(frozen=True, eq=False)
class JointPolicy:
    """A correlation device: a distribution over joint policies of the pools.

    The device samples a joint policy and recommends to each player its own part. It is judged by
    the gains of deviating from the recommendations. A coarse deviation is chosen before the
    recommendation is known, others after it. `save`, `to_json` and `to_csv` write the policy in
    which every player samples independently from its own marginal.
    """

    arena: SequenceArena
    memory: Population = field(repr=False)
    joint: Floats = field(repr=False)  # [n_0, ..., n_{P-1}]
    coarse: bool  # whether it is judged by coarse deviations

    @cached_property
    def marginal_policy(self) -> Policy:
        """The policy in which every player mixes its pool by its own marginal."""
        if not self.joint.size:
            return policy_from_mixtures(self.arena, self.memory, [])
        return policy_from_mixtures(self.arena, self.memory, marginals(self.joint))

    @property
    def probabilities(self) -> Floats:
        """Action probabilities [S] of the marginal policy."""
        return self.marginal_policy.probabilities

    def judge(self, arena: SequenceArena) -> Judgement:
        """Return each player's value of following the device, and that of its best deviation."""
        if not self.joint.size:
            return judge(arena, self.marginal_policy)
        players = range(arena.num_players)
        shift = getattr(arena, "utility_shift", 0.0)  # payoffs are those of the zero-sum arena
        values = [float((self.memory.payoffs[p] * self.joint).sum()) + shift for p in players]
        best = [self._best_deviation_value(arena, player) for player in players]
        return Judgement(np.array(values), np.array(best))

    def _best_deviation_value(self, arena: SequenceArena, player: int) -> float:
        """Return the value of the player's best deviations."""
        total, oracle = 0.0, ExactResponse()
        for part in split_by_recommendation(self.joint, player, self.coarse):
            weight = float(part.sum())
            others = joint_opponents(arena, self.memory, player, part / weight)
            total += weight * oracle.respond(arena, player, others).value
        return total

    def __getitem__(self, key: str | tuple[int, str]) -> dict[str, float]:
        return self.marginal_policy[key]

    def save(self, path: str | Path) -> None:
        """Write the marginal policy to a policy file."""
        self.marginal_policy.save(path)

    def to_json(self, path: str | Path) -> None:
        """Write the marginal policy as JSON."""
        self.marginal_policy.to_json(path)

    def to_csv(self, path: str | Path) -> None:
        """Write the marginal policy as CSV."""
        self.marginal_policy.to_csv(path)


def split_by_recommendation(joint: Floats, player: int, coarse: bool) -> list[Floats]:
    """Split a joint distribution by the player's information when it deviates.

    A coarse deviation has no information, so the distribution stays whole. Otherwise there is one
    part for each policy that the device recommends to the player with positive probability.
    """
    if coarse:
        return [joint]
    parts = []
    for recommended in range(joint.shape[player]):
        cells = tuple(recommended if p == player else slice(None) for p in range(joint.ndim))
        part = np.zeros_like(joint)
        part[cells] = joint[cells]
        if part.sum() > 0.0:
            parts.append(part)
    return parts
