"""Guesses at the value of a state: plain functions of game and state, player 0's utility.

Searchers take any such function as `evaluate`. Here are ways to make one: from random episodes,
from features with weights, and from a network that looks at observations.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

from counterplay.core.game import CHANCE, TERMINAL, Game, ObservedGame, State
from counterplay.errors import ConfigError, GameError
from counterplay.games.connect_four import ConnectFour
from counterplay.registry import get_spec
from counterplay.search.alpha_beta import AlphaBeta
from counterplay.search.searcher import EvaluationFunction, terminal_utility

RolloutPolicy = Callable[[Game, State, random.Random], int]  # the action to take at a state


def sample_uniform_action(game: Game, state: State, rng: random.Random) -> int:
    """Any action, all with the same probability."""
    return rng.choice(game.actions(state))


def rollout_evaluation(
    policy: RolloutPolicy = sample_uniform_action, num_episodes: int = 1, seed: int = 0
) -> EvaluationFunction:
    """The mean utility of episodes that a default policy plays to the end."""
    if num_episodes < 1:
        raise ConfigError(f"rollout: num_episodes is {num_episodes}, must be at least 1")
    rng = random.Random(seed)

    def evaluate(game: Game, state: State) -> float:
        total = 0.0
        for _ in range(num_episodes):
            now = state
            while (player := game.player(now)) != TERMINAL:
                if player == CHANCE:
                    outcomes, odds = zip(*game.chance_outcomes(now), strict=True)
                    (action,) = rng.choices(outcomes, odds)
                else:
                    action = policy(game, now, rng)
                now = game.next_state(now, action)
            total += terminal_utility(game, now)
        return total / num_episodes

    return evaluate


def weighted_sum_evaluation(*terms: tuple[float, EvaluationFunction]) -> EvaluationFunction:
    """The sum of weight times feature, for pairs (weight, feature)."""

    def evaluate(game: Game, state: State) -> float:
        return sum(weight * feature(game, state) for weight, feature in terms)

    return evaluate


def network_evaluation(value_function: Callable[[Sequence[float]], float]) -> EvaluationFunction:
    """What a network says of `game.observation`, as the utility of the player to act."""

    def evaluate(game: Game, state: State) -> float:
        if not isinstance(game, ObservedGame):
            raise GameError(f"{get_spec(game)} has no observation for a network to look at")
        player = game.player(state)
        value = float(value_function(game.observation(state, max(player, 0))))
        return -value if player == 1 else value

    return evaluate


def open_lines_evaluation(game: Game, state: State) -> float:
    """For connect four: lines that only one player can still fill, those with more stones more.

    A line with k > 0 stones of one player and none of the other counts 4^k; the difference is
    scaled to lie between -1 and 1.
    """
    if not isinstance(game, ConnectFour):
        raise ConfigError(f"open_lines is about connect_four, not {get_spec(game)}")
    first, second = state.first_stones, state.second_stones
    score = 0
    lines = _winning_lines(game)
    for line in lines:
        own, other = first & line, second & line
        if own and not other:
            score += 1 << 2 * own.bit_count()
        elif other and not own:
            score -= 1 << 2 * other.bit_count()
    return score / (len(lines) << 2 * game.x_in_row) if lines else 0.0


def middle_first_order(game: Game, state: State) -> list[int]:
    """For connect four: the columns from the middle outwards, an order for alpha-beta."""
    if not isinstance(game, ConnectFour):
        raise ConfigError(f"middle_first is about connect_four, not {get_spec(game)}")
    return sorted(game.actions(state), key=lambda column: abs(2 * column - game.columns + 1))


SETTINGS_BY_GAME: dict[str, dict[str, Any]] = {  # by game: what alpha-beta leaves open
    "connect_four": {
        "evaluate": open_lines_evaluation,
        "action_order": middle_first_order,
        "min_utility": -1.0,
        "max_utility": 1.0,
    },
    "tic_tac_toe": {"min_utility": -1.0, "max_utility": 1.0},
}


def adapt_searcher(game: Game, searcher: Any) -> Any:
    """The searcher with what is known of the game: its bounds, a guess, an order of actions.

    Settings of its own stay, and so does Monte Carlo search, which needs no guess.
    """
    if isinstance(searcher, AlphaBeta):
        unset = {field.name: field.default for field in fields(searcher)}
        known = SETTINGS_BY_GAME.get(get_spec(game).split("(")[0], {})
        open_ones = {key: known[key] for key in known if getattr(searcher, key) == unset[key]}
        return replace(searcher, **open_ones)
    return searcher


@lru_cache(maxsize=64)
def _winning_lines(game: ConnectFour) -> list[int]:
    """The cells of every line of `x_in_row`, as bits."""
    found = []
    for row in range(game.rows):
        for column in range(game.columns):
            for up, right in ((1, 0), (0, 1), (1, 1), (-1, 1)):
                last_row = row + up * (game.x_in_row - 1)
                last_column = column + right * (game.x_in_row - 1)
                if 0 <= last_row < game.rows and last_column < game.columns:
                    cells = [(row + up * k, column + right * k) for k in range(game.x_in_row)]
                    found.append(sum(1 << c * (game.rows + 1) + r for r, c in cells))
    return found
