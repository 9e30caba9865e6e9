"""Minimax: the value of a game under best play, by looking at everything."""

from __future__ import annotations

from counterplay.core.game import Game, State
from counterplay.core.settings import settings
from counterplay.search.expectiminimax import search_full_width
from counterplay.search.searcher import (
    EvaluationFunction,
    SearchResult,
    catch_recursion_error,
    check_settings,
)


@settings()
class Minimax:
    """Minimax (von Neumann, 1928), on states s and the states s' that actions lead to:

        V(s) = u_0(s) at the end,   max V(s') where player 0 acts,   min V(s') where player 1 does

    With a `depth`, states that many actions ahead are worth what `evaluate` says. The first action
    of those with the best value is returned.
    """

    max_depth: int = 0  # actions to look ahead; 0: to the end
    evaluate: EvaluationFunction | None = (
        None  # of states where the search stops early; without it, 0
    )

    def __post_init__(self) -> None:
        check_settings("minimax", self, max_depth=0)

    @catch_recursion_error
    def search(self, game: Game, state: State | None = None) -> SearchResult:
        return search_full_width(self, game, state, allow_chance=False)
