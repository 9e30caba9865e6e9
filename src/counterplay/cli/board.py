"""Boards as text, for the games that have one."""

from __future__ import annotations

from counterplay.game import Game, State
from counterplay.games.connect_four import MARKS, ConnectFour
from counterplay.games.tic_tac_toe import TicTacToe


def board_lines(game: Game, state: State) -> list[str]:
    """The lines of the board, with the numbers of actions where they go; none without a board."""
    if isinstance(game, TicTacToe):
        cells = [str(n) if mark == "." else mark for n, mark in enumerate(state.board)]
        return [" ".join(cells[row : row + 3]) for row in (0, 3, 6)]
    if isinstance(game, ConnectFour):
        width = len(str(game.columns - 1))
        rows = [
            [(MARKS + ".")[game.cell(state, row, column)] for column in range(game.columns)]
            for row in reversed(range(game.rows))
        ]
        numbers = [str(column) for column in range(game.columns)]
        return [" ".join(cell.rjust(width) for cell in row) for row in [*rows, numbers]]
    return []
