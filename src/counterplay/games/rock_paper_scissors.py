"""Rock, paper, scissors."""

from __future__ import annotations

from counterplay.games.matrix_game import MatrixGame, Table
from counterplay.settings import settings

SHAPES = ("rock", "paper", "scissors")
WINS = ((0.0, -1.0, 1.0), (1.0, 0.0, -1.0), (-1.0, 1.0, 0.0))
LOSSES = ((0.0, 1.0, -1.0), (-1.0, 0.0, 1.0), (1.0, -1.0, 0.0))


@settings()
class RockPaperScissors(MatrixGame):
    """Rock beats scissors, scissors beat paper, paper beats rock; the winner takes 1.

    13 nodes, 9 terminals, 2 infosets. Value 0: everyone plays each shape one time in three.
    """

    payoffs: tuple[Table, ...] = (WINS, LOSSES)
    action_names: tuple[tuple[str, ...], ...] = (SHAPES, SHAPES)
