"""Rock, paper, scissors."""

from __future__ import annotations

from counterplay.core.settings import settings
from counterplay.games.matrix_game import MatrixGame, PayoffTable

ACTION_NAMES = ("rock", "paper", "scissors")
PLAYER_0_PAYOFFS = ((0.0, -1.0, 1.0), (1.0, 0.0, -1.0), (-1.0, 1.0, 0.0))
PLAYER_1_PAYOFFS = ((0.0, 1.0, -1.0), (-1.0, 0.0, 1.0), (1.0, -1.0, 0.0))


@settings()
class RockPaperScissors(MatrixGame):
    """Rock beats scissors, scissors beat paper, paper beats rock; the winner takes 1.

    13 nodes, 9 terminals, 2 infosets. Value 0: both play each shape with probability 1/3.
    """

    payoffs: tuple[PayoffTable, ...] = (PLAYER_0_PAYOFFS, PLAYER_1_PAYOFFS)
    action_names: tuple[tuple[str, ...], ...] = (ACTION_NAMES, ACTION_NAMES)
