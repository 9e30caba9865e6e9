"""Phantom tic-tac-toe: three in a row, without seeing the opponent's marks."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.games.phantom_board import PhantomBoard
from counterplay.games.tic_tac_toe import LINES

GAME_VERSIONS = ("classical", "abrupt")


@settings()
class PhantomTicTacToe(PhantomBoard):
    """Tic-tac-toe on a hidden board; `PhantomBoard` describes what players learn.

        classical: 19,934,533,171 nodes, 5,990,669 infosets
        abrupt: 27,115,470,835 nodes, 23,310,269 infosets

    Published values for player 0 are 0.6667 and 0.5502 (Rudolph and others, 2025).
    """

    gameversion: str = "classical"
    num_cells: ClassVar[int] = 9

    def __post_init__(self) -> None:
        if self.gameversion not in GAME_VERSIONS:
            problem = f"{self.gameversion!r}, must be one of {', '.join(GAME_VERSIONS)}"
            raise ConfigError(f"phantom_tic_tac_toe: gameversion is {problem}")

    @cached_property
    def is_abrupt(self) -> bool:
        return self.gameversion == "abrupt"

    def has_won(self, player: int, stones: int) -> bool:
        return any(all(stones >> cell & 1 for cell in line) for line in LINES)

    def board(self, state: object) -> str:
        """Return the numbers of the cells, which is all that both players see."""
        return "0 1 2\n3 4 5\n6 7 8"
