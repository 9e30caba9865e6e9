"""Tic-tac-toe, the smallest board game: perfect information, no chance."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from counterplay.core.game import TERMINAL
from counterplay.core.settings import settings
from counterplay.games.winner import NO_PLAYER, PLAYER_MARKS, winner_utilities

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
OTHER_LINE_CELLS = [  # by cell, the two other cells of every line through it
    [tuple(c for c in line if c != cell) for line in LINES if cell in line] for cell in range(9)
]


class TicTacToeState(NamedTuple):
    board: str = "........."  # x, o or . by cell, row by row
    history: str = ""  # cells taken so far, in order
    winner: int = NO_PLAYER  # the player with three in a row


@settings()
class TicTacToe:
    """Three in a row wins 1. Player 0 is x and starts; a full board without a row is a draw.

    Actions are the cells 0 to 8, row by row. An infoset is the whole history, not only the board,
    for perfect recall; `search_key` is the board alone, which determines the rest of the game.

    549,946 nodes, 255,168 terminals, 294,778 infosets, 5,478 boards. The value is 0, a draw.
    """

    num_players: ClassVar[int] = 2

    def initial_state(self) -> TicTacToeState:
        return TicTacToeState()

    def player(self, state: TicTacToeState) -> int:
        turn = len(state.history)
        return TERMINAL if turn == 9 or state.winner != NO_PLAYER else turn % 2

    def actions(self, state: TicTacToeState) -> list[int]:
        return [cell for cell, mark in enumerate(state.board) if mark == "."]

    def chance_outcomes(self, state: TicTacToeState) -> list[tuple[int, float]]:
        return []

    def next_state(self, state: TicTacToeState, action: int) -> TicTacToeState:
        board, history, winner = state
        player = len(history) % 2
        mark = PLAYER_MARKS[player]
        for first, second in OTHER_LINE_CELLS[action]:
            if board[first] == mark == board[second]:
                winner = player
        return TicTacToeState(
            f"{board[:action]}{mark}{board[action + 1 :]}", f"{history}{action}", winner
        )

    def utilities(self, state: TicTacToeState) -> tuple[float, float]:
        return winner_utilities(state.winner)

    def infoset_key(self, state: TicTacToeState, player: int) -> str:
        return f"{PLAYER_MARKS[player]}:{state.history}"

    def action_name(self, state: TicTacToeState, action: int) -> str:
        return f"{PLAYER_MARKS[len(state.history) % 2]}{action}"

    def observation(self, state: TicTacToeState, player: int) -> list[float]:
        """Return OpenSpiel's observation tensor: by cell, empty, then o, then x."""
        return [float(cell == mark) for mark in ".ox" for cell in state.board]

    def search_key(self, state: TicTacToeState) -> str:
        return state.board

    def board(self, state: TicTacToeState) -> str:
        cells = [str(n) if mark == "." else mark for n, mark in enumerate(state.board)]
        return "\n".join(" ".join(cells[row : row + 3]) for row in (0, 3, 6))
