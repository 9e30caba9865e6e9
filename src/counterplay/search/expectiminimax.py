"""Expectiminimax: minimax with chance nodes."""

from __future__ import annotations

from typing import Protocol

from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.rewards import step_rewards
from counterplay.core.settings import NonNegativeInt, settings
from counterplay.errors import GameError
from counterplay.registry import get_spec
from counterplay.search.searcher import (
    EvaluationFunction,
    OptionalEvaluation,
    SearchResult,
    catch_recursion_error,
    chance_error,
    resolve_root,
    terminal_utility,
    zero_evaluation,
)


@settings()
class Expectiminimax:
    """Minimax with chance nodes (Michie, 1966), on states s and the states s' that follow:

        V(s) = u_0(s) at the end,   max V(s') where player 0 acts,   min V(s') where player 1 does,
               sum of probability * V(s') where chance does

    Where the game pays rewards on the way (`core.rewards.RewardGame`), player 0's reward R(s, a) is
    added to V(s'), in minimax too.

    With `max_depth`, states that many actions ahead, those of chance included, have the value of
    `evaluate`. If chance acts first, the result has a value and no action.
    """

    max_depth: NonNegativeInt = 0  # actions to search ahead; 0: to the end
    evaluate: OptionalEvaluation = None  # of states at the depth limit; 0 by default

    @catch_recursion_error
    def search(self, game: Game, state: State | None = None) -> SearchResult:
        return search_full_width(self, game, state)


class FullWidthSearcher(Protocol):
    """The parameters of `search_full_width`."""

    @property
    def max_depth(self) -> int: ...

    @property
    def evaluate(self) -> EvaluationFunction | None: ...


def search_full_width(
    searcher: FullWidthSearcher, game: Game, state: State | None, allow_chance: bool = True
) -> SearchResult:
    """Return the result of minimax or expectiminimax; raise GameError at forbidden chance nodes."""
    root = resolve_root(game, state)
    evaluate = searcher.evaluate or zero_evaluation
    num_nodes, num_evaluations = 1, 0

    def acting_player(state: State) -> int:
        player = game.player(state)
        if player == CHANCE and not allow_chance:
            raise chance_error(game, "minimax")
        return player

    def value(state: State, depth_left: int) -> float:
        nonlocal num_nodes, num_evaluations
        num_nodes += 1
        player = acting_player(state)
        if player == TERMINAL:
            return terminal_utility(game, state)
        if depth_left == 0:
            num_evaluations += 1
            return evaluate(game, state)
        return back_up(player, state, depth_left)[0]

    def back_up(player: int, state: State, depth_left: int) -> tuple[float, dict[int, float]]:
        def action_value(action: int) -> float:
            reward = zero_sum_reward(game, state, action)
            return reward + value(game.next_state(state, action), depth_left - 1)

        if player == CHANCE:
            return sum(p * action_value(a) for a, p in game.chance_outcomes(state)), {}
        values = {a: action_value(a) for a in game.actions(state)}
        return (min if player else max)(values.values()), values

    root_value, values = back_up(acting_player(root), root, searcher.max_depth or 2**62)
    best = next((action for action in values if values[action] == root_value), None)
    is_exact = num_evaluations == 0
    return SearchResult(best, root_value, is_exact, num_nodes, values, searcher.max_depth)


def zero_sum_reward(game: Game, state: State, action: int) -> float:
    """Return player 0's reward on the way; raise GameError unless rewards cancel."""
    first, second = step_rewards(game, state, action)
    if abs(first + second) > 1e-9 * max(1.0, abs(first)):
        raise GameError(f"search needs a zero-sum game; {get_spec(game)} pays {(first, second)}")
    return first
