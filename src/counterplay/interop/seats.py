"""What players of a tree see and may do, as arrays: the common ground of the RL environments."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterplay.errors import ConfigError
from counterplay.game import CHANCE, Game, ObservedGame
from counterplay.interop.replay import infoset_states, rules_of
from counterplay.tree import Floats, Tree
from counterplay.unroll import build_tree

MOST_ACTIONS = 100_000


class Seats:
    """A tree with each infoset's observation [I, X] and mask of legal actions [I, A].

    Actions are the game's own numbers. A game without observations gets a one-hot number of the
    infoset among its player's.
    """

    def __init__(self, game: Game | Tree):
        self.tree = tree = game if isinstance(game, Tree) else build_tree(game)
        self.rules = rules_of(tree)
        actions = tree.sequence_action
        self.num_actions = int(actions.max(initial=0)) + 1
        if actions.min(initial=0) < 0 or self.num_actions > MOST_ACTIONS:
            raise ConfigError(
                f"{tree.spec} numbers its actions from {actions.min()} to "
                f"{actions.max()}; an environment needs 0 to {MOST_ACTIONS - 1:,}"
            )
        self.mask = np.zeros((tree.num_infosets, self.num_actions), np.int8)
        self.mask[np.repeat(np.arange(tree.num_infosets), tree.num_actions), actions] = 1
        self.observed = isinstance(self.rules, ObservedGame)
        self.observation = self._observations()

    def _observations(self) -> Any:
        tree, rules = self.tree, self.rules
        if isinstance(rules, ObservedGame):
            pairs = zip(infoset_states(tree), tree.infoset_player.tolist(), strict=True)
            rows = [rules.observation(state, player) for state, player in pairs]
            return np.array(rows, np.float32)
        size = int(np.diff(tree.player_infoset).max())
        return np.eye(size, dtype=np.float32)[tree.infoset_row]

    def child(self, node: int, action: int) -> int:
        """The node after an action, given by its number; -1 if that is not legal."""
        tree = self.tree
        infoset = tree.infoset[node]
        legal = tree.sequence_action[tree.offset[infoset] : tree.offset[infoset + 1]]
        place = np.flatnonzero(legal == action)
        return int(tree.child_offset[node] + place[0]) if place.size else -1

    def draw(self, node: int, odds: Floats, rng: Any) -> int:
        """A child of the node, drawn with those odds."""
        place = int(np.searchsorted(np.cumsum(odds), rng.random() * odds.sum(), side="right"))
        last = int(np.flatnonzero(odds)[-1])  # rounding must not lead past the possible
        return int(self.tree.child_offset[node]) + min(place, last)

    def past_chance(self, node: int, rng: Any) -> int:
        """The node once chance has acted, and acted again."""
        tree = self.tree
        while tree.player[node] == CHANCE:
            first, last = tree.child_offset[node : node + 2]
            node = self.draw(node, tree.chance[first:last], rng)
        return node

    def utilities(self, node: int) -> Floats:
        """What everyone gets at a terminal node."""
        return self.tree.utility[np.searchsorted(self.tree.terminals, node)]


def needs(extra: str, name: str) -> ConfigError:
    """The error for a library that is not installed."""
    return ConfigError(f"{name} is not installed: pip install 'counterplay[{extra}]'")
