"""The same game in other words: other units, a constant more, other seats, actions in reverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterplay.core.game import Game


@dataclass(frozen=True)
class Changed:
    """Player p of the game sits in seat seats[p] and earns factor[p] * utility + constant[p]."""

    game: Game
    factor: tuple[float, ...]
    constant: tuple[float, ...] = ()
    seats: tuple[int, ...] = ()
    reverse: bool = False

    @property
    def num_players(self) -> int:
        return self.game.num_players

    def seat(self, player: int) -> int:
        return self.seats[player] if self.seats and player >= 0 else player

    def initial_state(self) -> Any:
        return self.game.initial_state()

    def player(self, state: Any) -> int:
        return self.seat(self.game.player(state))

    def actions(self, state: Any) -> tuple[int, ...]:
        actions = tuple(self.game.actions(state))
        return actions[::-1] if self.reverse else actions

    def chance_outcomes(self, state: Any) -> Any:
        return self.game.chance_outcomes(state)

    def next_state(self, state: Any, action: int) -> Any:
        return self.game.next_state(state, action)

    def utilities(self, state: Any) -> list[float]:
        utilities = list(self.game.utilities(state))
        constant = self.constant or (0.0,) * self.num_players
        for player, utility in enumerate(self.game.utilities(state)):
            utilities[self.seat(player)] = self.factor[player] * utility + constant[player]
        return utilities

    def infoset_key(self, state: Any, player: int) -> str:
        seats = self.seats or tuple(range(self.num_players))
        return self.game.infoset_key(state, seats.index(player))

    def action_name(self, state: Any, action: int) -> str:
        return self.game.action_name(state, action)


def translate_policy(tree, game, policy):
    """The probabilities of a policy for a changed game, as the original tree orders them."""
    rows = {(player, key): row for player, key, row in policy.items()}
    found = []
    for infoset, key in enumerate(tree.infoset_keys):
        row = rows[game.seat(int(tree.infoset_player[infoset])), key]
        found += [row[name] for name in tree.sequence_names[slice(*tree.offset[infoset:][:2])]]
    return np.array(found)
