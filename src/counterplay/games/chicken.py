"""Chicken, a game in which a correlated equilibrium pays more than a Nash equilibrium."""

from __future__ import annotations

from counterplay.core.settings import settings
from counterplay.games.matrix_game import MatrixGame, PayoffTable

ACTION_NAMES = ("dare", "swerve")


@settings()
class Chicken(MatrixGame):
    """Two drivers race at each other; one who swerves is the chicken (payoffs of Aumann, 1974).

    Both dare: 0 each. One dares: 7, the other gets 2. Both swerve: 6 each.

    7 nodes, 4 terminals, 2 infosets; not zero-sum. Equilibria: either player dares alone, or both
    dare with probability 1/3, which yields 14/3 each. With a mediator both can get 5.25 on average.
    """

    payoffs: tuple[PayoffTable, ...] = (((0.0, 7.0), (2.0, 6.0)), ((0.0, 2.0), (7.0, 6.0)))
    action_names: tuple[tuple[str, ...], ...] = (ACTION_NAMES, ACTION_NAMES)
