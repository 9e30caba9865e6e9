"""Matching pennies for three, on which no-regret learners never settle."""

from __future__ import annotations

from counterplay.games.matrix_game import MatrixGame, Table
from counterplay.settings import settings

SIDES = ("heads", "tails")
FIRST = (((1.0, 1.0), (-1.0, -1.0)), ((-1.0, -1.0), (1.0, 1.0)))
SECOND = (((1.0, -1.0), (-1.0, 1.0)), ((1.0, -1.0), (-1.0, 1.0)))
THIRD = (((-1.0, 1.0), (-1.0, 1.0)), ((1.0, -1.0), (1.0, -1.0)))


@settings()
class MatchingPennies3P(MatrixGame):
    """Player 0 wants to match player 1, 1 to match 2, and 2 to differ from 0 (Jordan, 1993).

    Everyone who gets the wish wins 1, the others lose 1. 15 nodes, 8 terminals, 3 infosets; not
    zero-sum. In the only equilibrium everyone tosses the penny, with value 0.
    """

    payoffs: tuple[Table, ...] = (FIRST, SECOND, THIRD)
    action_names: tuple[tuple[str, ...], ...] = (SIDES, SIDES, SIDES)
