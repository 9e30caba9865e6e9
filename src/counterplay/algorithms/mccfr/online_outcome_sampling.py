"""Online outcome sampling: one player learns from its own observations of episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterplay.algorithms.mccfr.engine import (
    MonteCarloCFR,
    SamplingArena,
    SamplingMemory,
    Traversal,
)
from counterplay.algorithms.mccfr.memory import TreeSamplingMemory
from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.evaluation import check_same_game
from counterplay.core.policy import Policy, load_policy
from counterplay.core.settings import (
    NonNegative,
    NonNegativeInt,
    PositiveProbability,
    settings,
)
from counterplay.errors import ConfigError
from counterplay.kernels.sampling import episodes


@settings()
class OnlineOutcomeSampling(MonteCarloCFR):
    """Outcome sampling for one learner (Lanctot and others, 2009). At t = 1, 2, ... one episode:

        regret     = regret + ([a = a'] - policy(a')) * own(ha', z) * u(z) / Q(z)
        policy_sum = policy_sum + t**gamma * own(h) / Q(h) * policy
        policy     = regret_matching(regret)

    where a' is the action taken, own(ha', z) the learner's probability of its later actions, and Q
    its probability of sampling: epsilon of uniform play, the policy otherwise. The opponents are
    fixed. Their policy is sampled but enters no formula, so the learner needs only its own infosets
    and payoffs; the average tends to a best response. `OnlineLearner` is the same learner for
    environments without a tree.

    The policy returned holds the opponents' policy at their infosets. Its exploitability says
    little; the remaining regret of the learner is `judge(tree, policy).best_values - values` at its
    index.
    """

    player: NonNegativeInt = 0  # the learner
    opponents: Any = ""  # a `Policy` or the path of one; empty: uniform play
    epsilon: PositiveProbability = 0.6  # weight of uniform play in the learner's sampling
    gamma: NonNegative = 0.0  # iteration t has weight t**gamma in the average

    def traversal(self) -> Traversal:
        arguments = float(self.epsilon), self.player
        return Traversal(episodes.online_sampling, float(self.gamma), arguments)

    def init(self, arena: SamplingArena, seed: int = 0) -> SamplingMemory:
        """Return a memory with zero regrets, the uniform policy and the opponents' policy."""
        if self.player >= arena.num_players:
            raise ConfigError(
                f"online_outcome_sampling: player is {self.player}, must be from 0 to "
                f"{arena.num_players - 1}"
            )
        if isinstance(arena, RulesArena) and self.opponents:
            raise ConfigError(
                "online_outcome_sampling: opponents need a tree; on sampled rules leave them out "
                "(uniform play) or use OnlineLearner"
            )
        memory = super().init(arena, seed)
        if isinstance(arena, TreeArena) and self.opponents:
            assert isinstance(memory, TreeSamplingMemory)
            is_path = isinstance(self.opponents, str)
            policy = load_policy(self.opponents, arena) if is_path else self.opponents
            check_same_game(arena, policy)
            is_opponent = ~self._is_learner(arena)
            current = memory.policy[0, : arena.num_sequences]
            current[is_opponent] = policy.probabilities[is_opponent]
        return memory

    def policies(self, arena: SamplingArena, memory: SamplingMemory) -> Mapping[str, Any]:
        """Return the learner's policies, with the opponents' policy at their infosets."""
        policies = super().policies(arena, memory)
        if isinstance(arena, TreeArena):
            average, current = (policy.probabilities for policy in policies.values())
            probabilities = np.where(self._is_learner(arena), average, current)
            return {**policies, "average": Policy(arena, probabilities)}
        return policies

    def _is_learner(self, tree: TreeArena) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return True for the sequences of the learner [S]."""
        return np.repeat(tree.infoset_player == self.player, tree.num_actions)


@dataclass
class OnlineLearner:
    """A learner that is given only its own infosets and payoffs, for play against any opponents.

    Args:
        epsilon: weight of uniform play in its sampling; positive and at most 1.
        seed: of its random numbers.
        regret: accumulated regrets by infoset key.
        policy_sum: weighted sums of policies by infoset key.

    Example:
        >>> learner = OnlineLearner(seed=0)
        >>> for _ in range(200):
        ...     action = learner.act("Q:", ["pass", "bet"])  # at every decision, an index
        ...     learner.finish(utility=1.0 if action == 1 else -1.0)  # after every episode
        >>> bool(learner.policy("Q:")[1] > 0.9)
        True
    """

    epsilon: float = 0.6
    seed: int = 0
    regret: dict[str, Floats] = field(default_factory=dict)
    policy_sum: dict[str, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.0 < self.epsilon <= 1.0:
            raise ConfigError(
                f"OnlineLearner: epsilon is {self.epsilon}, must be positive and at most 1"
            )
        self.rng = np.random.default_rng(self.seed)
        self.path: list[tuple[str, Floats, int]] = []  # infoset key, policy there, action taken

    def policy(self, key: str) -> Floats:
        """Return the current policy at a visited infoset, by regret matching."""
        positive = np.maximum(self.regret[key], 0.0)
        total = positive.sum()
        return positive / total if total > 0.0 else np.full(positive.size, 1.0 / positive.size)

    def average(self, key: str) -> Floats:
        """Return the average policy at a visited infoset."""
        return self.policy_sum[key] / self.policy_sum[key].sum()

    def act(self, key: str, actions: Sequence[object]) -> int:
        """Return the index of the action to take at an infoset."""
        size = len(actions)
        self.regret.setdefault(key, np.zeros(size))
        policy = self.policy(key)
        action = int(self.rng.choice(size, p=self.epsilon / size + (1.0 - self.epsilon) * policy))
        self.path.append((key, policy, action))
        return action

    def finish(self, utility: float) -> None:
        """Learn from the episode that has ended with a utility to the learner."""
        own_reach = sampling_reach = 1.0
        for key, policy, action in self.path:
            weighted = own_reach / sampling_reach * policy
            self.policy_sum[key] = self.policy_sum.get(key, np.zeros(policy.size)) + weighted
            own_reach *= policy[action]
            sampling_reach *= self.epsilon / policy.size + (1.0 - self.epsilon) * policy[action]
        later_reach = 1.0
        for key, policy, action in reversed(self.path):
            gain = later_reach * utility / sampling_reach
            self.regret[key] = self.regret[key] - policy[action] * gain
            self.regret[key][action] += gain
            later_reach *= policy[action]
        self.path.clear()
