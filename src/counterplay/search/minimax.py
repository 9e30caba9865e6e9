"""Minimax: the value of a game under best play, by looking at everything."""

from __future__ import annotations

from counterplay.game import Game, State
from counterplay.search.expectiminimax import looked_ahead
from counterplay.search.searching import Evaluation, Found, check_settings, recursive
from counterplay.settings import settings


@settings()
class Minimax:
    """Minimax (von Neumann, 1928), on states s and the states s' that actions lead to:

        V(s) = u_0(s) at the end,   max V(s') where player 0 acts,   min V(s') where player 1 does

    With a `depth`, states that many actions ahead are worth what `evaluate` says. The first action
    of those with the best value is returned.
    """

    depth: int = 0  # actions to look ahead; 0: to the end
    evaluate: Evaluation | None = None  # of states where the search stops early; without it, 0

    def __post_init__(self) -> None:
        check_settings("minimax", self, depth=0)

    @recursive
    def search(self, game: Game, state: State | None = None) -> Found:
        return looked_ahead(self, game, state, chance=False)
