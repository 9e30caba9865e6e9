"""Shared parts of two-player games that one player wins or that end in a draw."""

from __future__ import annotations

NO_PLAYER = -1  # in place of a winner
PLAYER_MARKS = "xo"  # on the board, by player


def winner_utilities(winner: int) -> tuple[float, float]:
    """Return the utilities of both players: the winner gets 1 from the loser.

    Args:
        winner: player 0 or 1; a negative number for a draw.
    """
    if winner < 0:
        return (0.0, 0.0)
    return (1.0, -1.0) if winner == 0 else (-1.0, 1.0)
