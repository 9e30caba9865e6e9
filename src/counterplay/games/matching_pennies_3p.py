"""Matching pennies for three players, on which no-regret learners do not converge."""

from __future__ import annotations

from counterplay.core.settings import settings
from counterplay.games.matrix_game import MatrixGame, PayoffTable

ACTION_NAMES = ("heads", "tails")
PLAYER_0_PAYOFFS = (((1.0, 1.0), (-1.0, -1.0)), ((-1.0, -1.0), (1.0, 1.0)))
PLAYER_1_PAYOFFS = (((1.0, -1.0), (-1.0, 1.0)), ((1.0, -1.0), (-1.0, 1.0)))
PLAYER_2_PAYOFFS = (((-1.0, 1.0), (-1.0, 1.0)), ((1.0, -1.0), (1.0, -1.0)))


@settings()
class MatchingPennies3P(MatrixGame):
    """Player 0 wants to match player 1, 1 to match 2, and 2 to differ from 0 (Jordan, 1993).

    A player who succeeds wins 1, the others lose 1. 15 nodes, 8 terminals, 3 infosets; not
    zero-sum. In the only equilibrium all players toss the penny, with value 0.
    """

    payoffs: tuple[PayoffTable, ...] = (PLAYER_0_PAYOFFS, PLAYER_1_PAYOFFS, PLAYER_2_PAYOFFS)
    action_names: tuple[tuple[str, ...], ...] = (ACTION_NAMES, ACTION_NAMES, ACTION_NAMES)
