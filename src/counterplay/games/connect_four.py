"""Connect four, on boards of any size."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple

from annotated_types import Interval

from counterplay.core.game import TERMINAL
from counterplay.core.settings import settings
from counterplay.games.winner import NO_PLAYER, PLAYER_MARKS, winner_utilities

COLUMN_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"  # columns in a history


class ConnectFourState(NamedTuple):
    first_stones: int = 0  # cells of player 0 as bits: column by column, each from the bottom up
    second_stones: int = 0  # cells of player 1
    history: str = ""  # columns chosen so far, in order
    winner: int = NO_PLAYER


@settings()
class ConnectFour:
    """Drop a stone on top of a column; four in a row, in any direction, win 1 (Wexler, 1974).

    Player 0 is x and starts. A full board without a row is a draw. Actions are the columns. An
    infoset is the whole history, for perfect recall; `search_key` is the board alone, which
    determines the rest of the game.

    Stones are bits. A column takes `rows` bits and an empty one above, so that no row of stones
    wraps from one column into the next. Player 0 wins on the full board (Allis, 1988); boards of
    4 x 4, 4 x 5 and 5 x 5 are drawn, player 1 wins with 4 rows of 6. With 3 x 3 cells and three in
    a row: 3,278 nodes, 1,310 terminals, 1,968 infosets, a draw.
    """

    rows: Annotated[int, Interval(ge=1, le=100)] = 6
    columns: Annotated[int, Interval(ge=1, le=len(COLUMN_DIGITS))] = 7
    x_in_row: Annotated[int, Interval(ge=1, le=100)] = 4
    egocentric_obs_tensor: bool = False  # observe the opponent's stones first; otherwise x first
    num_players: ClassVar[int] = 2

    @cached_property
    def _bottom_bits(self) -> list[int]:
        """The lowest bit of each column."""
        return [1 << column * (self.rows + 1) for column in range(self.columns)]

    @cached_property
    def _top_bits(self) -> list[tuple[int, int]]:
        """The columns with their highest bits."""
        return [(column, bit << self.rows - 1) for column, bit in enumerate(self._bottom_bits)]

    @cached_property
    def _shifts(self) -> list[list[int]]:
        """By direction, the shifts that leave a bit where `x_in_row` bits begin; see `_has_row`."""
        shifts = []
        for step in (1, self.rows + 1, self.rows, self.rows + 2):
            length, direction_shifts = 1, []
            while length < self.x_in_row:
                more = min(length, self.x_in_row - length)
                direction_shifts.append(more * step)
                length += more
            shifts.append(direction_shifts)
        return shifts

    def initial_state(self) -> ConnectFourState:
        return ConnectFourState()

    def player(self, state: ConnectFourState) -> int:
        turn = len(state.history)
        if state.winner != NO_PLAYER or turn == self.rows * self.columns:
            return TERMINAL
        return turn % 2

    def actions(self, state: ConnectFourState) -> list[int]:
        taken = state.first_stones | state.second_stones
        return [column for column, bit in self._top_bits if not taken & bit]

    def chance_outcomes(self, state: ConnectFourState) -> list[tuple[int, float]]:
        return []

    def next_state(self, state: ConnectFourState, action: int) -> ConnectFourState:
        first, second, history, _ = state
        taken = first | second
        # adding the lowest bit of a column carries to its lowest empty cell
        stone = taken + self._bottom_bits[action] & ~taken
        player = len(history) % 2
        if player == 0:
            first |= stone
        else:
            second |= stone
        winner = player if self._has_row(second if player else first) else NO_PLAYER
        return ConnectFourState(first, second, history + COLUMN_DIGITS[action], winner)

    def utilities(self, state: ConnectFourState) -> tuple[float, float]:
        return winner_utilities(state.winner)

    def infoset_key(self, state: ConnectFourState, player: int) -> str:
        return f"{PLAYER_MARKS[player]}:{state.history}"

    def action_name(self, state: ConnectFourState, action: int) -> str:
        return f"{PLAYER_MARKS[len(state.history) % 2]}{action}"

    def observation(self, state: ConnectFourState, player: int) -> list[float]:
        """Return OpenSpiel's tensor: per cell, bottom row first, x, o, empty (or opponent, own)."""
        cells = [
            self.cell_owner(state, r, c) for r in range(self.rows) for c in range(self.columns)
        ]
        first = 1 - player if self.egocentric_obs_tensor else 0
        return [float(cell == mark) for mark in (first, 1 - first, NO_PLAYER) for cell in cells]

    def search_key(self, state: ConnectFourState) -> tuple[int, int]:
        return state.first_stones, state.second_stones

    def board(self, state: ConnectFourState) -> str:
        columns, width = range(self.columns), len(str(self.columns - 1))
        rows = [
            [(PLAYER_MARKS + ".")[self.cell_owner(state, row, column)] for column in columns]
            for row in reversed(range(self.rows))
        ]
        lines = [*rows, [str(column) for column in columns]]
        return "\n".join(" ".join(cell.rjust(width) for cell in line) for line in lines)

    def cell_owner(self, state: ConnectFourState, row: int, column: int) -> int:
        """Return the player whose stone is in a cell, or NO_PLAYER; rows count from the bottom."""
        bit = self._bottom_bits[column] << row
        return 0 if state.first_stones & bit else 1 if state.second_stones & bit else NO_PLAYER

    def _has_row(self, stones: int) -> bool:
        """Return True if there are `x_in_row` stones in a row."""
        for shifts in self._shifts:
            left = stones
            for shift in shifts:
                left &= left >> shift
            if left:
                return True
        return False
