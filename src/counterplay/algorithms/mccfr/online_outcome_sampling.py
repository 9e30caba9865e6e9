"""Online outcome sampling: one player learns from what it sees of its own episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterplay.algorithms.mccfr import engine
from counterplay.algorithms.mccfr.engine import MonteCarloCFR
from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.evaluation import check_same_game
from counterplay.core.policy import Policy, load_policy
from counterplay.core.settings import settings
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
    fixed. Their policy decides what happens and enters no formula, so that the learner needs its
    own infosets and payoffs only; the average tends to a best response. `OnlineLearner` is the same
    for a world that cannot be put into a tree.

    The policy returned holds the opponents' own at their infosets. Exploitability then says little:
    what the learner still lacks is `judge(tree, policy).best_values - values` at its place.
    """

    player: int = 0  # who learns
    opponents: Any = ""  # a `Policy` or the file of one; empty: they play uniformly
    epsilon: float = 0.6  # uniform part of what the learner plays
    gamma: float = 0.0  # iteration t counts t**gamma times in the average

    def __post_init__(self) -> None:
        engine.check_parameters("online_outcome_sampling", self)

    def init(self, arena: TreeArena | RulesArena, seed: int = 0) -> Any:
        if self.player >= arena.num_players:
            allowed = f"must be from 0 to {arena.num_players - 1}"
            raise ConfigError(f"online_outcome_sampling: player is {self.player}, {allowed}")
        memory = engine.new_memory(arena, seed, num_workers=1)
        if isinstance(arena, RulesArena):
            if self.opponents:
                raise ConfigError(
                    "online_outcome_sampling: opponents need a tree; on sampled rules leave "
                    "them out (uniform play) or use OnlineLearner"
                )
            return memory
        if self.opponents:
            given = self.opponents
            fixed = load_policy(given, arena) if isinstance(given, str) else given
            check_same_game(arena, fixed)
            theirs = np.repeat(arena.infoset_player != self.player, arena.num_actions)
            memory.policy[0, : arena.num_sequences][theirs] = fixed.probabilities[theirs]
        return memory

    def step(self, arena: TreeArena | RulesArena, memory: Any, iterations: int = 1) -> Any:
        kernel, power = episodes.online_sampling, float(self.gamma)
        settings = float(self.epsilon), self.player
        return engine.iterate(self, arena, memory, iterations, kernel, power, *settings)

    def policies(self, arena: TreeArena | RulesArena, memory: Any) -> Mapping[str, Any]:
        """The learner's policies beside the opponents' own."""
        found = super().policies(arena, memory)
        if isinstance(arena, TreeArena):
            mine = np.repeat(arena.infoset_player == self.player, arena.num_actions)
            learned, now = (policy.probabilities for policy in found.values())
            return {**found, "average": Policy(arena, np.where(mine, learned, now))}
        return found


@dataclass
class OnlineLearner:
    """The same learner for play against anybody: it is told its infosets and its payoff only.

    learner = OnlineLearner(seed=0)
    action = learner.act("Q:", ["pass", "bet"])     whenever it is to act, by index
    learner.finish(utility)                         when the episode is over
    """

    epsilon: float = 0.6
    seed: int = 0
    regret: dict[str, Floats] = field(default_factory=dict)
    policy_sum: dict[str, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        engine.check_parameters("OnlineLearner", self)
        self.rng = np.random.default_rng(self.seed)
        self.path: list[tuple[str, Floats, int]] = []  # infoset key, policy there, action taken

    def policy(self, key: str) -> Floats:
        """What regret matching plays now at an infoset met before."""
        positive = np.maximum(self.regret[key], 0.0)
        total = positive.sum()
        return positive / total if total > 0.0 else np.full(positive.size, 1.0 / positive.size)

    def average(self, key: str) -> Floats:
        """The average policy at an infoset met before."""
        return self.policy_sum[key] / self.policy_sum[key].sum()

    def act(self, key: str, actions: Sequence[object]) -> int:
        """The index of the action to take."""
        size = len(actions)
        self.regret.setdefault(key, np.zeros(size))
        policy = self.policy(key)
        action = int(self.rng.choice(size, p=self.epsilon / size + (1.0 - self.epsilon) * policy))
        self.path.append((key, policy, action))
        return action

    def finish(self, utility: float) -> None:
        """Learn from the episode, which was worth `utility` to the learner."""
        own = sampled = 1.0
        for key, policy, action in self.path:
            added = own / sampled * policy
            self.policy_sum[key] = self.policy_sum.get(key, np.zeros(policy.size)) + added
            own *= policy[action]
            sampled *= self.epsilon / policy.size + (1.0 - self.epsilon) * policy[action]
        later = 1.0
        for key, policy, action in reversed(self.path):
            gain = later * utility / sampled
            self.regret[key] = self.regret[key] - policy[action] * gain
            self.regret[key][action] += gain
            later *= policy[action]
        self.path.clear()
