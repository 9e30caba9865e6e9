"""A game as a PettingZoo AEC environment."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.game import TERMINAL, Game, ObservedGame, State
from counterplay.core.game_checks import format_history
from counterplay.errors import ConfigError
from counterplay.interop.env_arrays import (
    ActionMask,
    EnvArrays,
    Observation,
    missing_extra_error,
)
from counterplay.play.episodes import play_from

try:
    import gymnasium.spaces as spaces
    from gymnasium.utils import seeding
    from pettingzoo import AECEnv
except ModuleNotFoundError as error:
    raise missing_extra_error("rl", "PettingZoo") from error


class AgentObservation(TypedDict):
    """The observation of an agent, with the mask of its legal actions."""

    observation: Observation
    action_mask: ActionMask


class CounterplayAEC(AECEnv):  # type: ignore[misc]
    """A game with agents `player_0`, `player_1`, ...; chance is sampled from the seed of `reset`.

    An observation is a dict with "observation", the agent's information, and "action_mask", the
    legal ones among the numbers that the game gives its actions (none for an agent that is not to
    act). Rewards are the utilities, at the end.
    """

    metadata = {"render_modes": ["ansi"], "name": "counterplay", "is_parallelizable": False}  # noqa: RUF012

    def __init__(self, game: Game | TreeArena, render_mode: str | None = None):
        self.arrays = EnvArrays(game)
        self.render_mode = render_mode
        tree = self.arrays.tree
        self.metadata = {**type(self).metadata, "name": tree.spec}
        self.possible_agents = [f"player_{player}" for player in range(tree.num_players)]
        self.agents: list[str] = []
        count = self.arrays.num_actions
        space = spaces.Dict(
            {
                "observation": self.arrays.observation_space(),
                "action_mask": spaces.Box(0, 1, (count,), np.int8),
            }
        )
        self.observation_spaces = dict.fromkeys(self.possible_agents, space)
        self.action_spaces = {agent: spaces.Discrete(count) for agent in self.possible_agents}
        self._rng, _ = seeding.np_random(None)

    def observation_space(self, agent: str) -> spaces.Dict:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, object] | None = None) -> None:
        """Start an episode; without a seed, continue the random numbers of the last one."""
        if seed is not None:
            self._rng, _ = seeding.np_random(seed)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, object]] = {agent: {} for agent in self.agents}
        self._history: list[int] = []
        self._last_state = self.arrays.game.initial_state()
        self.agent_selection = self.agents[0]
        self._advance(self.arrays.game.initial_state())

    def _advance(self, state: State) -> None:
        """Let chance act, then select the next agent or end the episode."""
        rules = self.arrays.game
        seats = [None] * rules.num_players
        steps, self._state = play_from(rules, state, seats, lambda player: self._rng.random())
        self._history += [step.action for step in steps]
        player = rules.player(self._state)
        if player == TERMINAL:
            utilities = [float(utility) for utility in rules.utilities(self._state)]
            self.rewards = dict(zip(self.agents, utilities, strict=True))
            self.terminations = dict.fromkeys(self.agents, True)
        else:
            self.agent_selection = self.possible_agents[player]
            self._last_state = self._state  # rules need not define observations after the end

    def step(self, action: int | None) -> None:
        """Take an action of the selected agent; None after the end."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        rules = self.arrays.game
        if action is None or int(action) not in rules.actions(self._state):
            legal = np.flatnonzero(self.observe(agent)["action_mask"]).tolist()
            raise ConfigError(f"action {action} is not legal for {agent}, only {legal}")
        self._history.append(int(action))
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._advance(rules.next_state(self._state, int(action)))
        if self.terminations[agent]:
            self.agent_selection = self.agents[0]
        self._accumulate_rewards()

    def observe(self, agent: str) -> AgentObservation:
        """Return the observation of an agent and the mask of its legal actions."""
        arrays, player = self.arrays, self.possible_agents.index(agent)
        if arrays.game.player(self._state) == player:
            infoset = arrays.find_infoset(self._state)
            observation, mask = arrays.observations[infoset], arrays.legal_mask[infoset]
        else:
            mask = np.zeros_like(arrays.legal_mask[0])
            observation = np.zeros_like(arrays.observations[0])
            if isinstance(arrays.game, ObservedGame):
                observation = np.array(
                    arrays.game.observation(self._last_state, player), np.float32
                )
        return {"observation": observation.copy(), "action_mask": mask.copy()}

    def render(self) -> str | None:
        """Return the history as a text, if the render mode is "ansi"."""
        if self.render_mode != "ansi":
            return None
        return format_history(self.arrays.game, self._history)

    def close(self) -> None:
        """Do nothing: the environment holds no resources."""
