"""Dark hex: connect two sides of a board without seeing the opponent's stones."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

from annotated_types import Interval

from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.games.phantom_board import PhantomBoard

GAME_VERSIONS = ("cdh", "adh")
BoardSide = Annotated[int, Interval(ge=1, le=19)]
NEIGHBOUR_STEPS = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1))  # to the six neighbours


@settings()
class DarkHex(PhantomBoard):
    """Hex on a hidden board; `PhantomBoard` describes what players learn.

    Player 0 wins with a chain of stones from the first row to the last, player 1 with one from the
    first column to the last; a draw is not possible. A cell has six neighbours: left, right, above,
    below, above to the right and below to the left. Classical (cdh) or abrupt (adh):
        2 x 2, cdh: 441 nodes, 216 terminals, 70 infosets
        2 x 2, adh: 471 nodes, 234 terminals, 94 infosets
        3 x 3, cdh: 19,119,486,979 nodes, 6,072,917 infosets; the value is 1
        3 x 3, adh: 29,311,526,419 nodes, 27,325,277 infosets
    """

    num_rows: BoardSide = 3
    num_cols: BoardSide = 3
    gameversion: str = "cdh"

    def __post_init__(self) -> None:
        if self.gameversion not in GAME_VERSIONS:
            problem = f"{self.gameversion!r}, must be one of {', '.join(GAME_VERSIONS)}"
            raise ConfigError(f"dark_hex: gameversion is {problem}")

    @cached_property
    def num_cells(self) -> int:
        return self.num_rows * self.num_cols

    @cached_property
    def is_abrupt(self) -> bool:
        return self.gameversion == "adh"

    def has_won(self, player: int, stones: int) -> bool:
        last = (self.num_rows, self.num_cols)[player] - 1
        reached = {cell for cell in range(self.num_cells) if self.row_and_column(cell)[player] == 0}
        waiting = [cell for cell in reached if stones >> cell & 1]
        while waiting:
            row, column = position = self.row_and_column(waiting.pop())
            if position[player] == last:
                return True
            for down, right in NEIGHBOUR_STEPS:
                if 0 <= row + down < self.num_rows and 0 <= column + right < self.num_cols:
                    cell = (row + down) * self.num_cols + column + right
                    if stones >> cell & 1 and cell not in reached:
                        reached.add(cell)
                        waiting.append(cell)
        return False

    def row_and_column(self, cell: int) -> tuple[int, int]:
        """Return row and column of a cell."""
        return divmod(cell, self.num_cols)

    def board(self, state: object) -> str:
        """Return the numbers of the cells, which is all that both players see."""
        width = len(str(self.num_cells - 1))
        rows = [
            range(first, first + self.num_cols) for first in range(0, self.num_cells, self.num_cols)
        ]
        return "\n".join(
            " " * row * (width + 1) + " ".join(f"{cell:{width}}" for cell in cells)
            for row, cells in enumerate(rows)
        )
