"""One seat of a game as a Gymnasium environment, and the exact value of agents trained in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from counterplay.core.evaluation import check_same_game, judge
from counterplay.core.game import State
from counterplay.core.policy import Policy, require_tree
from counterplay.errors import ConfigError
from counterplay.interop.env_arrays import (
    ActionMask,
    EnvArrays,
    Observation,
    missing_extra_error,
)
from counterplay.play.episodes import play_from

try:
    import gymnasium
    from gymnasium import spaces
except ModuleNotFoundError as error:
    raise missing_extra_error("rl", "Gymnasium") from error

# (observation [X], mask [A]) -> an action, or probabilities [A]
AgentFunction = Callable[[Observation, ActionMask], ArrayLike]
Info = dict[str, Any]  # as Gymnasium declares it
StepResult = tuple[Observation, float, bool, bool, Info]


class BestResponseEnv(gymnasium.Env[Observation, np.int64]):
    """One player's seat against a policy in all other seats; an optimal agent is a best response.

    An observation encodes the player's infoset. The mask of legal actions is in
    `info["action_mask"]` and `action_masks()`; actions are the numbers that the game gives them. An
    illegal action ends the episode with the player's lowest utility. An episode in which the player
    never acts has one step with an observation of zeros, in which every action is legal and earns
    the same reward.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, opponents: Policy, player: int, arrays: EnvArrays | None = None):
        tree = require_tree(opponents)
        if not 0 <= player < tree.num_players:
            raise ConfigError(f"player is {player}, must be from 0 to {tree.num_players - 1}")
        self.arrays = arrays or EnvArrays(tree)
        check_same_game(self.arrays.tree, opponents)
        self.opponents, self.player = opponents, player
        self.min_utility = float(tree.utility[:, player].min())
        self.observation_space = self.arrays.observation_space()
        self.action_space = spaces.Discrete(self.arrays.num_actions)
        self._state: State | None = None
        self._infoset = -1  # of the player; -1 before and after an episode

    def reset(
        self, *, seed: int | None = None, options: Info | None = None
    ) -> tuple[Observation, Info]:
        """Start an episode and return the first observation."""
        super().reset(seed=seed)
        self._advance(self.arrays.game.initial_state())
        return self._observation(), self._info()

    def _advance(self, state: State) -> None:
        """Let chance and the opponents act until the player is to act or the game is over."""
        rules = self.arrays.game
        agents = [None if p == self.player else self.opponents for p in range(rules.num_players)]
        _, self._state = play_from(rules, state, agents, lambda player: self.np_random.random())
        self._infoset = self.arrays.find_infoset(self._state)

    def step(self, action: np.int64 | int) -> StepResult:
        """Take an action and return observation, reward, terminated, truncated and info."""
        if self._state is None:
            raise ConfigError("call reset before step")
        rules = self.arrays.game
        if self._infoset >= 0:
            if int(action) not in rules.actions(self._state):
                return self._end_episode(self.min_utility, {"illegal": True})
            self._advance(rules.next_state(self._state, int(action)))
        if self._infoset >= 0:
            return self._observation(), 0.0, False, False, self._info()
        return self._end_episode(float(rules.utilities(self._state)[self.player]), {})

    def _end_episode(self, reward: float, more: Info) -> StepResult:
        self._state, self._infoset = None, -1
        return self._observation(), reward, True, False, {**self._info(), **more}

    def _observation(self) -> Observation:
        infoset = self._infoset
        rows = self.arrays.observations
        return rows[infoset].copy() if infoset >= 0 else np.zeros(rows.shape[1], np.float32)

    def action_masks(self) -> ActionMask:
        """Return the mask [A] of legal actions."""
        infoset = self._infoset
        rows = self.arrays.legal_mask
        return rows[infoset].copy() if infoset >= 0 else np.ones(rows.shape[1], np.int8)

    def _info(self) -> Info:
        return {"action_mask": self.action_masks()}


@dataclass(frozen=True)
class AgentJudgement:
    """The exact value of an agent against the opponents of an environment."""

    value: float  # its expected utility against the opponents
    best_value: float  # that of a best response
    policy: Policy  # the agent in its seat, the opponents in theirs

    @property
    def gap(self) -> float:
        """The value that a best response gains over the agent, never negative by rounding."""
        return max(self.best_value - self.value, 0.0)


def judge_agent(env: BestResponseEnv, agent: AgentFunction) -> AgentJudgement:
    """Evaluate an agent exactly, by its actions at every infoset of its seat.

    Args:
        env: the environment.
        agent: takes observation [X] and mask of legal actions [A]; returns an action, or
            probabilities [A], of which those of illegal actions are ignored.
    """
    tree, arrays = env.arrays.tree, env.arrays
    values = env.opponents.probabilities.copy()
    for infoset in np.flatnonzero(tree.infoset_player == env.player):
        first, last = tree.offset[infoset : infoset + 2]
        legal = tree.sequence_action[first:last]
        answer = np.asarray(
            agent(arrays.observations[infoset].copy(), arrays.legal_mask[infoset].copy())
        )
        weights = answer[legal].astype(np.float64) if answer.ndim else (legal == answer) * 1.0
        if not (weights.min() >= 0.0 and 0.0 < weights.sum() < np.inf):
            key = tree.infoset_keys[infoset]
            raise ConfigError(
                f"the agent answers {answer.tolist()} at {key!r}, where {legal.tolist()} are legal"
            )
        values[first:last] = weights / weights.sum()
    policy = Policy(tree, values)
    judgement = judge(tree, policy)
    value, best = judgement.values[env.player], judgement.best_values[env.player]
    return AgentJudgement(float(value), float(best), policy)
