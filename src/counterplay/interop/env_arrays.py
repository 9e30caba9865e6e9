"""What players of a tree see and may do, as arrays: the common ground of the RL environments."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.build import build_tree
from counterplay.arenas.tree.replay import first_infoset_states
from counterplay.core.game import Game, ObservedGame, State
from counterplay.errors import ConfigError

MAX_ACTIONS = 100_000


class EnvArrays:
    """A tree with each infoset's observation [I, X] and mask of legal actions [I, A].

    Actions are the game's own numbers. A game without observations gets a one-hot number of the
    infoset among its player's.
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
        self.legal_mask = np.zeros((tree.num_infosets, self.num_actions), np.int8)
        self.legal_mask[np.repeat(np.arange(tree.num_infosets), tree.num_actions), actions] = 1
        self.observations = self._observations()

    def _observations(self) -> Any:
        tree, rules = self.tree, self.game
        if isinstance(rules, ObservedGame):
            pairs = zip(first_infoset_states(tree), tree.infoset_player.tolist(), strict=True)
            rows = [rules.observation(state, player) for state, player in pairs]
            return np.array(rows, np.float32)
        size = int(np.diff(tree.player_infoset).max())
        return np.eye(size, dtype=np.float32)[tree.player_infoset_index]

    def find_infoset(self, state: State) -> int:
        """Where the player to act stands; -1 at the end."""
        player = self.game.player(state)
        return (
            self.tree.find_infoset(self.game.infoset_key(state, player), player)
            if player >= 0
            else -1
        )


def missing_extra_error(extra: str, name: str) -> ConfigError:
    """The error for a library that is not installed."""
    return ConfigError(f"{name} is not installed: pip install 'counterplay[{extra}]'")
