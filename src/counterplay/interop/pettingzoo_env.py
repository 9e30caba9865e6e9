"""Any game as a PettingZoo AEC environment."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.game import TERMINAL, Game, ObservedGame, State
from counterplay.core.game_checks import format_history
from counterplay.errors import ConfigError
from counterplay.interop.env_arrays import EnvArrays, missing_extra_error
from counterplay.play.episodes import play_from

try:
    import gymnasium.spaces as spaces
    from gymnasium.utils import seeding
    from pettingzoo import AECEnv
except ModuleNotFoundError as error:
    raise missing_extra_error("rl", "PettingZoo") from error


class CounterplayAEC(AECEnv):  # type: ignore[misc]
    """A game with agents `player_0`, `player_1`, ...; chance acts inside, from the seed of reset.

    An observation is a dict: what the agent knows under "observation", and which of the game's own
    action numbers are legal under "action_mask" (none for an agent that is not to act). Rewards are
    the utilities, at the end.
    """

    metadata = {"render_modes": ["ansi"], "name": "counterplay", "is_parallelizable": False}  # noqa: RUF012

    def __init__(self, game: Game | TreeArena, render_mode: str | None = None):
        self.arrays = EnvArrays(game)
        self.render_mode = render_mode
        tree = self.arrays.tree
        self.metadata = {**type(self).metadata, "name": tree.spec}
        self.possible_agents = [f"player_{player}" for player in range(tree.num_players)]
        self.agents: list[str] = []
        size, count = self.arrays.observations.shape[1], self.arrays.num_actions
        low = min(0.0, float(self.arrays.observations.min(initial=0.0)))
        high = max(1.0, float(self.arrays.observations.max(initial=0.0)))
        seen = spaces.Dict(
            {
                "observation": spaces.Box(low, high, (size,), np.float32),
                "action_mask": spaces.Box(0, 1, (count,), np.int8),
            }
        )
        self.observation_spaces = dict.fromkeys(self.possible_agents, seen)
        self.action_spaces = {agent: spaces.Discrete(count) for agent in self.possible_agents}
        self._rng, _ = seeding.np_random(None)

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        if seed is not None:
            self._rng, _ = seeding.np_random(seed)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._history: list[int] = []
        self._last_state = self.arrays.game.initial_state()
        self.agent_selection = self.agents[0]
        self._advance(self.arrays.game.initial_state())

    def _advance(self, state: State) -> None:
        """Let chance act, and hand over to the next player or end the game."""
        rules = self.arrays.game
        nobody = [None] * rules.num_players
        steps, self._state = play_from(rules, state, nobody, lambda player: self._rng.random())
        self._history += [step.action for step in steps]
        player = rules.player(self._state)
        if player == TERMINAL:
            utilities = [float(utility) for utility in rules.utilities(self._state)]
            self.rewards = dict(zip(self.agents, utilities, strict=True))
            self.terminations = dict.fromkeys(self.agents, True)
        else:
            self.agent_selection = self.possible_agents[player]
            self._last_state = self._state  # also after the end, where rules describe no views

    def step(self, action: int | None) -> None:
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

    def observe(self, agent: str) -> dict[str, Any]:
        seats, player = self.arrays, self.possible_agents.index(agent)
        now = seats.game.player(self._state)
        if now == player:
            infoset = seats.find_infoset(self._state)
            seen, mask = seats.observations[infoset], seats.legal_mask[infoset]
        else:
            seen, mask = np.zeros_like(seats.observations[0]), np.zeros_like(seats.legal_mask[0])
            if isinstance(seats.game, ObservedGame):
                seen = np.array(seats.game.observation(self._last_state, player), np.float32)
        return {"observation": seen.copy(), "action_mask": mask.copy()}

    def render(self) -> str | None:
        if self.render_mode != "ansi":
            return None
        return format_history(self.arrays.game, self._history)

    def close(self) -> None:
        """Nothing is open."""
