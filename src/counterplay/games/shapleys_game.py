"""Shapley's game, on which fictitious play does not converge."""

from __future__ import annotations

from counterplay.core.settings import settings
from counterplay.games.matrix_game import MatrixGame, PayoffTable

ACTION_NAMES = ("rock", "paper", "scissors")
PLAYER_0_PAYOFFS = ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
PLAYER_1_PAYOFFS = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))


@settings()
class ShapleysGame(MatrixGame):
    """Rock, paper, scissors in which the winner gets 1 and all others 0 (Shapley, 1964).

    13 nodes, 9 terminals, 2 infosets; not zero-sum. The only equilibrium is to play each shape with
    probability 1/3, which yields 1/3 each; fictitious play cycles around it.
    """

    payoffs: tuple[PayoffTable, ...] = (PLAYER_0_PAYOFFS, PLAYER_1_PAYOFFS)
    action_names: tuple[tuple[str, ...], ...] = (ACTION_NAMES, ACTION_NAMES)
