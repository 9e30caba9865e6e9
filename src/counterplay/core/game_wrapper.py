"""The base class of games that change a few methods of another game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from counterplay.core.game import Game, State
from counterplay.registry import get_spec


@dataclass(frozen=True)
class GameWrapper:
    """A game that forwards the methods of the protocol to another game."""

    game: Game

    @property
    def spec(self) -> str:
        return get_spec(self.game)

    @property
    def num_players(self) -> int:
        return self.game.num_players

    def initial_state(self) -> State:
        return self.game.initial_state()

    def player(self, state: State) -> int:
        return self.game.player(state)

    def actions(self, state: State) -> Sequence[int]:
        return self.game.actions(state)

    def chance_outcomes(self, state: State) -> Sequence[tuple[int, float]]:
        return self.game.chance_outcomes(state)

    def next_state(self, state: State, action: int) -> State:
        return self.game.next_state(state, action)

    def utilities(self, state: State) -> Sequence[float]:
        return self.game.utilities(state)

    def infoset_key(self, state: State, player: int) -> str:
        return self.game.infoset_key(state, player)

    def action_name(self, state: State, action: int) -> str:
        return self.game.action_name(state, action)
