"""Connect four, on boards of any size."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, NamedTuple

from counterplay.core.game import TERMINAL
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

NO_PLAYER = -1  # has won
PLAYER_MARKS = "xo"  # of player 0 and player 1
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
    infoset is the whole history, so that players remember what they did; `search_key` is the board
    alone, which decides how the game goes on.

    A column takes `rows` bits and an empty one above, so that rows of stones do not run from one
    column into the next. Player 0 wins on the full board (Allis, 1988); boards of 4 x 4, 4 x 5 and
    5 x 5 are drawn, player 1 wins with 4 rows of 6. With 3 x 3 cells and three in a row: 3,278
    nodes, 1,310 terminals, 1,968 infosets, a draw.
    """

    rows: int = 6
    columns: int = 7
    x_in_row: int = 4
    egocentric_obs_tensor: bool = False  # observe the other's stones, then own; otherwise x, then o
    num_players: ClassVar[int] = 2

    def __post_init__(self) -> None:
        for name, most in (("rows", 100), ("columns", len(COLUMN_DIGITS)), ("x_in_row", 100)):
            if not 1 <= getattr(self, name) <= most:
                value = getattr(self, name)
                raise ConfigError(f"connect_four: {name} is {value}, must be from 1 to {most}")

    @cached_property
    def _bottom_bits(self) -> list[int]:
        """By column, its lowest bit."""
        return [1 << column * (self.rows + 1) for column in range(self.columns)]

    @cached_property
    def _top_bits(self) -> list[tuple[int, int]]:
        """The columns in order, with their highest bits."""
        return [(column, bit << self.rows - 1) for column, bit in enumerate(self._bottom_bits)]

    @cached_property
    def _shifts(self) -> list[list[int]]:
        """By direction, the shifts that leave a bit where `x_in_row` bits in a row begin."""
        shifts = []
        for step in (1, self.rows + 1, self.rows, self.rows + 2):
            length, found = 1, []
            while length < self.x_in_row:
                more = min(length, self.x_in_row - length)
                found.append(more * step)
                length += more
            shifts.append(found)
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
        stones = taken + self._bottom_bits[action] & ~taken
        if len(history) % 2 == 0:
            first |= stones
            return ConnectFourState(
                first,
                second,
                history + COLUMN_DIGITS[action],
                0 if self._has_row(first) else NO_PLAYER,
            )
        second |= stones
        return ConnectFourState(
            first,
            second,
            history + COLUMN_DIGITS[action],
            1 if self._has_row(second) else NO_PLAYER,
        )

    def utilities(self, state: ConnectFourState) -> tuple[float, float]:
        if state.winner == NO_PLAYER:
            return (0.0, 0.0)
        return (1.0, -1.0) if state.winner == 0 else (-1.0, 1.0)

    def infoset_key(self, state: ConnectFourState, player: int) -> str:
        return f"{PLAYER_MARKS[player]}:{state.history}"

    def action_name(self, state: ConnectFourState, action: int) -> str:
        return f"{PLAYER_MARKS[len(state.history) % 2]}{action}"

    def observation(self, state: ConnectFourState, player: int) -> list[float]:
        """By cell, bottom row first: x, o, empty (or other's, own, empty); OpenSpiel's tensor."""
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
        """The player whose stone lies there, rows counted from the bottom, or NOBODY."""
        bit = self._bottom_bits[column] << row
        return 0 if state.first_stones & bit else 1 if state.second_stones & bit else NO_PLAYER

    def _has_row(self, stones: int) -> bool:
        """Whether there are `x_in_row` stones in a row."""
        for shifts in self._shifts:
            left = stones
            for shift in shifts:
                left &= left >> shift
            if left:
                return True
        return False
