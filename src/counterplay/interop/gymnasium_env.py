"""One seat of any game as a Gymnasium environment, and exactly what was learnt there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterplay.core.evaluation import check_same_game, judge
from counterplay.core.game import State
from counterplay.core.policy import Policy, require_tree
from counterplay.errors import ConfigError
from counterplay.interop.env_arrays import EnvArrays, missing_extra_error
from counterplay.play.episodes import play_from

try:
    import gymnasium
    from gymnasium import spaces
except ModuleNotFoundError as error:
    raise missing_extra_error("rl", "Gymnasium") from error

AgentFunction = Callable[
    [Any, Any], Any
]  # observation [X], mask [A] -> an action, or probabilities [A]


class BestResponseEnv(gymnasium.Env[Any, Any]):
    """One player's seat against a policy that has all the others: learning here is best response.

    An observation is what the player knows at its infoset. Which actions are legal is in
    `info["action_mask"]` and `action_masks()`; actions are the game's own numbers. An illegal
    action ends the episode with the player's lowest utility. An episode in which the player never
    gets to act has one step with nothing to see, every action allowed and the same reward for all.
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
        size, seen = self.arrays.observations.shape[1], self.arrays.observations
        low, high = min(0.0, float(seen.min(initial=0.0))), max(1.0, float(seen.max(initial=0.0)))
        self.observation_space = spaces.Box(low, high, (size,), np.float32)
        self.action_space = spaces.Discrete(self.arrays.num_actions)
        self._state: State | None = None
        self._infoset = -1  # of the player; none before and after an episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._advance(self.arrays.game.initial_state())
        return self._observation(), self._info()

    def _advance(self, state: State) -> None:
        """Let the others act until it is the player's turn or the game is over."""
        rules = self.arrays.game
        others = [None if p == self.player else self.opponents for p in range(rules.num_players)]
        _, self._state = play_from(rules, state, others, lambda player: self.np_random.random())
        self._infoset = self.arrays.find_infoset(self._state)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
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

    def _end_episode(
        self, reward: float, more: dict[str, Any]
    ) -> tuple[Any, float, bool, bool, Any]:
        self._state, self._infoset = None, -1
        return self._observation(), reward, True, False, {**self._info(), **more}

    def _observation(self) -> Any:
        infoset = self._infoset
        rows = self.arrays.observations
        return rows[infoset].copy() if infoset >= 0 else np.zeros(rows.shape[1], np.float32)

    def action_masks(self) -> Any:
        """Which actions are legal now [A]."""
        infoset = self._infoset
        rows = self.arrays.legal_mask
        return rows[infoset].copy() if infoset >= 0 else np.ones(rows.shape[1], np.int8)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks()}


@dataclass(frozen=True)
class AgentJudgement:
    """What an outside agent's behaviour is worth, exactly."""

    value: float  # its expected utility against the opponents
    best_value: float  # what a best response would earn
    policy: Policy  # the agent in its seat, the opponents in theirs

    @property
    def gap(self) -> float:
        """What the agent leaves on the table."""
        return self.best_value - self.value


def judge_agent(env: BestResponseEnv, agent: AgentFunction) -> AgentJudgement:
    """Ask the agent what it does at every infoset of its seat, and compute what that is worth.

    Args:
        agent: takes observation [X] and mask of legal actions [A]; returns an action, or
            probabilities [A], of which those of illegal actions are left out.
    """
    tree, seats = env.arrays.tree, env.arrays
    values = env.opponents.probabilities.copy()
    for infoset in np.flatnonzero(tree.infoset_player == env.player):
        first, last = tree.offset[infoset : infoset + 2]
        legal = tree.sequence_action[first:last]
        answer = np.asarray(
            agent(seats.observations[infoset].copy(), seats.legal_mask[infoset].copy())
        )
        odds = answer[legal].astype(np.float64) if answer.ndim else (legal == answer) * 1.0
        if not (odds.min() >= 0.0 and 0.0 < odds.sum() < np.inf):
            key = tree.infoset_keys[infoset]
            raise ConfigError(
                f"the agent answers {answer.tolist()} at {key!r}, where {legal.tolist()} are legal"
            )
        values[first:last] = odds / odds.sum()
    policy = Policy(tree, values)
    judgement = judge(tree, policy)
    value, best = judgement.values[env.player], judgement.best_values[env.player]
    return AgentJudgement(float(value), float(best), policy)
