"""The prisoner's dilemma, in which dominant actions give both players less."""

from __future__ import annotations

from counterplay.core.settings import settings
from counterplay.games.matrix_game import MatrixGame, PayoffTable

ACTION_NAMES = ("cooperate", "defect")


@settings()
class PrisonersDilemma(MatrixGame):
    """Both cooperate: 5 each; both defect: 1 each; one defects: it gets 10, the other 0.

    The payoffs are OpenSpiel's `matrix_pd`. 7 nodes, 4 terminals, 2 infosets; not zero-sum.
    Cooperation is strictly dominated: mutual defection is the only equilibrium of any kind.
    """

    payoffs: tuple[PayoffTable, ...] = (((5.0, 0.0), (10.0, 1.0)), ((5.0, 10.0), (0.0, 1.0)))
    action_names: tuple[tuple[str, ...], ...] = (ACTION_NAMES, ACTION_NAMES)
