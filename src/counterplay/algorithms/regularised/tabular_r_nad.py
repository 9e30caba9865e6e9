"""Regularised Nash dynamics on the whole tree, without networks or samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from counterplay.algorithms.regularised.mmd import softmax
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.evaluation import infoset_values
from counterplay.core.field_bounds import FieldBound, at_least, check_bounds
from counterplay.core.policy import Policy, uniform_policy
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

POSITIVE: FieldBound = (lambda x: 0.0 < x < np.inf, "positive and finite")
BOUNDS: dict[str, FieldBound] = {
    "eta": POSITIVE,
    "temperature": POSITIVE,
    "magnet_update_every": at_least(1),
}


@dataclass
class RNaDMemory:
    """S sequences."""

    iteration: int
    policy: Floats  # [S]
    magnet: Floats  # [S]
    finished: ClassVar[bool] = False


@settings()
class TabularRNaD:
    """R-NaD (Perolat and others, 2021) with exact values. At t = 1, 2, ..., for both players:

        reward(I, a) = -tau * log(policy(a) / magnet(a)) to the one who acts, the opposite to the
                       other, besides what the game pays
        q(I, a)      = value of the action in that game, given that its infoset is reached
        policy       = policy * exp(eta * q), scaled to sum to one

    for all infosets at once: replicator dynamics in discrete steps. Every `stage` iterations the
    magnet, uniform at first, becomes the policy. Within a stage the policy approaches the
    equilibrium of the transformed game; from stage to stage that approaches a Nash equilibrium.
    """

    eta: float = 0.1
    temperature: float = 0.5
    magnet_update_every: int = 100
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_bounds("tabular_r_nad", self, BOUNDS)

    def init(self, tree: TreeArena, seed: int = 0) -> RNaDMemory:
        if tree.num_players != 2 or not tree.is_zero_sum:
            problem = "needs a two-player zero-sum game"
            raise ConfigError(f"tabular_r_nad {problem}, unlike {tree.spec}")
        if not tree.has_perfect_recall:
            raise ConfigError(f"tabular_r_nad needs perfect recall; {tree.spec} forgets")
        start = uniform_policy(tree).probabilities
        return RNaDMemory(0, start.copy(), start.copy())

    def step(self, tree: TreeArena, memory: RNaDMemory, iterations: int = 1) -> RNaDMemory:
        for _ in range(iterations):
            memory.iteration += 1
            ratio = np.log(memory.policy) - np.log(memory.magnet)
            changed = replace(
                tree, utility=tree.utility + accumulate_rewards(tree, -self.temperature * ratio)
            )
            q = infoset_values(changed, Policy(changed, memory.policy)).action_value
            memory.policy = softmax(tree, np.log(memory.policy) + self.eta * q)
            if memory.iteration % self.magnet_update_every == 0:
                memory.magnet = memory.policy.copy()
        return memory

    def policies(self, tree: TreeArena, memory: RNaDMemory) -> dict[str, Policy]:
        return {"current": Policy(tree, memory.policy)}


def accumulate_rewards(tree: TreeArena, reward: Floats) -> Floats:
    """What both players have earned at each terminal [Z, 2] when actions earn `reward` [S].

    The one who acts gets it, the other pays it. Rewards before an infoset are the same for all of
    its actions and decide nothing, so they may as well be paid at the end.
    """
    earned = np.zeros((tree.num_nodes, 2))
    for first, last in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        parent, sequence = tree.parent[first:last], tree.incoming_sequence[first:last]
        gain = np.append(reward, 0.0)[sequence]  # the last entry serves the number -1
        sign = np.where(tree.player[parent] == 0, 1.0, -1.0)
        earned[first:last] = earned[parent] + (sign * gain)[:, None] * np.array([1.0, -1.0])
    return earned[tree.terminals]
