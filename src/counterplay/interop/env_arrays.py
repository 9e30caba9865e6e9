"""Observations and legal actions of a tree as arrays, for environments of other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.build import build_tree
from counterplay.arenas.tree.replay import first_infoset_states
from counterplay.core.game import Game, ObservedGame, State
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from gymnasium import spaces

MAX_ACTIONS = 100_000

Observation = NDArray[np.float32]
ActionMask = NDArray[np.int8]


class EnvArrays:
    """A tree with each infoset's observation [I, X] and mask of legal actions [I, A].

    Actions are the numbers that the game gives them. A game without observations gets a one-hot
    index of the infoset among the infosets of its player.
    """

    def __init__(self, game: Game | TreeArena):
        self.tree = tree = game if isinstance(game, TreeArena) else build_tree(game)
        self.game = tree.game
        actions = tree.sequence_action
        self.num_actions = int(actions.max(initial=0)) + 1
        if actions.min(initial=0) < 0 or self.num_actions > MAX_ACTIONS:
            raise ConfigError(
                f"{tree.spec} numbers its actions from {actions.min()} to "
                f"{actions.max()}; an environment needs 0 to {MAX_ACTIONS - 1:,}"
            )
        self.legal_mask: ActionMask = np.zeros((tree.num_infosets, self.num_actions), np.int8)
        self.legal_mask[np.repeat(np.arange(tree.num_infosets), tree.num_actions), actions] = 1
        self.observations = self._observations()

    def _observations(self) -> Observation:
        tree, rules = self.tree, self.game
        if isinstance(rules, ObservedGame):
            pairs = zip(first_infoset_states(tree), tree.infoset_player.tolist(), strict=True)
            rows = [rules.observation(state, player) for state, player in pairs]
            return np.array(rows, np.float32)
        size = int(np.diff(tree.player_infoset).max())
        return np.eye(size, dtype=np.float32)[tree.player_infoset_index]

    def observation_space(self) -> spaces.Space[Observation]:
        """Return the space of observations, whose bounds contain [0, 1]."""
        from gymnasium import spaces

        low = min(0.0, float(self.observations.min(initial=0.0)))
        high = max(1.0, float(self.observations.max(initial=0.0)))
        space: spaces.Space[Observation]
        space = spaces.Box(low, high, (self.observations.shape[1],), np.float32)
        return space

    def find_infoset(self, state: State) -> int:
        """Return the infoset of the player to act; -1 at a terminal state."""
        player = self.game.player(state)
        if player < 0:
            return -1
        return self.tree.find_infoset(self.game.infoset_key(state, player), player)


def missing_extra_error(extra: str, name: str) -> ConfigError:
    """Return the error for a library that is not installed."""
    return ConfigError(f"{name} is not installed: pip install 'counterplay[{extra}]'")
