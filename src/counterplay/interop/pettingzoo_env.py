"""Any game as a PettingZoo AEC environment."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplay.errors import ConfigError
from counterplay.game import TERMINAL, Game, describe_history
from counterplay.interop.replay import history
from counterplay.interop.seats import Seats, needs
from counterplay.tree import Tree

try:
    import gymnasium.spaces as spaces
    from gymnasium.utils import seeding
    from pettingzoo import AECEnv
except ModuleNotFoundError as error:
    raise needs("rl", "PettingZoo") from error


class CounterplayAEC(AECEnv):  # type: ignore[misc]
    """A game with agents `player_0`, `player_1`, ...; chance acts inside, from the seed of reset.

    An observation is a dict: what the agent knows under "observation", and which of the game's own
    action numbers are legal under "action_mask" (none for an agent that is not to act). Rewards are
    the utilities, at the end.
    """

    metadata = {"render_modes": ["ansi"], "name": "counterplay", "is_parallelizable": False}  # noqa: RUF012

    def __init__(self, game: Game | Tree, render_mode: str | None = None):
        self.seats = Seats(game)
        self.render_mode = render_mode
        tree = self.seats.tree
        self.metadata = {**type(self).metadata, "name": tree.spec}
        self.possible_agents = [f"player_{player}" for player in range(tree.num_players)]
        self.agents: list[str] = []
        size, count = self.seats.observation.shape[1], self.seats.num_actions
        low = min(0.0, float(self.seats.observation.min(initial=0.0)))
        high = max(1.0, float(self.seats.observation.max(initial=0.0)))
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
        self._node, self._state = 0, self.seats.rules.initial_state()
        self.agent_selection = self.agents[0]
        self._go_on(0)

    def _visit(self, node: int) -> None:
        """Follow the tree with the rules, which tell what everybody sees."""
        if self.seats.observed and self.seats.tree.player[node] != TERMINAL:
            here = self.seats.rules.initial_state()
            for action in history(self.seats.tree, node):
                here = self.seats.rules.next_state(here, action)
            self._state = here

    def _go_on(self, node: int) -> None:
        """Let chance act, and hand over to the next player or end the game."""
        tree = self.seats.tree
        self._node = node = self.seats.past_chance(node, self._rng)
        self._visit(node)
        player = int(tree.player[node])
        if player == TERMINAL:
            utilities = self.seats.utilities(node)
            self.rewards = dict(zip(self.agents, utilities.tolist(), strict=True))
            self.terminations = dict.fromkeys(self.agents, True)
        else:
            self.agent_selection = self.possible_agents[player]

    def step(self, action: int | None) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        child = self.seats.child(self._node, -1 if action is None else int(action))
        if child < 0:
            legal = np.flatnonzero(self.observe(agent)["action_mask"]).tolist()
            raise ConfigError(f"action {action} is not legal for {agent}, only {legal}")
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._go_on(child)
        if self.terminations[agent]:
            self.agent_selection = self.agents[0]
        self._accumulate_rewards()

    def observe(self, agent: str) -> dict[str, Any]:
        seats, player = self.seats, self.possible_agents.index(agent)
        infoset = int(seats.tree.infoset[self._node])
        acts = infoset >= 0 and seats.tree.infoset_player[infoset] == player
        if acts:
            seen, mask = seats.observation[infoset], seats.mask[infoset]
        else:
            seen, mask = np.zeros_like(seats.observation[0]), np.zeros_like(seats.mask[0])
            if seats.observed:
                seen = np.array(seats.rules.observation(self._state, player), np.float32)  # type: ignore[attr-defined]
        return {"observation": seen.copy(), "action_mask": mask.copy()}

    def render(self) -> str | None:
        if self.render_mode != "ansi":
            return None
        return describe_history(self.seats.rules, history(self.seats.tree, self._node))

    def close(self) -> None:
        """Nothing is open."""
