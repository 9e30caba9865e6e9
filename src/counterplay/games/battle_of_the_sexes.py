"""Battle of the sexes, a coordination game with two pure equilibria and a mixed one."""

from __future__ import annotations

from counterplay.core.settings import settings
from counterplay.games.matrix_game import MatrixGame, PayoffTable

ACTION_NAMES = ("movie", "game")


@settings()
class BattleOfTheSexes(MatrixGame):
    """Two people want to meet: one at the movie, the other at the game (Luce and Raiffa, 1957).

    Together they get 2 and 1, the 2 for the player at its favourite; apart they get 0.

    7 nodes, 4 terminals, 2 infosets; not zero-sum. Equilibria: both at the movie (2, 1), both at
    the game (1, 2), or each at its favourite with probability 2/3, which yields 2/3 each.
    """

    payoffs: tuple[PayoffTable, ...] = (((2.0, 0.0), (0.0, 1.0)), ((1.0, 0.0), (0.0, 2.0)))
    action_names: tuple[tuple[str, ...], ...] = (ACTION_NAMES, ACTION_NAMES)
