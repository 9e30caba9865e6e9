"""Minimax: the value of a game under best play, by looking at everything."""

from __future__ import annotations

from dataclasses import dataclass

from counterplay.game import CHANCE, TERMINAL, Game, State
from counterplay.search.searching import (
    Evaluation,
    Found,
    check_settings,
    no_chance,
    nothing,
    recursive,
    start,
    utility,
)


@dataclass(frozen=True)
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
        root = start(game, state)
        evaluate = self.evaluate or nothing
        num_nodes, num_guesses = 1, 0

        def value(state: State, left: int) -> float:
            nonlocal num_nodes, num_guesses
            num_nodes += 1
            player = game.player(state)
            if player == TERMINAL:
                return utility(game, state)
            if player == CHANCE:
                raise no_chance(game, "minimax")
            if left == 0:
                num_guesses += 1
                return evaluate(game, state)
            values = [value(game.next_state(state, a), left - 1) for a in game.actions(state)]
            return min(values) if player else max(values)

        player = game.player(root)
        if player == CHANCE:
            raise no_chance(game, "minimax")
        left = (self.depth or 2**62) - 1
        values = {a: value(game.next_state(root, a), left) for a in game.actions(root)}
        best = (min if player else max)(values, key=values.__getitem__)
        return Found(best, values[best], num_guesses == 0, num_nodes, values, self.depth)
