"""Expectiminimax: minimax with chance."""

from __future__ import annotations

from typing import Any

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
from counterplay.settings import settings


@settings()
class Expectiminimax:
    """Minimax with chance nodes (Michie, 1966), on states s and the states s' that follow:

        V(s) = u_0(s) at the end,   max V(s') where player 0 acts,   min V(s') where player 1 does,
               sum of probability * V(s') where chance does

    With a `depth`, states that many actions ahead, chance's included, are worth what `evaluate`
    says. Where chance acts first, there is a value and no action.
    """

    depth: int = 0  # actions to look ahead; 0: to the end
    evaluate: Evaluation | None = None  # of states where the search stops early; without it, 0

    def __post_init__(self) -> None:
        check_settings("expectiminimax", self, depth=0)

    @recursive
    def search(self, game: Game, state: State | None = None) -> Found:
        return looked_ahead(self, game, state)


def looked_ahead(settings: Any, game: Game, state: State | None, chance: bool = True) -> Found:
    """What either kind of minimax finds; without `chance` it is refused."""
    root = start(game, state)
    evaluate = settings.evaluate or nothing
    num_nodes, num_guesses = 1, 0

    def mover(state: State) -> int:
        player = game.player(state)
        if player == CHANCE and not chance:
            raise no_chance(game, "minimax")
        return player

    def value(state: State, left: int) -> float:
        nonlocal num_nodes, num_guesses
        num_nodes += 1
        player = mover(state)
        if player == TERMINAL:
            return utility(game, state)
        if left == 0:
            num_guesses += 1
            return evaluate(game, state)
        return combined(player, state, left)[0]

    def combined(player: int, state: State, left: int) -> tuple[float, dict[int, float]]:
        if player == CHANCE:
            outcomes = game.chance_outcomes(state)
            return sum(p * value(game.next_state(state, a), left - 1) for a, p in outcomes), {}
        values = {a: value(game.next_state(state, a), left - 1) for a in game.actions(state)}
        return (min if player else max)(values.values()), values

    found, values = combined(mover(root), root, settings.depth or 2**62)
    best = next((action for action, worth in values.items() if worth == found), None)
    return Found(best, found, num_guesses == 0, num_nodes, values, settings.depth)
