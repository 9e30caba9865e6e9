"""Matching pennies."""

from __future__ import annotations

from counterplay.core.settings import settings
from counterplay.games.matrix_game import MatrixGame, PayoffTable

ACTION_NAMES = ("heads", "tails")


@settings()
class MatchingPennies(MatrixGame):
    """Both show a side of a penny: player 0 wins 1 if they match, player 1 if they differ.

    7 nodes, 4 terminals, 2 infosets. Value 0: both players toss the penny.
    """

    payoffs: tuple[PayoffTable, ...] = (((1.0, -1.0), (-1.0, 1.0)), ((-1.0, 1.0), (1.0, -1.0)))
    action_names: tuple[tuple[str, ...], ...] = (ACTION_NAMES, ACTION_NAMES)
