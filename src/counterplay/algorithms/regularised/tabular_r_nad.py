"""Regularised Nash dynamics on the whole tree, without networks or samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from counterplay.algorithms.game_requirements import (
    require_perfect_recall,
    require_two_player_zero_sum,
    utility_unit,
)
from counterplay.algorithms.regularised.logits import action_values, softmax
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.policy import Policy, uniform_policy
from counterplay.core.settings import Positive, PositiveInt, settings


@dataclass
class RNaDMemory:
    """The policy and the magnet, by sequence."""

    iteration: int
    policy: Floats  # [S]
    magnet: Floats  # [S]
    finished: ClassVar[bool] = False


@settings()
class TabularRNaD:
    """R-NaD (Perolat and others, 2021) with exact values. At t = 1, 2, ..., for both players:

        reward(I, a) = -temperature * log(policy(a) / magnet(a)) to the acting player, and minus
                       that to the other, in addition to the utilities of the game
        q(I, a)      = value of the action in that game, given that its infoset is reached
        policy       = policy * exp(eta * q), normalised

    for all infosets at once: replicator dynamics in discrete steps. Every `magnet_update_every`
    iterations (a stage) the magnet, uniform at first, becomes the policy. Within a stage the policy
    approaches the equilibrium of the transformed game; from stage to stage these equilibria
    approach a Nash equilibrium. eta and temperature refer to utilities divided by the game's scale.
    """

    eta: Positive = 0.2
    temperature: Positive = 0.2
    magnet_update_every: PositiveInt = 100
    normalize_utilities: bool = True  # divide utilities by the game's scale
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""

    def init(self, tree: TreeArena, seed: int = 0) -> RNaDMemory:
        require_two_player_zero_sum("tabular_r_nad", tree)
        require_perfect_recall("tabular_r_nad", tree)
        uniform = uniform_policy(tree).probabilities
        return RNaDMemory(0, uniform.copy(), uniform.copy())

    def step(self, tree: TreeArena, memory: RNaDMemory, iterations: int = 1) -> RNaDMemory:
        utility = tree.utility / utility_unit(tree, self.normalize_utilities)
        for _ in range(iterations):
            memory.iteration += 1
            log_ratio = np.log(memory.policy) - np.log(memory.magnet)
            rewards = accumulate_rewards(tree, -self.temperature * log_ratio)
            transformed = replace(tree, utility=utility + rewards)
            q = action_values(transformed, memory.policy)
            memory.policy = softmax(tree, np.log(memory.policy) + self.eta * q)
            if memory.iteration % self.magnet_update_every == 0:
                memory.magnet = memory.policy.copy()
        return memory

    def policies(self, tree: TreeArena, memory: RNaDMemory) -> dict[str, Policy]:
        return {"current": Policy(tree, memory.policy)}


def accumulate_rewards(tree: TreeArena, reward: Floats) -> Floats:
    """Return the sum of rewards of both players along the path to each terminal [Z, 2].

    The acting player receives `reward` [S] of its action and the other pays it. Rewards before an
    infoset are the same for all of its actions, so paying all rewards at the end changes no
    decision.
    """
    total = np.zeros((tree.num_nodes, 2))
    for first, last in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        parent, sequence = tree.parent[first:last], tree.incoming_sequence[first:last]
        gain = np.append(reward, 0.0)[sequence]  # the last entry is for -1, no sequence
        sign = np.where(tree.player[parent] == 0, 1.0, -1.0)
        total[first:last] = total[parent] + (sign * gain)[:, None] * np.array([1.0, -1.0])
    return total[tree.terminals]
