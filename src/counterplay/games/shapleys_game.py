"""Shapley's game, on which fictitious play never settles."""

from __future__ import annotations

from counterplay.games.matrix_game import MatrixGame, Table
from counterplay.settings import settings

SHAPES = ("rock", "paper", "scissors")
FIRST = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
SECOND = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))


@settings()
class ShapleysGame(MatrixGame):
    """Rock, paper, scissors in which the winner takes 1 and nobody loses anything (Shapley, 1964).

    13 nodes, 9 terminals, 2 infosets; not zero-sum. The only equilibrium is to play each shape one
    time in three, which yields 1/3 each; fictitious play circles around it for ever.
    """

    payoffs: tuple[Table, ...] = (FIRST, SECOND)
    action_names: tuple[tuple[str, ...], ...] = (SHAPES, SHAPES)
