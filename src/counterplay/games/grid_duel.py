"""Grid duel: two players move one token over a small board with green cells."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from counterplay.core.game import TERMINAL
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

ACTION_LETTERS = ("ud", "lr")  # by player; action 0 is up or left, action 1 down or right
ACTION_NAMES = (("up", "down"), ("left", "right"))


class GridDuelState(NamedTuple):
    cell: int = 5  # of the token: 1 2 3 / 4 5 6 / 7 8 9
    history: str = ""  # letters of the actions so far


@settings()
class GridDuel:
    """A token starts on 5, the middle of a 3 x 3 board; Max wins if it ends on a green cell.

    Max (player 0) moves it up or down, Min (player 1) left or right, in turn, twice each, Max
    first. The winner takes 1. A classroom exercise in minimax, with two rules for the edge:
        blocked_moves_stay: a token that would leave the board stays where it is
            31 nodes, 16 terminals, 15 infosets; Max wins for 195 of the 512 sets of green cells,
            the default among them
        otherwise: such moves are illegal, so the token always comes back to 5
            15 nodes, 4 terminals, 11 infosets; Max wins if and only if 5 is green
    """

    green: tuple[int, ...] = (2, 4, 5, 6, 8)  # different cells from 1 to 9
    blocked_moves_stay: bool = True
    num_players: ClassVar[int] = 2

    def __post_init__(self) -> None:
        green = tuple(self.green)
        if any(cell not in range(1, 10) for cell in green) or len(set(green)) < len(green):
            raise ConfigError(f"grid_duel: green is {green}, must be different cells from 1 to 9")
        object.__setattr__(self, "green", green)

    def initial_state(self) -> GridDuelState:
        return GridDuelState()

    def player(self, state: GridDuelState) -> int:
        return TERMINAL if len(state.history) == 4 else len(state.history) % 2

    def actions(self, state: GridDuelState) -> tuple[int, ...]:
        if self.blocked_moves_stay:
            return (0, 1)
        return tuple([action for action in (0, 1) if _target_cell(state, action) != state.cell])

    def chance_outcomes(self, state: GridDuelState) -> list[tuple[int, float]]:
        return []

    def next_state(self, state: GridDuelState, action: int) -> GridDuelState:
        letter = ACTION_LETTERS[len(state.history) % 2][action]
        return GridDuelState(_target_cell(state, action), state.history + letter)

    def utilities(self, state: GridDuelState) -> tuple[float, float]:
        return (1.0, -1.0) if state.cell in self.green else (-1.0, 1.0)

    def infoset_key(self, state: GridDuelState, player: int) -> str:
        return f"{('max', 'min')[player]}:{state.history}"

    def action_name(self, state: GridDuelState, action: int) -> str:
        return ACTION_NAMES[len(state.history) % 2][action]

    def observation(self, state: GridDuelState, player: int) -> list[float]:
        """Return player, cell of the token, then (up or left, down or right) per turn."""
        values = [0.0] * (2 + 9 + 8)
        values[player] = 1.0
        values[1 + state.cell] = 1.0
        for turn, letter in enumerate(state.history):
            values[11 + 2 * turn + (letter in "dr")] = 1.0
        return values


def _target_cell(state: GridDuelState, action: int) -> int:
    """Return the cell that a move leads to; the current cell at the edge of the board."""
    row, column = divmod(state.cell - 1, 3)
    step = 2 * action - 1
    if len(state.history) % 2 == 0:
        row = min(max(row + step, 0), 2)
    else:
        column = min(max(column + step, 0), 2)
    return 3 * row + column + 1
