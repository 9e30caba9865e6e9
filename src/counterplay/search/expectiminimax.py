"""Expectiminimax: minimax with chance."""

from __future__ import annotations

from typing import Any

from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.settings import settings
from counterplay.search.searcher import (
    EvaluationFunction,
    SearchResult,
    catch_recursion_error,
    chance_error,
    check_settings,
    resolve_root,
    terminal_utility,
    zero_evaluation,
)


@settings()
class Expectiminimax:
    """Minimax with chance nodes (Michie, 1966), on states s and the states s' that follow:

        V(s) = u_0(s) at the end,   max V(s') where player 0 acts,   min V(s') where player 1 does,
               sum of probability * V(s') where chance does

    With a `depth`, states that many actions ahead, chance's included, are worth what `evaluate`
    says. Where chance acts first, there is a value and no action.
    """

    max_depth: int = 0  # actions to look ahead; 0: to the end
    evaluate: EvaluationFunction | None = (
        None  # of states where the search stops early; without it, 0
    )

    def __post_init__(self) -> None:
        check_settings("expectiminimax", self, max_depth=0)

    @catch_recursion_error
    def search(self, game: Game, state: State | None = None) -> SearchResult:
        return search_full_width(self, game, state)


def search_full_width(
    settings: Any, game: Game, state: State | None, allow_chance: bool = True
) -> SearchResult:
    """What either kind of minimax finds; without `chance` it is refused."""
    root = resolve_root(game, state)
    evaluate = settings.evaluate or zero_evaluation
    num_nodes, num_guesses = 1, 0

    def acting_player(state: State) -> int:
        player = game.player(state)
        if player == CHANCE and not allow_chance:
            raise chance_error(game, "minimax")
        return player

    def value(state: State, depth_left: int) -> float:
        nonlocal num_nodes, num_guesses
        num_nodes += 1
        player = acting_player(state)
        if player == TERMINAL:
            return terminal_utility(game, state)
        if depth_left == 0:
            num_guesses += 1
            return evaluate(game, state)
        return back_up(player, state, depth_left)[0]

    def back_up(player: int, state: State, depth_left: int) -> tuple[float, dict[int, float]]:
        if player == CHANCE:
            outcomes = game.chance_outcomes(state)
            return sum(
                p * value(game.next_state(state, a), depth_left - 1) for a, p in outcomes
            ), {}
        values = {a: value(game.next_state(state, a), depth_left - 1) for a in game.actions(state)}
        return (min if player else max)(values.values()), values

    found, values = back_up(acting_player(root), root, settings.max_depth or 2**62)
    best = next((action for action, worth in values.items() if worth == found), None)
    return SearchResult(best, found, num_guesses == 0, num_nodes, values, settings.max_depth)
