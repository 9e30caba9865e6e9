"""Minimax: the value of a game under best play, by full-width search."""

from __future__ import annotations

from counterplay.core.game import Game, State
from counterplay.core.settings import NonNegativeInt, settings
from counterplay.search.expectiminimax import search_full_width
from counterplay.search.searcher import OptionalEvaluation, SearchResult, catch_recursion_error


@settings()
class Minimax:
    """Minimax (von Neumann, 1928), on states s and the states s' that actions lead to:

        V(s) = u_0(s) at the end,   max V(s') where player 0 acts,   min V(s') where player 1 does

    With `max_depth`, states that many actions ahead have the value of `evaluate`. The result is the
    first of the actions with the best value.
    """

    max_depth: NonNegativeInt = 0  # actions to search ahead; 0: to the end
    evaluate: OptionalEvaluation = None  # of states at the depth limit; 0 by default

    @catch_recursion_error
    def search(self, game: Game, state: State | None = None) -> SearchResult:
        return search_full_width(self, game, state, allow_chance=False)
