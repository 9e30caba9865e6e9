"""Games given by nested tuples: tuples are choices, numbers utilities, `Dice` are chance nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hypothesis import strategies as st

from counterplay.core.game import CHANCE, TERMINAL


class Dice(NamedTuple):
    odds: tuple[float, ...]
    children: tuple[Any, ...]


@dataclass
class NestedGame:
    """The players act in turn, chance in between; the state is the path from the root."""

    tree: Any
    num_players: int = 2
    visited: list[float] = field(default_factory=list)  # utilities looked at

    def at(self, state):
        node = self.tree
        for action in state:
            node = node.children[action] if isinstance(node, Dice) else node[action]
        return node

    def initial_state(self):
        return ()

    def player(self, state):
        node = self.at(state)
        if isinstance(node, Dice):
            return CHANCE
        if not isinstance(node, tuple):
            return TERMINAL
        above = [self.at(state[:depth]) for depth in range(len(state))]
        return sum(not isinstance(node, Dice) for node in above) % 2

    def actions(self, state):
        return range(len(self.at(state)))

    def chance_outcomes(self, state):
        return list(enumerate(self.at(state).odds))

    def next_state(self, state, action):
        return (*state, action)

    def utilities(self, state):
        worth = float(self.at(state))
        self.visited.append(worth)
        return worth, -worth

    def infoset_key(self, state, player):
        return f"{player}:{state}"

    def action_name(self, state, action):
        return str(action)


def _dice(children):
    weights = st.lists(st.integers(1, 5), min_size=len(children), max_size=len(children))
    return weights.map(lambda w: Dice(tuple(k / sum(w) for k in w), tuple(children)))


def random_nested_games(chance: bool = False, depth: int = 4):
    """Random trees with utilities from -3 to 3."""
    tree = st.integers(-3, 3)
    for _ in range(depth):
        children = st.lists(tree, min_size=1, max_size=3)
        choice = children.map(tuple)
        grown = [tree, choice, choice, *([children.flatmap(_dice)] if chance else [])]
        tree = st.one_of(*grown)
    return st.lists(tree, min_size=1, max_size=3).map(lambda c: NestedGame(tuple(c)))
